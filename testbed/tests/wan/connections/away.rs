//! Policies hold while somebody is away.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use mcwan_testbed::wan::TestWan;
use serde_json::json;

use super::permitted::{CONSUMER, LOW, NEAR, Permitted, SEC};
use super::policies::{DEFAULT, mk_of_consumer, mk_policy, write};
use super::watch::Watch;
use crate::scene::{REACHABLE, metric_of_leader};

/// The condition that opens the readiness gate of egress gateways' pods.
const ADMITTED: &str = "mc-wan.l7mp.io/Admitted";

/// So many requests are sent while something is away.
const SOME: usize = 100;

const WITHOUT_HIGH: Permitted = Permitted { near: &[LOW, SEC], cloud: &[LOW, SEC] };

/// Both replicas of the cluster that sends requests are killed. A pod of its egress gateway that is replaced meanwhile takes
/// no requests, and nothing is lost; what is taken away, the far gateways refuse.
pub(crate) async fn no_controller_where_requests_start(wan: &mut TestWan, watch: &mut Watch) -> Result<()> {
    watch.tell("an egress pod is replaced while no controller is left", Permitted::EVERYTHING);
    let old = egress_pods(wan).await?;
    wan.cluster_mut(CONSUMER).kill_controllers();
    let cluster = wan.cluster(CONSUMER);
    let first = old.first().context("there is no egress pod")?.name_any();
    cluster.kubectl(&["delete", "pod", "--namespace", "secure", "--wait=false", &first]).await?;
    let is_new = |pod: &&Pod| old.iter().all(|known| known.uid() != pod.uid());
    wan.until("only its gate keeps the new pod from taking requests", async || {
        let pods = egress_pods(wan).await?;
        let is_gone = pods.iter().all(|pod| pod.name_any() != first);
        Ok(is_gone && pods.iter().find(is_new).is_some_and(|pod| holds(pod, "ContainersReady")))
    })
    .await?;
    watch.pass(wan, SOME).await?;
    let new = egress_pods(wan).await?.into_iter().find(|pod| is_new(&pod)).context("there is no new pod")?;
    ensure!(!holds(&new, "Ready"), "it is ready, though nobody has admitted it: {:?}", new.status);
    watch.until_held(wan).await?;

    let without = "the far gateways refuse by themselves";
    watch.tell_apart(without, Permitted::EVERYTHING, WITHOUT_HIGH);
    write(wan, &[mk_policy(DEFAULT, &json!({"tiers": [LOW.name, SEC.name]}))]).await?;
    watch.until_held(wan).await?;

    watch.tell("controllers are back", WITHOUT_HIGH);
    for replica in [0, 1] {
        wan.cluster_mut(CONSUMER).start_controller(replica).await?;
    }
    watch.until_held(wan).await?;
    let mut status = None;
    let wait = wan.until("the new pod is admitted", async || {
        status = egress_pods(wan).await?.iter().find(|pod| pod.uid() == new.uid()).and_then(|pod| pod.status.clone());
        let conditions = status.iter().flat_map(|status| status.conditions.iter().flatten());
        let reason = |condition: &str| conditions.clone().find(|it| it.type_ == condition && it.status == "True");
        Ok(reason("Ready").is_some() && reason(ADMITTED).is_some_and(|it| it.reason.as_deref() == Some("Admitted")))
    });
    wait.await.with_context(|| format!("{status:?}"))?;
    watch.pass(wan, SOME).await
}

async fn egress_pods(wan: &TestWan) -> Result<Vec<Pod>> {
    wan.cluster(CONSUMER).gateway_pods("secure", "mcwan-egress").await
}

fn holds(pod: &Pod, condition: &str) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|it| it.type_ == condition && it.status == "True")
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
