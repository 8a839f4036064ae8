//! The demo on two clusters, as a person starts it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use mcwan_testbed::example::{Case, Destination, End, Example, Upstream};
use tempfile::NamedTempFile;

use crate::player::{Running, demo, printed};
use crate::scene::half_machine;

/// Nothing is wider than a terminal.
fn fits(text: &str) {
    let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[tokio::test]
async fn an_example_is_played_on_two_clusters_which_are_kept_to_play_with() {
    let _turn = half_machine().await;
    let log = NamedTempFile::new().unwrap();
    let mut demo = demo();
    demo.args(["--wan", "payment", "--keep"]).stdout(Stdio::piped()).stderr(log.reopen().unwrap());
    let mut child = Running(demo.spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let table: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("Everything runs until ")).collect();
    is_played(&table.join("\n"), &fs::read_to_string(log.path()).unwrap());
    is_kept(child, lines);
}

fn is_played(table: &str, log: &str) {
    let cases = Example::load("payment").unwrap().cases.len();
    assert!(table.contains(&format!("\npayment: {cases} of {cases} as expected\n")), "{table}{log}");
    assert!(
        log.contains("  cluster-2  ServiceImport secure/payment     Accepted ✓  ResolvedRefs ✓  Programmed ✓\n"),
        "{log}"
    );
    for cluster in ["cluster-1", "cluster-2"] {
        let line = format!("in {cluster}, DNS says that payment.secure.svc.clusterset.local is 10.112.");
        assert!(table.contains(&line), "{table}");
    }
    every_request_is_told(table);
    fits(table);
    fits(log);
}

/// The tiers of the payment example, and their ports.
const TIERS: [(&str, u16); 2] = [("sd-wan-priority-high", 31_111), ("sd-wan-priority-low", 31_112)];

/// Each row of the table says which rule decided, which tier the request crossed on and which cluster answered; and the
/// router has counted at least as much for each tier as all rows say.
fn every_request_is_told(table: &str) {
    let cases = Example::load("payment").unwrap().cases;
    let rows = rows(table);
    assert_eq!(rows.len(), cases.len(), "{table}");
    let mut packets = BTreeMap::new();
    for (Case { name, expected, .. }, [decided, crossed]) in cases.iter().zip(rows) {
        match &expected.end {
            End::Upstream(upstream) => {
                let rule = expected.rule.unwrap();
                assert!(
                    decided == format!("rule {rule}") || decided.starts_with(&format!("rule {rule} (")),
                    "{decided}"
                );
                let (tier, port) = TIERS.into_iter().find(|(tier, _)| is_for(upstream, tier)).unwrap();
                let Some(Ok([count, _])) = crossed
                    .strip_prefix(&format!(":{port} packets "))
                    .and_then(|rest| rest.strip_suffix(" cluster-1"))
                    .map(|counts| <[&str; 2]>::try_from(counts.split(" bytes ").collect::<Vec<_>>()))
                else {
                    panic!("{name}: {crossed}")
                };
                *packets.entry(tier).or_insert(0) += count.parse::<u64>().unwrap();
            }
            End::Answer(answer) => {
                let decided_by = if answer.status == 404 { "no import" } else { "no rule" };
                assert_eq!([&*decided, &*crossed], [decided_by, ""], "{name}");
            }
        }
    }
    for (tier, port) in TIERS {
        let line = format!("  {tier}, port {port}: ");
        let counts = table.lines().find_map(|known| known.strip_prefix(&line)).unwrap();
        let words: Vec<_> = counts.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let [_, "connections", counted, "packets", _, "bytes"] = *words else { panic!("{counts}") };
        let counted = counted.parse::<u64>().unwrap();
        assert!(packets[tier] > 0 && counted >= packets[tier], "{tier}: {packets:?}, and the router {counted}");
    }
}

fn is_for(upstream: &Upstream, tier: &str) -> bool {
    upstream.shares.keys().eq(&[Destination::Tier(tier.to_owned())])
}

/// What the table says in its last two columns, a row a request, the lines and words one space apart.
fn rows(table: &str) -> Vec<[String; 2]> {
    let mut lines = table.lines().skip_while(|line| !line.contains("decided by"));
    let head = lines.next().unwrap();
    let [decided, crossed] =
        ["decided by", "crossed on, answered by"].map(|name| head[..head.find(name).unwrap()].chars().count());
    let mut rows = Vec::<[Vec<String>; 2]>::new();
    for line in lines.take_while(|line| line.starts_with(['✓', '✗', ' '])) {
        if !line.starts_with(' ') {
            rows.push(Default::default());
        }
        for (cell, (from, to)) in rows.last_mut().unwrap().iter_mut().zip([(decided, crossed), (crossed, usize::MAX)]) {
            let text: String = line.chars().skip(from).take(to - from).collect();
            cell.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    rows.into_iter().map(|row| row.map(|words| words.join(" "))).collect()
}

/// Both clusters are there for whoever does as he is told, until the demo is.
fn is_kept(mut child: Running, mut lines: impl Iterator<Item = String>) {
    let kubeconfigs: Vec<_> = lines
        .by_ref()
        .map_while(|line| line.strip_prefix("  export KUBECONFIG=").map(str::to_owned))
        .take(2)
        .map(|line| line.split_once("   # ").map(|(path, cluster)| (path.to_owned(), cluster.to_owned())).unwrap())
        .collect();
    let command = lines.next().unwrap();
    for ((kubeconfig, cluster), (id, gateway)) in
        kubeconfigs.iter().zip([("cluster-1", "mcwan-ingress"), ("cluster-2", "mcwan-egress")])
    {
        assert_eq!(cluster, id);
        let output = Command::new("sh").args(["-c", &command]).env("KUBECONFIG", kubeconfig).output().unwrap();
        let (objects, log) = printed(&output);
        assert!(objects.contains(&format!("/{gateway} ")), "{cluster}: {objects}{log}");
    }
    child.signal("INT");
    assert_eq!(child.0.wait().unwrap().code(), Some(130));
    for (kubeconfig, _) in &kubeconfigs {
        assert!(!Path::new(kubeconfig).exists(), "{kubeconfig} is left");
    }
}
