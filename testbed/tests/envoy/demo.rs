//! The demo on one Envoy, as a person starts it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use mcwan_testbed::example::Example;
use mcwan_testbed::wait::until;

use crate::player::{Running, demo, printed};

const DEADLINE: Duration = Duration::from_secs(10);

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
    assert_eq!(log, "error: there is no example `no-such`; there are canary, payment, rewrite, routes, split\n");
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
