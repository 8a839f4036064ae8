//! What DNS tells.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use futures_util::future::LocalBoxFuture;
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use mcwan_testbed::kubelet::ECHO_IMAGE;
use serde_json::{Value, json};

use super::{Case, NAME, PORT, Suite, mk_headless, mk_hello};

pub(super) fn cases<'w>(suite: &'w Suite<'w>) -> Vec<LocalBoxFuture<'w, Result<()>>> {
    vec![
        suite.case("name", the_name_is_that_of_the_address),
        suite.case("name-headless", the_name_is_that_of_all_pods),
        suite.case("name-pod", a_pod_has_a_name_of_its_own),
    ]
}

/// Specs 18 to 20.
async fn the_name_is_that_of_the_address(case: Case<'_>) -> Result<()> {
    case.start(1, 1, json!({})).await?;
    case.export(1, json!({})).await?;
    for cluster in [1, 2] {
        let import = case.import(cluster, |_| true).await?;
        let addresses: Vec<String> = serde_json::from_value(import["spec"]["ips"].clone())?;
        until_told(&case, cluster, &case.host(), "A", &addresses.into_iter().collect()).await?;
    }
    for cluster in [1, 2] {
        // Both ports have the number, so there is one record; the weight is shared among all.
        let records = BTreeSet::from([format!("0 50 {PORT} {}.", case.host())]);
        until_told(&case, cluster, &case.host(), "SRV", &records).await?;
    }
    let service = case.api(1, "v1", "Service").get(NAME).await?;
    let address = service.data["spec"]["clusterIP"].as_str().context("the Service has no address")?.to_owned();
    let near = format!("{NAME}.{}.svc.cluster.local", case.namespace);
    until_told(&case, 1, &near, "A", &BTreeSet::from([address])).await
}

/// Waits until that is what the client in a cluster is told.
async fn until_told(case: &Case<'_>, cluster: u8, name: &str, kind: &str, expected: &BTreeSet<String>) -> Result<()> {
    let client = case.suite.clients.get(usize::from(cluster) - 1).context("no client")?;
    let mut last = BTreeSet::new();
    let told = async || {
        last = client.resolve(name, kind).await?.into_iter().collect();
        Ok(last == *expected)
    };
    let told = case.until(&format!("{name} is {expected:?}"), told).await;
    told.with_context(|| format!("cluster {cluster} says {last:?}"))
}

/// Specs 21 and 23.
async fn the_name_is_that_of_all_pods(case: Case<'_>) -> Result<()> {
    case.start(1, 2, mk_headless()).await?;
    case.export(1, json!({})).await?;
    let pods = addresses(&case, 1, 2).await?;
    let mut targets = BTreeSet::new();
    for pod in &pods {
        targets.insert(format!("0 25 {PORT} {}.cluster-1.{}.", pod.replace('.', "-"), case.host()));
    }
    for cluster in [1, 2] {
        until_told(&case, cluster, &case.host(), "A", &pods).await?;
        until_told(&case, cluster, &case.host(), "SRV", &targets).await?;
    }
    Ok(())
}

/// Spec 22, and the same pod of two clusters is not the same.
async fn a_pod_has_a_name_of_its_own(case: Case<'_>) -> Result<()> {
    let container = json!({"name": "echo", "image": ECHO_IMAGE, "ports": [{"containerPort": PORT}]});
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": NAME}, "spec": {
        "replicas": 1, "serviceName": NAME, "selector": {"matchLabels": {"app": NAME}},
        "template": {"metadata": {"labels": {"app": NAME}}, "spec": {"containers": [container]}}}});
    for cluster in [1, 2] {
        case.put(cluster, set.clone()).await?;
        case.put(cluster, mk_hello(mk_headless())).await?;
    }
    case.export_one_by_one([json!({}), json!({})]).await?;
    let (one, two) = (addresses(&case, 1, 1).await?, addresses(&case, 2, 1).await?);
    ensure!(one != two, "both clusters have {one:?}");
    for cluster in [1, 2] {
        for (source, pods) in [(1, &one), (2, &two)] {
            let name = format!("{NAME}-0.cluster-{source}.{}", case.host());
            until_told(&case, cluster, &name, "A", pods).await?;
        }
        let hostnames = case.slices(cluster).await?;
        let hostnames = hostnames.iter().filter_map(|slice| slice.data.pointer("/endpoints/0/hostname")?.as_str());
        ensure!(hostnames.eq([&*format!("{NAME}-0"); 2]), "slices lack the names of pods");
    }
    Ok(())
}

/// The addresses of the pods in a cluster, as soon as so many have one.
async fn addresses(case: &Case<'_>, cluster: u8, pods: usize) -> Result<BTreeSet<String>> {
    let api: Api<DynamicObject> = case.api(cluster, "v1", "Pod");
    let mut found = BTreeSet::new();
    case.until("pods have addresses", async || {
        let listed = api.list(&ListParams::default()).await?;
        let address =
            |pod: &DynamicObject| pod.data.pointer("/status/podIP").and_then(Value::as_str).map(str::to_owned);
        found = listed.iter().filter_map(address).collect();
        Ok(found.len() == pods)
    })
    .await?;
    Ok(found)
}
