//! Where it happens: the payment example, and an import whose rules are plain routes.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use mcwan_testbed::wan::{Plan, TestWan, WanClient};
use serde_json::json;
use tokio::sync::MutexGuard;

use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_service};
use crate::scene::{HIGH, LOW, apply_payment, mk_request, turn};

pub(super) const NAMESPACE: &str = "secure";

/// The gateways that requests leave cluster 2 through.
pub(super) const EGRESS: &str = "mcwan-egress";
pub(super) const NATIVE_EGRESS: &str = "mcwan-egress-native";

/// The clusters, and a client in the second.
pub(super) struct Stage {
    pub(super) wan: TestWan,
    pub(super) client: WanClient,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    /// Starts everything, and waits until both imports answer.
    pub(super) async fn start() -> Result<Self> {
        let turn = turn().await;
        let wan = TestWan::start(Plan::default()).await?;
        apply_payment(&wan).await?;
        apply_ledger(&wan).await?;
        let client = wan.client(2).await?;
        let stage = Self { wan, client, _turn: turn };
        stage.until_reached("payment", "/payment").await?;
        stage.until_reached("ledger", "/entries").await?;
        Ok(stage)
    }

    /// Sends a request to an import; the answer has this status.
    pub(super) async fn send(&self, import: &str, method: &str, path: &str, status: u16) -> Result<()> {
        let gateway = self.wan.cluster(2).service_address(NAMESPACE, &format!("{import}-clusterset"), 8080).await?;
        let answer = self.client.send(gateway, &mk_request(method, &host(import), path)).await?;
        ensure!(answer.status == status, "{method} {path} answers {}", answer.status);
        Ok(())
    }

    /// The egress gateways of an import, all that are ready.
    async fn gateways(&self, import: &str) -> Result<Vec<SocketAddr>> {
        self.wan.cluster(2).endpoints(NAMESPACE, &format!("{import}-clusterset"), 8080).await
    }

    async fn until_reached(&self, import: &str, path: &str) -> Result<()> {
        let request = mk_request("GET", &host(import), path);
        let reached = async || {
            let gateways = self.gateways(import).await?;
            for gateway in &gateways {
                if !self.client.send(*gateway, &request).await.is_ok_and(|answer| answer.status == 200) {
                    return Ok(false);
                }
            }
            Ok(gateways.len() == 2)
        };
        self.wan.until(&format!("{import} answers"), reached).await
    }
}

fn host(import: &str) -> String {
    format!("{import}.{NAMESPACE}:8080")
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
