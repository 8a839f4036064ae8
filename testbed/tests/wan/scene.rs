//! Two clusters with the payment example.

use std::path::Path;

use anyhow::Result;
use mcwan_testbed::client::Request;
use mcwan_testbed::wan::{Plan, TestWan};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_namespace, mk_service, mk_tier};

pub(crate) const HIGH: (&str, u16) = ("sd-wan-priority-high", 31_111);
pub(crate) const LOW: (&str, u16) = ("sd-wan-priority-low", 31_112);

static TURN: Mutex<()> = Mutex::const_new(());

/// The turn to start clusters: the machine is not for more than one test's.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}

/// A plan with the controller of this build.
pub(crate) fn mk_plan() -> Plan {
    Plan::new(Path::new(env!("CARGO_BIN_EXE_mcwan-under-test")))
}

/// A request of a client.
pub(crate) fn mk_request(method: &str, host: &str, path: &str) -> Request {
    Request {
        method: method.to_owned(),
        host: Some(host.as_bytes().to_vec()),
        path: path.to_owned(),
        headers: Vec::new(),
    }
}

/// Lets cluster 1 run and export `payment.secure`, and cluster 2 import it by the rules of the payment example.
pub(crate) async fn apply_payment(wan: &TestWan) -> Result<()> {
    let shared = [mk_namespace("secure"), mk_tier(HIGH.0, HIGH.1), mk_tier(LOW.0, LOW.1)];
    wan.apply_everywhere(&mk_file(&shared)).await?;
    let service = [mk_echo("secure", "payment", 2), mk_service("secure", "payment")];
    wan.cluster(1).apply(&mk_file(&service)).await?;
    wan.cluster(1).apply(&mk_file(&[mk_export("secure", "payment", LOW.0)])).await?;
    let backend = |tier: &str| json!([{"name": format!("payment-secure-{tier}"), "namespace": "mc-wan"}]);
    let path = |prefix: &str| json!({"type": "PathPrefix", "value": prefix});
    let rules = json!([
        {"matches": [{"method": "GET", "path": path("/payment")}], "backendRefs": backend(HIGH.0)},
        {"matches": [{"path": path("/stats")}], "backendRefs": backend(LOW.0)},
    ]);
    wan.cluster(2).apply(&mk_file(&[mk_import("secure", "payment", &rules)])).await
}
