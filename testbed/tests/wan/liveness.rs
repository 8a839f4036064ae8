//! Clusters that export the same service fall silent and come back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mcwan_testbed::echo::Seen;
use mcwan_testbed::load::{Load, LoadAnswer, Plan};
use mcwan_testbed::wan::{self, TestWan, WanClient};

use crate::analyze;
use crate::audit::Steps;
use crate::objects::{mk_echo, mk_export, mk_file, mk_namespace, mk_service};
use crate::scene::{
    HIGH, LOW, REACHABLE, STALE, apply_payment, metric_of_leader, mk_request, until_payment_answers, whole_machine,
};
use crate::shares::every_pod_takes_its_share;
use crate::tiers::ports_are_due;

/// Leases that run out soon, a leader's and a cluster's, but not where the machine stops for a few seconds.
const LEADER_LEASE: Duration = Duration::from_secs(5);
const CLUSTER_LEASE: Duration = Duration::from_secs(12);

/// How long a cluster that is said to be stale may still get requests: gateways hear of it, and the machine may do much
/// else.
const MARGIN: Duration = Duration::from_secs(10);

/// Requests a second, on a machine that does much else and on one that does nothing else.
const MODERATE: u32 = 50;
const FULL: u32 = 200;

/// So many requests tell shares to one in a hundred.
const MANY: usize = 2_000;

/// So many tell whether a cluster takes part.
const SOME: usize = 100;

/// What is asked for, and the port of its tier.
const PATHS: [(&str, u16); 2] = [("/payment", HIGH.1), ("/stats", LOW.1)];

/// Pods of the two clusters that export, and the share of the second.
const PODS: [(u8, u32); 2] = [(1, 3), (3, 1)];
const SHARE: f64 = 0.25;

/// The step in which something may be lost.
const WITHDRAWN: &str = "the first cluster exports no more";

