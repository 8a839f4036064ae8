//! The demo as a person starts it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use mcwan_testbed::example::{Case, Destination, End, Example, Upstream};
use mcwan_testbed::wait::until;

const DEADLINE: Duration = Duration::from_secs(10);

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcwan-testbed"));
    command.arg("demo");
    command
}

/// Nothing is wider than a terminal.
fn fits(text: &str) {
    let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

fn printed(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_example_is_as_expected() {
    let output = demo().arg("--all").output().unwrap();
    let (table, log) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{table}{log}");
    for name in Example::names().unwrap() {
        let cases = Example::load(&name).unwrap().cases.len();
        assert!(table.contains(&format!("\n{name}: {cases} of {cases} as expected\n")), "{table}");
    }
    assert!(!table.contains('\u{1b}'), "no colour in a file: {table}");
}

#[test]
fn an_example_is_played_on_two_clusters() {
    let output = demo().args(["--wan", "payment"]).output().unwrap();
    let (table, log) = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{table}{log}");
    let cases = Example::load("payment").unwrap().cases.len();
    assert!(table.contains(&format!("\npayment: {cases} of {cases} as expected\n")), "{table}");
    assert!(
        log.contains("  cluster-2  ServiceImport secure/payment     Accepted ✓  ResolvedRefs ✓  Programmed ✓\n"),
        "{log}"
    );
    every_request_is_told(&table);
    fits(&table);
    fits(&log);
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

#[test]
fn kept_it_gives_two_clusters_to_play_with() {
    let mut child = Running(demo().args(["--wan", "payment", "--keep"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let kubeconfigs: Vec<_> = lines
        .by_ref()
        .filter_map(|line| line.strip_prefix("  export KUBECONFIG=").map(str::to_owned))
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

#[test]
fn what_is_not_as_expected_fails() {
    let output = demo().args(["rewrite", "--steering", "cluster-header"]).output().unwrap();
    let (table, log) = printed(&output);
    assert_eq!(output.status.code(), Some(1), "{table}{log}");
    assert!(table.contains("✗ GET payment.secure:8080/clusterset"), "{table}");
    assert!(log.contains("error: ServiceImport secure/payment: spec.http.rules[4]"), "{log}");
}

#[test]
fn an_unknown_example_is_named_beside_the_known_ones() {
    let output = demo().arg("no-such").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (_, log) = printed(&output);
    assert_eq!(log, "error: there is no example `no-such`; there are canary, payment, rewrite, split\n");
}

/// A demo that keeps running; killed if a test fails.
struct Running(Child);

impl Running {
    fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One that has an Envoy.
struct Kept {
    child: Running,
    admin: SocketAddr,
    access_log: String,
}

impl Kept {
    /// Starts one and reads from what it says to try where everything is.
    fn start() -> Self {
        let mut child = Running(demo().args(["payment", "--keep"]).stdout(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        let stats = lines.find(|line| line.contains("/stats?")).unwrap();
        let (_, admin) = stats.split_once("http://").unwrap();
        let (admin, _) = admin.split_once('/').unwrap();
        let tail = lines.find(|line| line.contains("tail -f ")).unwrap();
        let (_, access_log) = tail.split_once("tail -f ").unwrap();
        Self { child, admin: admin.parse().unwrap(), access_log: access_log.to_owned() }
    }

    fn envoy_runs(&self) -> bool {
        TcpStream::connect(self.admin).is_ok()
    }
}

#[test]
fn stopped_it_leaves_nothing_behind() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let mut kept = Kept::start();
        assert!(kept.envoy_runs(), "before {signal}");
        assert!(Path::new(&kept.access_log).exists(), "before {signal}");
        kept.child.signal(signal);
        assert_eq!(kept.child.0.wait().unwrap().code(), Some(status), "after {signal}");
        assert!(!kept.envoy_runs(), "after {signal}");
        assert!(!Path::new(&kept.access_log).exists(), "after {signal}");
    }
}

#[tokio::test]
async fn killed_it_leaves_no_process_behind() {
    let mut kept = Kept::start();
    assert!(kept.envoy_runs());
    kept.child.signal("KILL");
    kept.child.0.wait().unwrap();
    until(DEADLINE, "Envoy has ended too", async || Ok(!kept.envoy_runs())).await.unwrap();
    // Files nobody could remove.
    fs::remove_dir_all(Path::new(&kept.access_log).parent().unwrap()).unwrap();
}
