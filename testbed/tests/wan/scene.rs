//! Two clusters, and the payment example on them.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use mcwan_testbed::client::Request;
use mcwan_testbed::wan::{Plan, TestWan, WanClient};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_namespace, mk_service, mk_tier};

pub(crate) const HIGH: (&str, u16) = ("sd-wan-priority-high", 31_111);
pub(crate) const LOW: (&str, u16) = ("sd-wan-priority-low", 31_112);

/// The metric of whether the registry can be reached.
pub(crate) const REACHABLE: &str = "mcwan_registry_reachable";

/// The metric of how many other clusters' leases have run out.
pub(crate) const STALE: &str = "mcwan_clusters{state=\"stale\"}";

/// Who waits longest is next.
static MACHINE: Semaphore = Semaphore::const_new(2);

/// What a test that starts clusters takes of the machine; it has it back when this is dropped.
pub(crate) type Turn = SemaphorePermit<'static>;

/// The turn to start clusters for a test in which nothing may be lost: routes lead by a second, so nothing else may keep
/// the machine's cores for as long.
pub(crate) async fn whole_machine() -> Turn {
    MACHINE.acquire_many(2).await.expect("nobody closes it")
}

/// The turn to start clusters for a test that waits for what it wants to see: half of its time nothing happens.
pub(crate) async fn half_machine() -> Turn {
    MACHINE.acquire().await.expect("nobody closes it")
}

/// Two clusters on half of the machine, and a client in the second.
pub(crate) struct Scene {
    pub(crate) wan: TestWan,
    pub(crate) client: WanClient,
    _turn: Turn,
}

impl Scene {
    /// Starts the clusters, in which there is nothing yet.
    pub(crate) async fn start() -> Result<Self> {
        let turn = half_machine().await;
        let kinds = ["--front-ends", "HTTPRoute,GRPCRoute,Route"];
        let wan = TestWan::start(Plan::default().arguments(&kinds)).await?;
        let client = wan.client(2).await?;
        Ok(Self { wan, client, _turn: turn })
    }

    /// Where requests to an import, `NAMESPACE/NAME`, are sent to.
    pub(crate) async fn gateway(&self, import: &str, port: u16) -> Result<SocketAddr> {
        let (namespace, name) = import.split_once('/').context("want `NAMESPACE/NAME`")?;
        self.wan.cluster(2).service_address(namespace, &format!("{name}-clusterset"), port).await
    }

    /// Waits until a request to an import is answered by a status that is meant, through each of two egress gateways.
    pub(crate) async fn until_answered(
        &self,
        import: &str,
        port: u16,
        request: &Request,
        is_meant: impl Fn(u16) -> bool,
    ) -> Result<()> {
        let (namespace, name) = import.split_once('/').context("want `NAMESPACE/NAME`")?;
        let answered = async || {
            let gateways = self.wan.cluster(2).endpoints(namespace, &format!("{name}-clusterset"), port).await?;
            for gateway in &gateways {
                if !self.client.send(*gateway, request).await.is_ok_and(|answer| is_meant(answer.status)) {
                    return Ok(false);
                }
            }
            Ok(gateways.len() == 2)
        };
        self.wan.until(&format!("{import} answers on port {port}"), answered).await
    }
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

/// Lets cluster 1 run and export `payment.secure`, and cluster 2 import it, by the files of the README's "Connect two
/// clusters"; others have the tiers.
pub(crate) async fn apply_payment(wan: &TestWan) -> Result<()> {
    let tiers = [mk_tier(HIGH.0, HIGH.1), mk_tier(LOW.0, LOW.1)];
    wan.apply_everywhere(&mk_file(&tiers)).await?;
    wan.cluster(1).apply(&mk_file(&mk_payment())).await?;
    wan.cluster(1).apply(include_str!("../../../examples/connect/cluster-1.yaml")).await?;
    wan.cluster(2).apply(&mk_file(&[mk_namespace("secure")])).await?;
    wan.cluster(2).apply(include_str!("../../../examples/connect/cluster-2.yaml")).await
}

/// Starts clusters in which requests for `payment.secure` are answered, and a client in the second.
pub(crate) async fn with_payment(plan: Plan) -> Result<(TestWan, WanClient)> {
    let wan = TestWan::start(plan).await?;
    apply_payment(&wan).await?;
    let client = wan.client(2).await?;
    until_payment_answers(&wan, &client).await?;
    Ok((wan, client))
}

/// Lets a cluster run and export `payment.secure`.
pub(crate) async fn apply_service(wan: &TestWan, cluster: u8) -> Result<()> {
    wan.cluster(cluster).apply(&mk_file(&mk_payment())).await?;
    wan.cluster(cluster).apply(&mk_file(&[mk_export("secure", "payment", LOW.0)])).await
}

/// The Service `payment.secure` with its pods.
fn mk_payment() -> [Value; 3] {
    [mk_namespace("secure"), mk_echo("secure", "payment", 2), mk_service("secure", "payment")]
}

/// Lets cluster 2 import `payment.secure` by the rules of the payment example.
pub(crate) async fn apply_import(wan: &TestWan) -> Result<()> {
    let backend = |tier: &str| json!([{"name": format!("payment-secure-{tier}"), "namespace": "mc-wan"}]);
    let path = |prefix: &str| json!({"type": "PathPrefix", "value": prefix});
    let rules = json!([
        {"matches": [{"method": "GET", "path": path("/payment")}], "backendRefs": backend(HIGH.0)},
        {"matches": [{"path": path("/stats")}], "backendRefs": backend(LOW.0)},
    ]);
    let import = [mk_namespace("secure"), mk_import("secure", "payment", &rules)];
    wan.cluster(2).apply(&mk_file(&import)).await
}

/// Waits until requests cross from cluster 2 to `payment.secure`, by both egress gateway pods.
pub(crate) async fn until_payment_answers(wan: &TestWan, client: &WanClient) -> Result<()> {
    let crosses = async || {
        let gateways = wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?;
        for gateway in &gateways {
            let answer = client.send(*gateway, &mk_request("GET", "payment.secure:8080", "/payment")).await;
            if !answer.is_ok_and(|answer| answer.status == 200) {
                return Ok(false);
            }
        }
        Ok(gateways.len() >= 2)
    };
    wan.until("requests cross by every gateway", crosses).await
}

/// What the replica that leads in a cluster says of itself: the value of a metric.
pub(crate) async fn metric_of_leader(wan: &TestWan, cluster: u8, name: &str) -> Result<Option<f64>> {
    let leader = wan.cluster(cluster).leader().await?;
    let controller = wan.cluster(cluster).controllers().nth(usize::from(leader)).context("there is no leader")?;
    controller.metric(name).await
}
