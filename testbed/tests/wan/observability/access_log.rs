//! What gateways log, in Istio's own format.

use std::fs;

use anyhow::Result;
use kube::ResourceExt;

use super::imports::{EGRESS, NAMESPACE, NATIVE_EGRESS, send};
use crate::scene::{HIGH, LOW, Scene};

pub(super) async fn requests_are_logged_with_their_targets(scene: &Scene) -> Result<()> {
    for (method, path, tier) in [("GET", "/payment/logged", HIGH), ("POST", "/stats/logged", LOW)] {
        send(scene, "payment", method, path, 200).await?;
        let request = format!("\"{method} {path} HTTP/1.1\" 200 ");
        let cluster = format!("outbound|{}||payment-secure-{}.mc-wan.svc.cluster.local", tier.1, tier.0);
        until_logged(scene, EGRESS, &[&request, &cluster], &format!(" {}", tier.0)).await?;
    }
    Ok(())
}

pub(super) async fn refusals_are_logged_with_their_reasons(scene: &Scene) -> Result<()> {
    send(scene, "payment", "GET", "/refused", 403).await?;
    until_logged(scene, EGRESS, &["\"GET /refused HTTP/1.1\" 403 ", "mcwan.NoRuleMatched"], "").await
}

pub(super) async fn a_native_gateway_logs_too(scene: &Scene) -> Result<()> {
    send(scene, "ledger", "GET", "/entries/logged", 200).await?;
    let cluster = format!("outbound|{}||ledger-secure-{}.mc-wan.svc.cluster.local", HIGH.1, HIGH.0);
    until_logged(scene, NATIVE_EGRESS, &["\"GET /entries/logged HTTP/1.1\" 200 ", &cluster], "").await
}

/// Waits until a pod of a gateway has logged a line that has all of these words, and this end: the name of the route.
async fn until_logged(scene: &Scene, gateway: &str, words: &[&str], end: &str) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    let logged = async || {
        for pod in cluster.gateway_pods(NAMESPACE, gateway).await? {
            let log = fs::read(cluster.kubelet().log(NAMESPACE, &pod.name_any()))?;
            let log = String::from_utf8_lossy(&log);
            if log.lines().any(|line| words.iter().all(|word| line.contains(word)) && line.ends_with(end)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    scene.wan.until(&format!("{gateway} has logged {words:?}, {end:?}"), logged).await
}
