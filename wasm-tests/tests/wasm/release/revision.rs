//! How the proxy's statistics tell which configuration is in force.

use std::time::Duration;

use mcwan_policy::limits;
use mcwan_wasm_tests::{Fault, Host, HostCall, Status, Update};
use serde_json::{Value, json};

use super::config::{config, load, payment, with};

const GAUGE: &str = "mcwan.config.revision";
const REJECTED: &str = "mcwan.config.rejected";

fn revision(revision: u64) -> Value {
    with(config([payment()]), "revision", json!(revision))
}

fn tick(host: &mut Host) {
    host.tick().unwrap_or_else(|failure| panic!("{failure:?}"));
}

#[track_caller]
fn accept(host: &mut Host, config: &Value) {
    assert!(matches!(host.update(config.to_string()), Ok(Update::Accepted(_))), "{config}");
}

#[test]
fn the_gauge_says_the_revision_in_force_soon() {
    let mut host = load(&revision(limits::REVISIONS - 1));
    assert_eq!(host.tick_period(), Some(Duration::from_millis(100)));
    tick(&mut host);
    assert_eq!(host.metrics().gauge(GAUGE), Some(limits::REVISIONS - 1));
    accept(&mut host, &revision(7));
    tick(&mut host);
    assert_eq!(host.metrics().gauge(GAUGE), Some(7));
    assert_eq!(host.metrics().counter(REJECTED), 0);
}

#[test]
fn a_config_without_revision_is_revision_0() {
    let mut host = load(&revision(7));
    tick(&mut host);
    accept(&mut host, &config([payment()]));
    tick(&mut host);
    assert_eq!(host.metrics().gauge(GAUGE), Some(0));
}

#[test]
fn the_canary_publishes_nothing() {
    let mut host = load(&revision(7));
    assert_eq!(host.metrics().gauge(GAUGE), None, "loaded, but not ticked");
    tick(&mut host);
    accept(&mut host, &revision(8));
    assert_eq!(host.metrics().gauge(GAUGE), Some(7), "updated, but not ticked");
}

#[test]
fn a_rejected_config_leaves_the_gauge_and_is_counted() {
    let mut host = load(&revision(7));
    tick(&mut host);
    let rejected = [with(revision(8), "version", json!(2)), revision(limits::REVISIONS), json!(null)];
    for (number, bad) in (1..).zip(rejected) {
        assert!(matches!(host.update(bad.to_string()), Ok(Update::Rejected(_))), "{bad}");
        tick(&mut host);
        assert_eq!(host.metrics().gauge(GAUGE), Some(7), "{bad}");
        assert_eq!(host.metrics().counter(REJECTED), number, "{bad}");
    }
}

#[test]
fn what_the_proxy_does_not_take_is_said_again_on_the_next_tick() {
    for call in [HostCall::DefineMetric, HostCall::RecordMetric, HostCall::SetTickPeriodMilliseconds] {
        let mut host = load(&revision(7));
        host.inject(Fault::always(call, Status::InternalFailure));
        tick(&mut host);
        host.clear_faults();
        tick(&mut host);
        assert_eq!(host.metrics().gauge(GAUGE), Some(7), "{call:?}");
        assert_eq!(host.tick_period(), Some(Duration::from_secs(5)), "{call:?}");
    }
}

#[test]
fn no_timer_is_left_of_configurations_before() {
    let mut host = load(&revision(7));
    for number in 8..12 {
        tick(&mut host);
        assert!(matches!(host.update(revision(number).to_string()), Ok(Update::Accepted(_))));
    }
    assert_eq!(host.stray_timers(), 0);
}

#[test]
fn it_costs_nothing_once_it_is_said() {
    let mut host = load(&revision(7));
    tick(&mut host);
    let trace = host.tick().unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(trace.host_calls, [], "a tick after the first");
}
