//! Programs are killed under load, one at a time, as `kill -9` does.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use mcwan_testbed::wan::TestWan;

use crate::audit::{Audit, RATE, Steps, Verdict};
use crate::scene::{apply_payment, mk_plan, turn, until_payment_answers};

/// Leases that run out soon.
const ARGUMENTS: [&str; 2] = ["--lease-seconds", "3"];

/// How many requests must go well while something is away: those of three seconds.
const WHILE_AWAY: usize = 3 * RATE as usize;

/// The step in which something may be lost.
const GATEWAY: &str = "killed an ingress gateway of two";

/// The ingress gateways of a namespace.
const INGRESS: &str = "mcwan-ingress";

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn nothing_is_lost_while_programs_are_killed() -> Result<()> {
    let _turn = turn().await;
    let mut wan = TestWan::start(mk_plan().arguments(&ARGUMENTS)).await?;
    apply_payment(&wan).await?;
    let client = wan.client(2).await?;
    until_payment_answers(&wan, &client).await?;
    let mut audit = Audit::start(&wan, &client).await?;
    let mut steps = Steps::default();
    for cluster in [2, 1] {
        steps.begin("killed our leader");
        our_leader(&mut wan, &mut audit, cluster).await?;
    }
    for cluster in [2, 1] {
        steps.begin("killed istiod");
        istiod(&mut wan, &mut audit, cluster).await?;
    }
    steps.begin("killed the OCI registry");
    the_oci_registry(&mut wan, &mut audit).await?;
    steps.begin("killed the API server of the importing cluster");
    the_api_server(&mut wan, &mut audit, 2).await?;
    steps.begin("killed the registry's API server");
    the_api_server(&mut wan, &mut audit, 1).await?;
    steps.begin(GATEWAY);
    an_ingress_gateway(&wan, &mut audit).await?;
    let verdict = audit.finish().await?;
    judge(&verdict, &steps)
}

async fn our_leader(wan: &mut TestWan, audit: &mut Audit, number: u8) -> Result<()> {
    let leader = wan.cluster(number).leader().await?;
    wan.cluster_mut(number).kill_controller(leader);
    audit.change().await?;
    ensure!(wan.cluster(number).leader().await? != leader, "the leader is still there");
    audit.until_newest_rules_hold(wan).await?;
    wan.cluster_mut(number).start_controller(leader).await
}

async fn istiod(wan: &mut TestWan, audit: &mut Audit, number: u8) -> Result<()> {
    wan.cluster_mut(number).istiod_mut().kill();
    audit.change().await?;
    audit.pass(wan, WHILE_AWAY).await?;
    wan.cluster_mut(number).restart_istiod().await?;
    audit.until_newest_rules_hold(wan).await
}

/// Gateways that run have the module.
async fn the_oci_registry(wan: &mut TestWan, audit: &mut Audit) -> Result<()> {
    wan.oci_registry().stop();
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await?;
    audit.pass(wan, WHILE_AWAY).await?;
    wan.oci_registry().start().await
}

/// It is away for longer than a lease: nobody leads any more. What is changed elsewhere holds meanwhile.
async fn the_api_server(wan: &mut TestWan, audit: &mut Audit, number: u8) -> Result<()> {
    wan.cluster_mut(number).stop_api_server();
    let nobody_leads = async || {
        for controller in wan.cluster(number).controllers() {
            if controller.metric("mcwan_leader").await? != Some(0.0) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    wan.until("nobody leads", nobody_leads).await?;
    audit.pass(wan, WHILE_AWAY).await?;
    if number != 2 {
        audit.change().await?;
        audit.until_newest_rules_hold(wan).await?;
    }
    wan.cluster_mut(number).start_api_server().await?;
    wan.cluster(number).leader().await?;
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await
}

async fn an_ingress_gateway(wan: &TestWan, audit: &mut Audit) -> Result<()> {
    let cluster = wan.cluster(1);
    let pods = cluster.gateway_pods("secure", INGRESS).await?;
    ensure!(pods.len() == 2, "there are {} ingress gateways", pods.len());
    let pod = pods.first().context("there is no ingress gateway")?.name_any();
    cluster.kubelet().kill("secure", &pod)?;
    audit.pass(wan, WHILE_AWAY).await?;
    let runs_again = async || {
        let pods = cluster.gateway_pods("secure", INGRESS).await?;
        let status = pods.into_iter().find(|known| known.name_any() == pod).and_then(|pod| pod.status);
        let containers = status.and_then(|status| status.container_statuses).unwrap_or_default();
        Ok(containers.iter().any(|container| container.restart_count > 0 && container.ready))
    };
    wan.until("it runs again", runs_again).await?;
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await?;
    audit.pass(wan, WHILE_AWAY).await
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
