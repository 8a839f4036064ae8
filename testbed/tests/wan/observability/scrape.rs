//! What a Prometheus finds at the gateway pods.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::imports::{EGRESS, NAMESPACE, send};
use crate::scene::{Scene, mk_request};

/// How many requests of each kind are sent.
const HIGH: u64 = 7;
const LOW: u64 = 5;
const REFUSED: u64 = 3;

/// The counters that they are counted by.
const EXPECTED: [(&str, u64); 4] = [
    ("mcwan_decision_route", HIGH + LOW),
    ("mcwan_decision_refuse_NoRuleMatched", REFUSED),
    ("mcwan_target_sd_wan_priority_high", HIGH),
    ("mcwan_target_sd_wan_priority_low", LOW),
];

pub(super) async fn the_counters_of_the_filter_reach_a_prometheus(scene: &Scene) -> Result<()> {
    // Nobody else sends requests: once what was sent before is counted, the counters stand still.
    let before = Box::pin(stand_still(scene)).await?;
    for _ in 0..HIGH {
        send(scene, "payment", "GET", "/payment/1", 200).await?;
    }
    for _ in 0..LOW {
        send(scene, "payment", "POST", "/stats", 200).await?;
    }
    for _ in 0..REFUSED {
        send(scene, "payment", "POST", "/payment", 403).await?;
    }
    let counted = async || {
        let after = scrape(scene).await?;
        let grown = |name: &str| after.get(name).copied().unwrap_or(0) - before.get(name).copied().unwrap_or(0);
        for (name, expected) in EXPECTED {
            ensure!(grown(name) <= expected, "{name} has grown by {}", grown(name));
        }
        Ok(EXPECTED.iter().all(|(name, expected)| grown(name) == *expected))
    };
    scene.wan.until("all requests are counted", counted).await
}

/// Waits until everything that was sent before is told: by then a request of ours has been, too.
async fn stand_still(scene: &Scene) -> Result<BTreeMap<String, u64>> {
    for pod in scene.wan.cluster(2).gateway_pods(NAMESPACE, EGRESS).await? {
        let before = scrape_pod(scene, &pod).await?;
        let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref()).context("no address")?;
        let gateway = format!("{address}:8080").parse()?;
        scene.client.send(gateway, &mk_request("GET", "elsewhere.secure", "/")).await?;
        let passes = |counters: &BTreeMap<String, u64>| counters.get("mcwan_decision_pass").copied().unwrap_or(0);
        let told = async || Ok(passes(&scrape_pod(scene, &pod).await?) > passes(&before));
        scene.wan.until("a request is counted", told).await?;
    }
    scrape(scene).await
}

/// Our counters, of all pods of the gateway together.
async fn scrape(scene: &Scene) -> Result<BTreeMap<String, u64>> {
    let mut sums = BTreeMap::new();
    for pod in scene.wan.cluster(2).gateway_pods(NAMESPACE, EGRESS).await? {
        for (name, value) in scrape_pod(scene, &pod).await? {
            *sums.entry(name).or_default() += value;
        }
    }
    Ok(sums)
}

/// Those of one pod, asked as its annotations tell a Prometheus.
async fn scrape_pod(scene: &Scene, pod: &Pod) -> Result<BTreeMap<String, u64>> {
    let annotation = |name: &str| {
        let value = pod.annotations().get(&format!("prometheus.io/{name}"));
        value.with_context(|| format!("no Prometheus is told of pod {}", pod.name_any()))
    };
    ensure!(annotation("scrape")? == "true", "no Prometheus is to look at pod {}", pod.name_any());
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref()).context("no address")?;
    let address = format!("{address}:{}", annotation("port")?).parse()?;
    let answer = scene.client.send(address, &mk_request("GET", "prometheus", annotation("path")?)).await?;
    ensure!(answer.status == 200, "the scrape answers {}", answer.status);
    let text = String::from_utf8(answer.body)?;
    let samples = text.lines().filter(|line| line.starts_with("mcwan_"));
    let mut counters = BTreeMap::new();
    for sample in samples {
        let (name, value) = sample.rsplit_once(' ').context("a sample has no value")?;
        let name = name.split('{').next().unwrap_or(name).to_owned();
        if name.starts_with("mcwan_decision_") || name.starts_with("mcwan_target_") {
            ensure!(text.contains(&format!("# TYPE {name} counter\n")), "{name} is no counter");
            counters.insert(name, value.parse()?);
        }
    }
    Ok(counters)
}
