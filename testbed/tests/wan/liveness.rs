//! Clusters that export the same service fall silent and come back.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::load::{Answer, Load, Plan};
use mcwan_testbed::wan::{TestWan, WanClient};

use crate::audit::Steps;
use crate::objects::{mk_echo, mk_export, mk_file, mk_namespace, mk_service};
use crate::scene::{LOW, apply_payment, mk_plan, mk_request, turn, until_payment_answers};

/// Leases that run out soon.
const ARGUMENTS: [&str; 4] = ["--lease-seconds", "3", "--cluster-lease-seconds", "6"];

/// Requests a second.
const RATE: u32 = 200;

/// So many requests tell shares to one in a hundred.
const MANY: usize = 2_000;

/// So many tell whether a cluster takes part.
const SOME: usize = 300;

/// Pods of the two clusters that export, and the share of the second.
const PODS: [(u8, u32); 2] = [(1, 3), (3, 1)];
const SHARE: f64 = 0.25;

/// The step in which something may be lost.
const WITHDRAWN: &str = "the first cluster exports no more";

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn traffic_goes_where_clusters_are_alive() -> Result<()> {
    let _turn = turn().await;
    let mut wan = TestWan::start(mk_plan().clusters(3).arguments(&ARGUMENTS)).await?;
    apply_payment(&wan).await?;
    for (cluster, pods) in PODS {
        let service = [mk_namespace("secure"), mk_echo("secure", "payment", pods), mk_service("secure", "payment")];
        wan.cluster(cluster).apply(&mk_file(&service)).await?;
    }
    let client = wan.client(2).await?;
    until_payment_answers(&wan, &client).await?;
    let load = start(&wan, &client).await?;
    let mut steps = Steps::default();
    an_export_moves(&wan, &load, &mut steps).await?;
    steps.begin("traffic is split");
    traffic_is_split_by_ready_pods(&wan, &load).await?;
    steps.begin("one cluster of two falls silent and returns");
    one_falls_silent_and_returns(&mut wan, &load).await?;
    steps.begin("both clusters fall silent");
    all_fall_silent(&mut wan, &load).await?;
    judge(&load.stop().await?, &steps)
}

/// Nothing is lost but where a cluster exports no more: it refuses at once, others hear of it later.
fn judge(answers: &[Answer], steps: &Steps) -> Result<()> {
    let sent: Vec<_> = answers.iter().map(|answer| answer.sent).collect();
    let lost: Vec<_> = answers.iter().filter(|answer| answer.status() != 200).collect();
    let report = steps.report(&sent, &lost.iter().map(|answer| answer.sent).collect::<Vec<_>>());
    let elsewhere: usize = report.iter().filter(|(step, _)| *step != WITHDRAWN).map(|(_, lost)| lost).sum();
    ensure!(elsewhere == 0, "{elsewhere} requests are lost, such as {:?}", lost.first());
    Ok(())
}

async fn start(wan: &TestWan, client: &WanClient) -> Result<Load> {
    let requests = ["/payment", "/stats"].map(|path| mk_request("GET", "payment.secure:8080", path)).to_vec();
    let to = wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?;
    Load::start(client.namespace(), Plan { requests, to, rate: RATE }).await
}

/// Cluster 3 exports what cluster 1 does, then cluster 1 no more, and at last both.
async fn an_export_moves(wan: &TestWan, load: &Load, steps: &mut Steps) -> Result<()> {
    steps.begin("a second cluster exports");
    let export = mk_file(&[mk_export("secure", "payment", LOW.0)]);
    wan.cluster(3).apply(&export).await?;
    until_answered_by(wan, load, &[1, 3]).await?;
    steps.begin(WITHDRAWN);
    wan.cluster(1).kubectl(&["delete", "serviceexport", "payment", "--namespace", "secure"]).await?;
    until_answered_by(wan, load, &[3]).await?;
    steps.begin("the first cluster exports again");
    wan.cluster(1).apply(&export).await?;
    until_answered_by(wan, load, &[1, 3]).await
}

async fn traffic_is_split_by_ready_pods(wan: &TestWan, load: &Load) -> Result<()> {
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

/// Its pods are well, but nobody knows it any more.
async fn one_falls_silent_and_returns(wan: &mut TestWan, load: &Load) -> Result<()> {
    wan.cluster_mut(3).kill_controllers();
    until_answered_by(wan, load, &[1]).await?;
    until_stale(wan, 1.0).await?;
    let answers = next(wan, load, MANY).await?;
    let by = by_cluster(&answers);
    ensure!(by.keys().eq(&[1]), "a cluster whose lease ran out still gets requests: {by:?}");
    for replica in [0, 1] {
        wan.cluster_mut(3).start_controller(replica).await?;
    }
    until_answered_by(wan, load, &[1, 3]).await?;
    until_stale(wan, 0.0).await
}

/// Unknown is not down.
async fn all_fall_silent(wan: &mut TestWan, load: &Load) -> Result<()> {
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
        let leader = wan.cluster(2).leader().await?;
        let controller = wan.cluster(2).controllers().nth(usize::from(leader)).context("there is no leader")?;
        Ok(controller.metric("mcwan_clusters{state=\"stale\"}").await? == Some(count))
    })
    .await
}

/// Waits until requests go to these clusters and no others.
async fn until_answered_by(wan: &TestWan, load: &Load, clusters: &[u8]) -> Result<()> {
    let what = format!("requests are answered by {clusters:?}");
    wan.until(&what, async || Ok(by_cluster(&next(wan, load, SOME).await?).keys().eq(clusters))).await
}

/// What becomes of the next requests.
async fn next(wan: &TestWan, load: &Load, count: usize) -> Result<Vec<Answer>> {
    let seen = load.count();
    wan.until("more requests are over", async || Ok(load.count() >= seen + count)).await?;
    Ok(load.answers_after(seen))
}

/// How many requests each cluster has answered.
fn by_cluster(answers: &[Answer]) -> BTreeMap<u8, u32> {
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
