//! What is called: the payment example, and an import whose rules are plain routes.

use anyhow::{Result, ensure};
use mcwan_testbed::wan::TestWan;
use serde_json::json;

use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_service};
use crate::scene::{HIGH, LOW, Scene, apply_payment, mk_request};

pub(super) const NAMESPACE: &str = "secure";

/// The port of both imports.
const PORT: u16 = 8080;

/// The gateways that requests leave cluster 2 through.
pub(super) const EGRESS: &str = "mcwan-egress";
pub(super) const NATIVE_EGRESS: &str = "mcwan-egress-native";

/// Applies everything, and waits until both imports answer.
pub(super) async fn set_up(scene: &Scene) -> Result<()> {
    apply_payment(&scene.wan).await?;
    apply_ledger(&scene.wan).await?;
    for (import, path) in [("payment", "/payment"), ("ledger", "/entries")] {
        let request = mk_request("GET", &host(import), path);
        scene.until_answered(&format!("{NAMESPACE}/{import}"), PORT, &request, |status| status == 200).await?;
    }
    Ok(())
}

/// Sends a request to an import; the answer has this status.
pub(super) async fn send(scene: &Scene, import: &str, method: &str, path: &str, status: u16) -> Result<()> {
    let gateway = scene.gateway(&format!("{NAMESPACE}/{import}"), PORT).await?;
    let answer = scene.client.send(gateway, &mk_request(method, &host(import), path)).await?;
    ensure!(answer.status == status, "{method} {path} answers {}", answer.status);
    Ok(())
}

fn host(import: &str) -> String {
    format!("{import}.{NAMESPACE}:{PORT}")
}

/// Lets cluster 1 export `ledger.secure` as well, and cluster 2 import it by plain routes that do more than forward.
async fn apply_ledger(wan: &TestWan) -> Result<()> {
    let exported =
        [mk_echo(NAMESPACE, "ledger", 1), mk_service(NAMESPACE, "ledger"), mk_export(NAMESPACE, "ledger", LOW.0)];
    wan.cluster(1).apply(&mk_file(&exported)).await?;
    let tier = |name: &str| json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": name}]);
    let set = json!({"set": [{"name": "x-ledger", "value": "yes"}]});
    let rules = json!([
        {
            "matches": [{"path": {"type": "PathPrefix", "value": "/entries"}}],
            "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": set}],
            "timeouts": {"request": "10s"},
            "backendRefs": tier(HIGH.0),
        },
        {"matches": [{"path": {"type": "Exact", "value": "/sum"}}], "backendRefs": tier(LOW.0)},
    ]);
    let mut import = mk_import(NAMESPACE, "ledger", &rules);
    import["spec"]["dataPlane"] = "Native".into();
    wan.cluster(2).apply(&mk_file(&[import])).await
}
