//! Clients of another namespace than the service's: rules of their own, for as long as a grant admits these.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::objects::{mk_file, mk_namespace};
use crate::protocols::services::{DESK_HTTP, NAMESPACE, ensure_spoken};
use crate::scene::{HIGH, LOW, Scene, mk_request};

const CONSUMER: &str = "buyers";
/// What clients there call.
const IMPORT: &str = "buyers/desk-talk";

/// The service is that of the protocols.
pub(crate) async fn a_consumer_is_admitted_and_refused(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    cluster.apply(&mk_file(&[mk_namespace(CONSUMER), mk_route()])).await?;
    scene.wan.until("the route is refused", async || Ok(said(scene).await?.contains("RefNotPermitted"))).await?;
    let gateways = cluster.kubectl(&["get", "gateways", "-n", CONSUMER, "-o", "name"]).await?;
    ensure!(gateways.is_empty(), "without a grant there is {gateways}");

    cluster.apply(&mk_file(&[mk_grant()])).await?;
    let asked = mk_request("GET", "desk.talk:8080", "/low");
    scene.until_answered(IMPORT, DESK_HTTP, &asked, |status| status == 200).await?;
    // What it waits for is not told at once.
    scene.wan.until("the route is accepted", async || Ok(said(scene).await?.contains("Accepted"))).await?;
    let there = scene.gateway(IMPORT, DESK_HTTP).await?;
    let here = scene.gateway(&format!("{NAMESPACE}/desk"), DESK_HTTP).await?;
    for (gateway, tier, whose) in [(there, HIGH, "the consumer's"), (here, LOW, "the import's")] {
        let before = scene.wan.traffic();
        let answer = scene.client.send(gateway, &asked).await?;
        ensure!(answer.status == 200, "{whose} clients are answered {}", answer.status);
        ensure_spoken(&scene.wan, &before, Some(tier.1), &format!("a request of {whose} clients"))?;
    }
    let answer = scene.client.send(there, &mk_request("GET", "desk.talk:8080", "/high")).await?;
    ensure!(answer.status == 404, "what no rule of the consumer's is for is answered {}", answer.status);

    cluster.kubectl(&["delete", "referencegrant", CONSUMER, "-n", NAMESPACE]).await?;
    let refused = async || Ok(scene.client.send(there, &asked).await.map_or(true, |answer| answer.status != 200));
    scene.wan.until("its clients are refused", refused).await?;
    scene.wan.until("the route is refused", async || Ok(said(scene).await?.contains("RefNotPermitted"))).await?;
    let gone = async || Ok(cluster.kubectl(&["get", "gateways", "-n", CONSUMER, "-o", "name"]).await?.is_empty());
    scene.wan.until("its gateway is gone", gone).await?;
    let answer = scene.client.send(here, &asked).await?;
    ensure!(answer.status == 200, "the import's own clients are answered {}", answer.status);
    cluster.kubectl(&["delete", "namespace", CONSUMER, "--timeout=2m"]).await?;
    Ok(())
}

/// What we say of the route.
async fn said(scene: &Scene) -> Result<String> {
    let reasons = "jsonpath={.status.parents[*].conditions[?(@.type==\"Accepted\")].reason}";
    scene.wan.cluster(2).kubectl(&["get", "httproute", "desk", "-n", CONSUMER, "-o", reasons]).await
}

/// Rules that the import does not have.
fn mk_route() -> Value {
    let parent =
        json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "desk", "namespace": NAMESPACE});
    let rule = json!({"matches": [{"path": {"type": "PathPrefix", "value": "/low"}}],
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": HIGH.0}]});
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"namespace": CONSUMER, "name": "desk"}, "spec": {"parentRefs": [parent], "rules": [rule]}})
}

fn mk_grant() -> Value {
    let from = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": CONSUMER});
    let to = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "desk"});
    json!({"apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
        "metadata": {"namespace": NAMESPACE, "name": CONSUMER}, "spec": {"from": [from], "to": [to]}})
}