#[tokio::test]
async fn traffic_leaves_a_silent_cluster_and_returns() -> Result<()> {
    let _turn = whole_machine().await;
    let mut wan = start().await?;
    let client = wan.client(2).await?;
    let load = start_load(&wan, &client, MODERATE).await?;
    let mut steps = Steps::default();
    a_second_cluster_exports(&wan, &load, &mut steps).await?;
    one_falls_silent_and_returns(&mut wan, &load, &mut steps).await?;
    judge(&load.stop().await?, &steps)?;
    every_pod_takes_its_share(&wan).await
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn traffic_goes_where_clusters_are_alive() -> Result<()> {
    let _turn = whole_machine().await;
    let mut wan = start().await?;
    let client = wan.client(2).await?;
    let load = start_load(&wan, &client, FULL).await?;
    let mut steps = Steps::default();
    the_registry_is_cut_off(&wan, &load, &mut steps).await?;
    a_second_cluster_exports(&wan, &load, &mut steps).await?;
    an_export_moves(&wan, &load, &mut steps).await?;
    traffic_is_split_by_ready_pods(&wan, &load, &mut steps).await?;
    one_falls_silent_and_returns(&mut wan, &load, &mut steps).await?;
    all_fall_silent(&mut wan, &load, &mut steps).await?;
    judge(&load.stop().await?, &steps)
}

/// Starts three clusters. The first exports what the second imports, the third may; it has the registry.
async fn start() -> Result<TestWan> {
    let [leader, cluster] = [LEADER_LEASE, CLUSTER_LEASE].map(|lease| lease.as_secs().to_string());
    let arguments = ["--lease-seconds", &*leader, "--cluster-lease-seconds", &*cluster];
    let wan = TestWan::start(wan::Plan::default().clusters(3).registry(3).arguments(&arguments)).await?;
    apply_payment(&wan).await?;
    for (cluster, pods) in PODS {
        let service = [mk_namespace("secure"), mk_echo("secure", "payment", pods), mk_service("secure", "payment")];
        wan.cluster(cluster).apply(&mk_file(&service)).await?;
    }
    Ok(wan)
}

/// Nothing is lost but where a cluster exports no more: it refuses at once, others hear of it later.
fn judge(answers: &[LoadAnswer], steps: &Steps) -> Result<()> {
    let sent: Vec<_> = answers.iter().map(|answer| answer.sent).collect();
    let lost: Vec<_> = answers.iter().filter(|answer| answer.status() != 200).collect();
    let report = steps.report(&sent, &lost.iter().map(|answer| answer.sent).collect::<Vec<_>>());
    let elsewhere: usize = report.iter().filter(|(step, _)| *step != WITHDRAWN).map(|(_, lost)| lost).sum();
    ensure!(elsewhere == 0, "{elsewhere} requests are lost, such as {:?}", lost.first());
    Ok(())
}

async fn start_load(wan: &TestWan, client: &WanClient, rate: u32) -> Result<Load> {
    until_payment_answers(wan, client).await?;
    let requests = PATHS.map(|(path, _)| mk_request("GET", "payment.secure:8080", path)).to_vec();
    let to = wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?;
    Load::start(client.namespace(), Plan { requests, to, rate }).await
}

/// The WAN loses everything between the importing cluster and that with the registry: no connection is refused, nothing
/// comes back. It is said, and requests go where they went.
async fn the_registry_is_cut_off(wan: &TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    steps.begin("the registry is cut off");
    wan.cut(2, 3, true);
    wan.until("the import says that the registry is away", async || is_registry_said_to_be_away(wan).await).await?;
    ensure!(metric_of_leader(wan, 2, REACHABLE).await? == Some(0.0), "the registry is away, and no metric says so");
    until_answered_by(wan, load, &[1]).await?;
    wan.cut(2, 3, false);
    wan.until("the registry is back", async || {
        let is_back = metric_of_leader(wan, 2, REACHABLE).await? == Some(1.0);
        Ok(is_back && !is_registry_said_to_be_away(wan).await?)
    })
    .await?;
    until_stale(wan, 0.0).await
}

async fn is_registry_said_to_be_away(wan: &TestWan) -> Result<bool> {
    let output = "jsonpath={.status.conditions[?(@.reason=='RegistryUnreachable')].status}";
    let import = ["get", "serviceimports.mc-wan.l7mp.io", "payment", "--namespace", "secure", "--output", output];
    Ok(wan.cluster(2).kubectl(&import).await?.contains("True"))
}

/// Lets a cluster export the service.
async fn export(wan: &TestWan, cluster: u8) -> Result<()> {
    wan.cluster(cluster).apply(&mk_file(&[mk_export("secure", "payment", LOW.0)])).await
}

async fn a_second_cluster_exports(wan: &TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    steps.begin("a second cluster exports");
    export(wan, 3).await?;
    until_answered_by(wan, load, &[1, 3]).await?;
    analyze::all_is_well(wan).await
}

/// Both clusters export, then cluster 1 no more, and at last both again. No request takes another tier than its own.
async fn an_export_moves(wan: &TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    wan.record();
    steps.begin(WITHDRAWN);
    wan.cluster(1).kubectl(&["delete", "serviceexport", "payment", "--namespace", "secure"]).await?;
    until_answered_by(wan, load, &[3]).await?;
    steps.begin("the first cluster exports again");
    export(wan, 1).await?;
    until_answered_by(wan, load, &[1, 3]).await?;
    let recording = wan.recorded();
    for cluster in [1, 3] {
        let crossed = ports_are_due(&recording, cluster, port)?;
        ensure!(crossed > 0, "nothing crossed to cluster {cluster}");
    }
    Ok(())
}

/// The port of the WAN that a request is due.
fn port(request: &Seen) -> Option<u16> {
    let (_, port) = PATHS.into_iter().find(|(path, _)| *path == request.path)?;
    Some(port)
}

async fn traffic_is_split_by_ready_pods(wan: &TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    steps.begin("traffic is split");
    let mut share = 0.0;
    wan.until("traffic is split by ready pods", async || {
        let answers = next(wan, load, MANY).await?;
        let by = by_cluster(&answers);
        let [one, other] = [1, 3].map(|number| by.get(&number).copied().unwrap_or_default());
        share = f64::from(other) / f64::from((one + other).max(1));
        Ok((share - SHARE).abs() <= 0.05)
    })
    .await?;
    eprintln!(
        "measured: {:.1} % of the traffic goes to a cluster that has {:.1} % of the pods",
        100.0 * share,
        100.0 * SHARE
    );
    Ok(())
}

/// Its pods are well, but nobody knows it any more. Once its lease has run out no request goes there.
async fn one_falls_silent_and_returns(wan: &mut TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    steps.begin("one cluster of two falls silent and returns");
    wan.cluster_mut(3).kill_controllers();
    until_stale(wan, 1.0).await?;
    let bound = Instant::now() + MARGIN;
    let seen = load.count();
    until_answered_by(wan, load, &[1]).await?;
    let is_past = |answer: &LoadAnswer| answer.sent > bound;
    wan.until("requests are sent after the bound", async || {
        Ok(load.answers_after(load.count().saturating_sub(1)).iter().any(is_past))
    })
    .await?;
    next(wan, load, SOME).await?;
    let past: Vec<_> = load.answers_after(seen).into_iter().filter(is_past).collect();
    let by = by_cluster(&past);
    ensure!(by.keys().eq(&[1]), "a cluster whose lease ran out still gets requests: {by:?}");
    for replica in [0, 1] {
        wan.cluster_mut(3).start_controller(replica).await?;
    }
    until_answered_by(wan, load, &[1, 3]).await?;
    until_stale(wan, 0.0).await
}

/// Unknown is not down.
async fn all_fall_silent(wan: &mut TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    steps.begin("both clusters fall silent");
    for cluster in [1, 3] {
        wan.cluster_mut(cluster).kill_controllers();
    }
    until_stale(wan, 2.0).await?;
    until_answered_by(wan, load, &[1, 3]).await?;
    next(wan, load, SOME).await?;
    Ok(())
}

/// Waits until the importing cluster says that so many others are stale.
async fn until_stale(wan: &TestWan, count: f64) -> Result<()> {
    wan.until(&format!("{count} clusters are said to be stale"), async || {
        Ok(metric_of_leader(wan, 2, STALE).await? == Some(count))
    })
    .await
}

/// Waits until all requests are answered, by these clusters and no others.
async fn until_answered_by(wan: &TestWan, load: &Load, clusters: &[u8]) -> Result<()> {
    wan.until(&format!("requests are answered by {clusters:?}"), async || {
        let answers = next(wan, load, SOME).await?;
        Ok(by_cluster(&answers).keys().eq(clusters) && answers.iter().all(|answer| answer.status() == 200))
    })
    .await
}

/// What becomes of the next requests.
async fn next(wan: &TestWan, load: &Load, count: usize) -> Result<Vec<LoadAnswer>> {
    let seen = load.count();
    wan.until("more requests are over", async || Ok(load.count() >= seen + count)).await?;
    Ok(load.answers_after(seen))
}

/// How many requests each cluster has answered.
fn by_cluster(answers: &[LoadAnswer]) -> BTreeMap<u8, u32> {
    let mut by = BTreeMap::new();
    for answer in answers {
        let name = answer.outcome.as_ref().ok().and_then(mcwan_testbed::client::Response::echo_name);
        let number = name.and_then(|name| name.strip_prefix("cluster-")?.split('/').next()?.parse().ok());
        if let Some(number) = number {
            *by.entry(number).or_default() += 1;
        }
    }
    by
}
