//! Policies hold while somebody is away.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use mcwan_testbed::wan::{TestWan, WanClient};
use serde_json::json;

use super::permitted::{CONSUMER, LOW, NEAR, Permitted, REQUESTS, SEC};
use super::policies::{DEFAULT, mk_of_consumer, mk_policy, write};
use super::watch::Watch;
use crate::scene::{REACHABLE, metric_of_leader};

/// The condition that opens the readiness gate of egress gateways' pods.
const ADMITTED: &str = "mc-wan.l7mp.io/Admitted";

/// How often a new pod must have answered before it is said to be admitted.
const ENOUGH: usize = 20;

const WITHOUT_HIGH: Permitted = Permitted { near: &[LOW, SEC], cloud: &[LOW, SEC] };

/// Both replicas of the cluster that sends requests are killed. A pod of its egress gateway that is replaced meanwhile takes
/// no requests, and nothing is lost; what is taken away, the far gateways refuse.
pub(crate) async fn no_controller_where_requests_start(
    wan: &mut TestWan,
    client: &WanClient,
    watch: &mut Watch,
) -> Result<()> {
    watch.tell("an egress pod is replaced while no controller is left", Permitted::EVERYTHING);
    wan.cluster_mut(CONSUMER).kill_controllers();
    let (pod, old) = replace_an_egress_pod(wan, client).await?;
    watch.until_held(wan).await?;
    // Connections that are open lead to others: new ones are looked at.
    let ready = all_ready_answer(wan, client, &old).await?;
    ensure!(ready.is_subset(&old), "{ready:?} take requests, though nobody has admitted one of them");

    watch.tell_apart("the far gateways refuse by themselves", Permitted::EVERYTHING, WITHOUT_HIGH);
    write(wan, &[mk_policy(DEFAULT, &json!({"tiers": [LOW.name, SEC.name]}))]).await?;
    watch.until_held(wan).await?;

    watch.tell("controllers are back", WITHOUT_HIGH);
    for replica in [0, 1] {
        wan.cluster_mut(CONSUMER).start_controller(replica).await?;
    }
    let mut answered = 0;
    wan.until("the new pod has answered often", async || {
        let ready = all_ready_answer(wan, client, &old).await?;
        answered += usize::from(!ready.is_subset(&old));
        Ok(answered >= ENOUGH)
    })
    .await?;
    let mut pods = egress_pods(wan).await?.into_iter();
    let conditions = pods.find(|known| known.uid() == pod.uid()).and_then(|pod| pod.status?.conditions);
    let gate = conditions.into_iter().flatten().find(|condition| condition.type_ == ADMITTED);
    let reason = gate.and_then(|gate| gate.reason);
    ensure!(reason.as_deref() == Some("Admitted"), "the new pod takes requests, as its gate says {reason:?}");
    watch.until_held(wan).await
}

/// Deletes one. Gives the pod in its place, which nothing but its gate keeps from taking requests, and where those of before
/// are.
async fn replace_an_egress_pod(wan: &TestWan, client: &WanClient) -> Result<(Pod, BTreeSet<SocketAddr>)> {
    let cluster = wan.cluster(CONSUMER);
    let before = egress_pods(wan).await?;
    let old = all_ready_answer(wan, client, &BTreeSet::new()).await?;
    let first = before.first().context("there is no egress pod")?.name_any();
    cluster.kubectl(&["delete", "pod", "--namespace", "secure", "--wait=false", &first]).await?;
    let mut new = None;
    wan.until("only its gate keeps the new pod from taking requests", async || {
        all_ready_answer(wan, client, &old).await?;
        let pods = egress_pods(wan).await?;
        let is_gone = pods.iter().all(|pod| pod.name_any() != first);
        let is_new = |pod: &Pod| before.iter().all(|known| known.uid() != pod.uid());
        new = pods.into_iter().find(|pod| is_new(pod) && is_running_well(pod));
        Ok(is_gone && new.is_some())
    })
    .await?;
    Ok((new.context("there is no new pod")?, old))
}

/// Sends a request that is permitted all the time by each pod that takes requests; one that is not of these must answer it
/// well. Gives where they are.
async fn all_ready_answer(
    wan: &TestWan,
    client: &WanClient,
    old: &BTreeSet<SocketAddr>,
) -> Result<BTreeSet<SocketAddr>> {
    let ready = wan.cluster(CONSUMER).endpoints("secure", "payment-clusterset", 8080).await?;
    let [.., request] = REQUESTS;
    for gateway in &ready {
        let status = client.send(*gateway, &request.request()).await.map(|answer| answer.status).ok();
        // An old one may be about to go.
        ensure!(old.contains(gateway) || status == Some(200), "{gateway} is new and answers {status:?}");
    }
    Ok(ready.into_iter().collect())
}

/// Whether its containers are ready.
fn is_running_well(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "ContainersReady" && condition.status == "True")
}

async fn egress_pods(wan: &TestWan) -> Result<Vec<Pod>> {
    wan.cluster(CONSUMER).gateway_pods("secure", "mcwan-egress").await
}

/// The registry does not answer clusters 2 and 3. What is changed there holds once it does.
pub(crate) async fn the_registry_is_away(wan: &TestWan, watch: &mut Watch) -> Result<()> {
    watch.tell("the registry is away, and policies hold as they are", WITHOUT_HIGH);
    let registry = wan.cluster(NEAR).inner_url();
    let port = registry.rsplit(':').next().context("its URL has no port")?.parse()?;
    wan.cut_port(port, true);
    write(wan, &[mk_of_consumer(&[SEC.name])]).await?;
    wan.until("the registry is said to be away", async || {
        Ok(metric_of_leader(wan, CONSUMER, REACHABLE).await? == Some(0.0))
    })
    .await?;
    watch.until_held(wan).await?;
    watch.tell("the registry is back", Permitted { near: WITHOUT_HIGH.near, cloud: &[SEC] });
    wan.cut_port(port, false);
    watch.until_held(wan).await
}
