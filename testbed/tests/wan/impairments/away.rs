//! The loop goes on while rules change, a gateway is replaced, and whoever it does not need is away.

use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use kube::ResourceExt;
use mcwan_testbed::wan::{Impairment, Plan, Streams, TestWan, Ways};

use crate::objects::{mk_file, mk_import};
use crate::quality::{self, LATE, NAMESPACE, QUICK, SLOW, SURELY, mk_rules, until_taken};
use crate::scene::{HIGH, LOW};

/// Who is away.
#[derive(Clone, Copy, Debug)]
enum Away {
    Controllers,
    /// And the module's registry.
    Istiod,
    ApiServers,
}

/// Nothing is lost.
pub(super) async fn each_is_away_in_turn() -> Result<()> {
    let mut wan = TestWan::start(Plan::default()).await?;
    let client = wan.client(2).await?;
    let (mut streams, _) = quality::start(&wan, &client).await?;
    let start = Instant::now();
    until_taken(&wan, &mut streams, QUICK, HIGH, start, "it keeps its promise").await?;
    rules_change_and_a_gateway_is_replaced(&wan, &mut streams).await?;
    nothing_is_lost(&streams, &[QUICK, SURELY], start, "rules change and a gateway is replaced")?;
    let replaced = Instant::now();
    // Each time the hold is twice as long as before.
    for away in [Away::Controllers, Away::Istiod, Away::ApiServers] {
        away.begin(&mut wan);
        wan.impair(Ways::of_port(HIGH.1), LATE);
        until_taken(&wan, &mut streams, QUICK, LOW, Instant::now(), &format!("the other is late, {away:?} away"))
            .await?;
        wan.impair(Ways::of_port(HIGH.1), Impairment::NONE);
        until_taken(&wan, &mut streams, QUICK, HIGH, Instant::now(), &format!("it is in time, {away:?} away")).await?;
        away.end(&mut wan).await?;
        streams.look(&wan);
        nothing_is_lost(&streams, &[QUICK, SLOW, SURELY], replaced, &format!("{away:?} are away"))?;
    }
    Ok(())
}

/// Of these streams, since a time.
fn nothing_is_lost(streams: &Streams, which: &[usize], since: Instant, when: &str) -> Result<()> {
    let lost = which.iter().find_map(|stream| streams.streams()[*stream].lost(since).next());
    lost.map_or(Ok(()), |over| Err(anyhow!("a request is lost while {when}: {over:?}")))
}

/// While a tier is late. Istio's agent gives requests that are under way five seconds when a gateway goes, also those that
/// have come only at the end of them: of slow ones it may cut some.
async fn rules_change_and_a_gateway_is_replaced(wan: &TestWan, streams: &mut Streams) -> Result<()> {
    let cluster = wan.cluster(2);
    wan.impair(Ways::of_port(HIGH.1), LATE);
    until_taken(wan, streams, QUICK, LOW, Instant::now(), "the other is late").await?;
    cluster.apply(&mk_file(&[mk_import(NAMESPACE, "payment", &mk_rules("6s"))])).await?;
    let before = cluster.gateway_pods(NAMESPACE, "mcwan-egress").await?;
    let first = before.first().context("there is no egress gateway")?.name_any();
    cluster.kubectl(&["delete", "pod", "--namespace", NAMESPACE, "--wait=false", &first]).await?;
    wan.until("the gateway is replaced", async || {
        streams.look(wan);
        let pods = cluster.gateway_pods(NAMESPACE, "mcwan-egress").await?;
        let ready = cluster.endpoints(NAMESPACE, "payment-clusterset", 8080).await?;
        Ok(pods.iter().all(|pod| pod.name_any() != first) && ready.len() == 2)
    })
    .await?;
    until_taken(wan, streams, QUICK, LOW, Instant::now(), "the other is late for a new gateway, too").await?;
    wan.impair(Ways::of_port(HIGH.1), Impairment::NONE);
    until_taken(wan, streams, QUICK, HIGH, Instant::now(), "it is in time").await
}

impl Away {
    fn begin(self, wan: &mut TestWan) {
        if matches!(self, Self::Istiod) {
            wan.oci_registry().stop();
        }
        for number in [1, 2] {
            let cluster = wan.cluster_mut(number);
            match self {
                Self::Controllers => cluster.kill_controllers(),
                Self::Istiod => cluster.istiod_mut().kill(),
                Self::ApiServers => cluster.stop_api_server(),
            }
        }
    }

    async fn end(self, wan: &mut TestWan) -> Result<()> {
        if matches!(self, Self::Istiod) {
            wan.oci_registry().start().await?;
        }
        for number in [1, 2] {
            let cluster = wan.cluster_mut(number);
            match self {
                Self::Controllers => cluster.restart_controllers().await?,
                Self::Istiod => cluster.restart_istiod().await?,
                Self::ApiServers => cluster.start_api_server().await?,
            }
        }
        Ok(())
    }
}
