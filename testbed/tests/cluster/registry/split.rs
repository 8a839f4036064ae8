//! Several clusters that export a service.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::neighbour::Neighbour;
use super::objects::mk_import;
use super::wan::{Wan, until_metric};
use crate::scene::Scene;

/// Hours in a century.
const CENTURY: i64 = 876_000;

#[tokio::test]
async fn a_cluster_whose_lease_runs_out_leaves_the_split_until_it_is_back() -> Result<()> {
    let wan = Wan::start().await?;
    let [three, four] = [("cluster-3", 3, "10.60.0.7"), ("cluster-4", 1, "10.70.0.7")]
        .map(|(id, pods, gateway)| Neighbour::join(&wan, id, pods, gateway));
    let (three, four) = (three.await?, four.await?);
    // Their clocks are wrong, each in its way.
    let renewing = [three.renew(-CENTURY), four.renew(CENTURY)];
    wan.two.put(&mk_import("/payment")).await?;
    let controller = wan.two.replica("a").await?;
    until_weights(&wan.two, &[3, 1]).await?;
    let leads_to = |slices: &'static [&'static str]| common_service_leads_to(&wan.two, slices);
    leads_to(&["cluster-3", "cluster-4"]).await?;

    let [of_three, of_four] = renewing;
    drop(of_three);
    until_weights(&wan.two, &[0, 1]).await?;
    leads_to(&["cluster-4"]).await?;
    wan.two.until_reason("ServiceImport secure/payment", "Stale", Some("ClusterStale")).await?;
    until_metric(&controller, "mcwan_clusters{state=\"stale\"}", 1.0).await?;

    // That somebody was stale is known after a restart.
    controller.stop().await?;
    let controller = wan.two.replica("a").await?;
    controller.leads().await?;
    until_metric(&controller, "mcwan_clusters{state=\"stale\"}", 1.0).await?;
    until_weights(&wan.two, &[0, 1]).await?;

    // Unknown is not down.
    drop(of_four);
    until_metric(&controller, "mcwan_clusters{state=\"stale\"}", 2.0).await?;
    until_weights(&wan.two, &[3, 1]).await?;
    leads_to(&["cluster-3", "cluster-4"]).await?;

    let _of_four = four.renew(0);
    until_weights(&wan.two, &[0, 1]).await?;
    let _of_three = three.renew(CENTURY);
    until_weights(&wan.two, &[3, 1]).await?;
    wan.two.until_reason("ServiceImport secure/payment", "Stale", None).await?;
    until_metric(&controller, "mcwan_clusters{state=\"live\"}", 2.0).await?;

    // One that never renews anything.
    let _five = Neighbour::join(&wan, "cluster-5", 4, "10.80.0.7").await?;
    until_weights(&wan.two, &[3, 1, 0]).await?;

    // One that has no pod behind the service yet gets nothing.
    let six = Neighbour::join(&wan, "cluster-6", 0, "10.90.0.7").await?;
    let _of_six = six.renew(0);
    until_weights(&wan.two, &[3, 1, 0, 0]).await?;
    let slice = wan.two.get("EndpointSlice mc-wan/payment-secure-high.cluster-6.ipv4").await?;
    ensure!(slice.is_none(), "it is led to: {slice:?}");
    controller.stop().await
}

/// Waits until the only rule shares requests so.
pub(crate) async fn until_weights(scene: &Scene, expected: &[u64]) -> Result<()> {
    let what = format!("the weights are {expected:?}");
    scene
        .until("HTTPRoute secure/payment.8080", &what, |route| {
            let backends = route.pointer("/spec/rules/0/backendRefs").and_then(Value::as_array);
            backends.is_some_and(|all| {
                all.iter().map(|one| one["weight"].as_u64().unwrap_or_default()).eq(expected.iter().copied())
            })
        })
        .await
}

/// Waits until the tier service with the name that users see leads to these clusters.
async fn common_service_leads_to(scene: &Scene, clusters: &[&str]) -> Result<()> {
    for cluster in ["cluster-3", "cluster-4"] {
        let slice = format!("EndpointSlice mc-wan/payment-secure-high.{cluster}.ipv4");
        if clusters.contains(&cluster) { scene.until_there(&slice).await? } else { scene.until_gone(&slice).await? }
    }
    scene.until_field("Service mc-wan/payment-secure-high", "/spec/clusterIP", &json!("None")).await
}
