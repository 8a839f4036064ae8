//! Programs are killed under load, one at a time, as `kill -9` does.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use mcwan_testbed::wan::{Plan, TestWan};

use crate::audit::{Audit, FULL, Steps, Verdict};
use crate::scene::{REACHABLE, STALE, metric_of_leader, whole_machine, with_payment};

/// Leases that run out soon: a leader's, and a cluster's.
const LEADER_LEASE: Duration = Duration::from_secs(3);
const CLUSTER_LEASE: Duration = Duration::from_secs(6);

/// For how many seconds all must go well while something is away.
const AWAY: u32 = 3;

/// The step in which something may be lost.
const GATEWAY: &str = "killed an ingress gateway of two";

/// The ingress gateways of a namespace.
const INGRESS: &str = "mcwan-ingress";

/// A program that is killed. A number is its cluster's.
#[derive(Clone, Copy, Debug)]
enum Victim {
    OurLeader(u8),
    Istiod(u8),
    OciRegistry,
    /// That of the importing cluster.
    ApiServer,
    /// That of the exporting cluster, which holds the registry.
    RegistryApiServer,
    IngressGateway,
}

/// All of them, in both clusters.
const EVERYTHING: [Victim; 8] = [
    Victim::OurLeader(2),
    Victim::OurLeader(1),
    Victim::Istiod(2),
    Victim::Istiod(1),
    Victim::OciRegistry,
    Victim::ApiServer,
    Victim::RegistryApiServer,
    Victim::IngressGateway,
];

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn nothing_is_lost_while_any_program_is_killed() -> Result<()> {
    let _turn = whole_machine().await;
    let (mut wan, client) = with_payment(with_short_leases()).await?;
    let mut audit = Audit::start(&wan, &client, FULL).await?;
    let mut steps = Steps::default();
    for victim in EVERYTHING {
        steps.begin(victim.step());
        victim.is_killed(&mut wan, &mut audit).await?;
    }
    judge(&audit.finish(&wan).await?, &steps)
}

/// Clusters whose leases run out soon.
pub(crate) fn with_short_leases() -> Plan {
    let [leader, cluster] = [LEADER_LEASE, CLUSTER_LEASE].map(|lease| lease.as_secs().to_string());
    Plan::default().arguments(&["--lease-seconds", &*leader, "--cluster-lease-seconds", &*cluster])
}

/// Our leader and istiod are killed in the importing cluster.
pub(crate) async fn our_leader_and_istiod_are_killed(wan: &mut TestWan, audit: &mut Audit) -> Result<()> {
    for victim in [Victim::OurLeader(2), Victim::Istiod(2)] {
        victim.is_killed(wan, audit).await?;
    }
    Ok(())
}

impl Victim {
    fn step(self) -> &'static str {
        match self {
            Self::OurLeader(_) => "killed our leader",
            Self::Istiod(_) => "killed istiod",
            Self::OciRegistry => "killed the OCI registry",
            Self::ApiServer => "killed the API server of the importing cluster",
            Self::RegistryApiServer => "killed the registry's API server",
            Self::IngressGateway => GATEWAY,
        }
    }

    async fn is_killed(self, wan: &mut TestWan, audit: &mut Audit) -> Result<()> {
        match self {
            Self::OurLeader(cluster) => our_leader(wan, audit, cluster).await,
            Self::Istiod(cluster) => istiod(wan, audit, cluster).await,
            Self::OciRegistry => the_oci_registry(wan, audit).await,
            Self::ApiServer => the_api_server(wan, audit).await,
            Self::RegistryApiServer => the_api_server_of_the_registry(wan, audit).await,
            Self::IngressGateway => an_ingress_gateway(wan, audit).await,
        }
    }
}

async fn our_leader(wan: &mut TestWan, audit: &mut Audit, number: u8) -> Result<()> {
    let leader = wan.cluster(number).leader().await?;
    wan.cluster_mut(number).kill_controller(leader);
    audit.change_by_route().await?;
    ensure!(wan.cluster(number).leader().await? != leader, "the leader is still there");
    audit.until_newest_rules_hold(wan).await?;
    wan.cluster_mut(number).start_controller(leader).await
}

async fn istiod(wan: &mut TestWan, audit: &mut Audit, number: u8) -> Result<()> {
    wan.cluster_mut(number).istiod_mut().kill();
    audit.change().await?;
    audit.pass(wan, AWAY).await?;
    wan.cluster_mut(number).restart_istiod().await?;
    audit.until_newest_rules_hold(wan).await
}

