//! Examples, played on two clusters and the WAN between them for a person to see.

mod conditions;
mod screen;

use std::collections::BTreeMap;
use std::future::pending;
use std::time::{Duration, Instant};

use anstream::{eprintln, println};
use anyhow::Result;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use mcwan_core::api::WanPolicy;
use tokio::time::interval;

use super::{curl, request, table};
use crate::describe;
use crate::example::{End, Example};
use crate::table::TERMINAL;
use crate::tools;
use crate::wan::play::{Play, WanPerformance};
use crate::wan::{Count, Plan, TestWan, Traffic};
use screen::Screen;

/// How often the conditions are read while things converge.
const PERIOD: Duration = Duration::from_millis(500);
/// The cluster that runs the services.
const EXPORTER: u8 = 1;
/// The cluster whose client calls them.
const IMPORTER: u8 = 2;
const HEADINGS: [&str; 5] = ["request", "expected", "happened", "decided by", "crossed on, answered by"];

/// Starts two clusters and a WAN, plays examples one after the other and prints a table for each. Returns whether
/// everything was as expected; with `keep` it leaves everything running instead and does not return. `arguments` are
/// more of our controller's.
///
/// # Errors
/// An example cannot be read, something does not start or converge, or a request has no answer.
pub async fn run(names: &[String], arguments: &[&str], keep: bool) -> Result<bool> {
    let examples: Vec<_> = names.iter().map(|name| Example::load(name)).collect::<Result<_>>()?;
    eprintln!("starting two API servers, two istiods, four replicas of our controller, and the WAN between them");
    let start = Instant::now();
    let wan = TestWan::start(Plan::default().arguments(arguments)).await?;
    eprintln!("they run after {:.0?}", start.elapsed());
    let mut all_good = true;
    let mut last = None;
    for example in &examples {
        let play = Play::set_up(&wan, example).await?;
        converge(&wan, &play, example).await?;
        all_good &= perform(&wan, &play, example).await?;
        last = Some((play, example));
    }
    if let Some((play, example)) = last.filter(|_| keep) {
        invite(&wan, &play, example).await?;
        pending::<()>().await;
    }
    Ok(all_good)
}

/// Shows what the objects say of themselves, until the example can be played.
async fn converge(wan: &TestWan, play: &Play, example: &Example) -> Result<()> {
    eprintln!("\n{}: what the clusters say of it", example.name);
    let start = Instant::now();
    let mut screen = Screen::new();
    let mut ticks = interval(PERIOD);
    let mut converged = std::pin::pin!(play.converge(wan, example));
    loop {
        tokio::select! {
            converged = &mut converged => {
                converged?;
                break;
            }
            _ = ticks.tick() => screen.show(&conditions::read(wan).await?),
        }
    }
    screen.show(&conditions::read(wan).await?);
    eprintln!("requests cross after {:.1?}", start.elapsed());
    Ok(())
}

/// Plays an example, prints the table and returns whether everything was as expected.
async fn perform(wan: &TestWan, play: &Play, example: &Example) -> Result<bool> {
    let tiers = tiers(wan).await?;
    let before = wan.traffic();
    let mut performances = Vec::new();
    for case in &example.cases {
        performances.push(play.perform(wan, case).await?);
    }
    println!();
    let rows: Vec<_> = performances.iter().map(|performance| row(performance, &tiers)).collect();
    let performances: Vec<_> = performances.iter().map(|performance| &performance.performance).collect();
    let is_good = table(example, HEADINGS, &rows, &performances, TERMINAL);
    for cluster in wan.clusters() {
        let address = play.address(wan, cluster.number()).await?;
        println!("in {}, DNS says that {} is {address}", cluster.id(), play.name());
    }
    println!("the router between the clusters counted, from cluster-{IMPORTER} to cluster-{EXPORTER}:");
    let ports = wan.traffic().since(&before).ports(IMPORTER, EXPORTER);
    for (port, Count { connections, packets, bytes, .. }) in ports {
        if let Some(tier) = tiers.get(&port) {
            println!("  {tier}, port {port}: {connections} connections, {packets} packets, {bytes} bytes");
        }
    }
    Ok(is_good)
}

fn row(WanPerformance { performance, traffic }: &WanPerformance<'_>, tiers: &BTreeMap<u16, String>) -> [String; 5] {
    let case = performance.case;
    let mut answered = BTreeMap::<_, usize>::new();
    for name in performance.outcomes.iter().filter_map(|outcome| outcome.response.echo_name()) {
        let cluster = name.split('/').next().unwrap_or_default().to_owned();
        *answered.entry(cluster).or_default() += 1;
    }
    let mut path = crossed(traffic, tiers);
    path.extend(answered.into_iter().map(|(cluster, count)| match count {
        1 => cluster,
        count => format!("{count} × {cluster}"),
    }));
    [
        request(case),
        describe::expected(&case.expected),
        describe::outcomes(&case.expected, &performance.outcomes),
        performance.decided_by.clone(),
        path.join("\n"),
    ]
}

/// How requests have crossed the WAN, a line for each tier. What only acknowledges the answer to an earlier one is left
/// out.
fn crossed(traffic: &Traffic, tiers: &BTreeMap<u16, String>) -> Vec<String> {
    let ports = traffic.ports(IMPORTER, EXPORTER).into_iter();
    let spoken = ports.filter(|(port, count)| tiers.contains_key(port) && count.payload > 0);
    spoken.map(|(port, count)| format!(":{port}  packets {}  bytes {}", count.packets, count.bytes)).collect()
}

/// The names of the tiers, by their ports.
async fn tiers(wan: &TestWan) -> Result<BTreeMap<u16, String>> {
    let policies = Api::<WanPolicy>::all(wan.cluster(IMPORTER).client());
    let policies = policies.list(&ListParams::default()).await?;
    Ok(policies.into_iter().map(|policy| (policy.spec.port.get(), policy.name_any())).collect())
}

/// Says what to try: both clusters, a request that arrives, and one that does not.
async fn invite(wan: &TestWan, play: &Play, example: &Example) -> Result<()> {
    println!("\nEverything runs until Ctrl-C. In another terminal, as root:");
    let kubectl = tools::program("kubectl")?;
    for cluster in wan.clusters() {
        println!("  export KUBECONFIG={}   # {}", cluster.admin_kubeconfig().display(), cluster.id());
    }
    println!("  {} get serviceimports.mc-wan.l7mp.io,gateways,httproutes -n secure", kubectl.display());
    println!("From where the client is, in cluster-{IMPORTER}:");
    let inside = format!("nsenter --net=/proc/{}/ns/net", play.client().namespace().id());
    let address = play.address(wan, IMPORTER).await?;
    for arrives in [true, false] {
        let case = example.cases.iter().find(|case| matches!(case.expected.end, End::Upstream(_)) == arrives);
        if let Some(case) = case {
            println!("  {inside} \\\n    {}", curl(&case.request, address));
        }
    }
    Ok(())
}