/// Gateways that run have the module.
async fn the_oci_registry(wan: &mut TestWan, audit: &mut Audit) -> Result<()> {
    wan.oci_registry().stop();
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await?;
    audit.pass(wan, AWAY).await?;
    wan.oci_registry().start().await
}

/// It is away for longer than a lease: nobody leads any more.
async fn the_api_server(wan: &mut TestWan, audit: &mut Audit) -> Result<()> {
    wan.cluster_mut(2).stop_api_server();
    until_nobody_leads(wan, 2).await?;
    audit.pass(wan, AWAY).await?;
    wan.cluster_mut(2).start_api_server().await?;
    wan.cluster(2).leader().await?;
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await
}

/// It is away for longer than a cluster's lease, too. What is changed elsewhere holds meanwhile, and nobody is judged by
/// what was not seen.
async fn the_api_server_of_the_registry(wan: &mut TestWan, audit: &mut Audit) -> Result<()> {
    wan.cluster_mut(1).stop_api_server();
    until_nobody_leads(wan, 1).await?;
    wan.until("the registry is said to be away", async || Ok(!is_registry_reachable(wan).await?)).await?;
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await?;
    audit.pass(wan, AWAY).await?;
    wan.cluster_mut(1).start_api_server().await?;
    nobody_is_stale_at_once(wan).await?;
    wan.cluster(1).leader().await?;
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await
}

async fn until_nobody_leads(wan: &TestWan, cluster: u8) -> Result<()> {
    wan.until("nobody leads", async || {
        for controller in wan.cluster(cluster).controllers() {
            if controller.metric("mcwan_leader").await? != Some(0.0) {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await
}

async fn is_registry_reachable(wan: &TestWan) -> Result<bool> {
    Ok(metric_of_leader(wan, 2, REACHABLE).await? == Some(1.0))
}

/// The registry comes back: for a full lease time after it was away no cluster is stale, and later none either.
async fn nobody_is_stale_at_once(wan: &TestWan) -> Result<()> {
    let mut away = Instant::now();
    wan.until("a lease has lasted since the registry was away", async || {
        let asked = Instant::now();
        if !is_registry_reachable(wan).await? {
            away = asked;
        }
        let stale = metric_of_leader(wan, 2, STALE).await?;
        let is_early = away.elapsed() < CLUSTER_LEASE;
        ensure!(!is_early || stale == Some(0.0), "{stale:?} clusters are judged {:?} after", away.elapsed());
        Ok(!is_early)
    })
    .await?;
    wan.until("no cluster is stale", async || Ok(metric_of_leader(wan, 2, STALE).await? == Some(0.0))).await
}

async fn an_ingress_gateway(wan: &TestWan, audit: &mut Audit) -> Result<()> {
    let cluster = wan.cluster(1);
    let pods = cluster.gateway_pods("secure", INGRESS).await?;
    ensure!(pods.len() == 2, "there are {} ingress gateways", pods.len());
    let pod = pods.first().context("there is no ingress gateway")?.name_any();
    cluster.kubelet().kill("secure", &pod)?;
    audit.pass(wan, AWAY).await?;
    let runs_again = async || {
        let pods = cluster.gateway_pods("secure", INGRESS).await?;
        let status = pods.into_iter().find(|known| known.name_any() == pod).and_then(|pod| pod.status);
        let containers = status.and_then(|status| status.container_statuses).unwrap_or_default();
        Ok(containers.iter().any(|container| container.restart_count > 0 && container.ready))
    };
    wan.until("it runs again", runs_again).await?;
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await?;
    audit.pass(wan, AWAY).await
}

/// Nothing is lost for a part of the control plane; for a gateway it is counted.
fn judge(verdict: &Verdict, steps: &Steps) -> Result<()> {
    verdict.report();
    let sent: Vec<_> = verdict.answers.iter().map(|answer| answer.sent).collect();
    let lost: Vec<_> = verdict.wrong.iter().map(|(sent, _)| *sent).collect();
    let report = steps.report(&sent, &lost);
    let lost: usize = report.iter().filter(|(killed, _)| *killed != GATEWAY).map(|(_, lost)| lost).sum();
    ensure!(lost == 0, "{lost} requests are lost, though no gateway was killed");
    Ok(())
}
