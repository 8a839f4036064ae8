//! The module's own statistics.

use std::time::Duration;

use mcwan_wasm_tests::{Fault, Host, HostCall, Metric, Metrics, Request, Status, Update};
use serde_json::json;

use super::config::{config, host, import, payment, prefix, rule, to, to_https};
use super::outcome::{get, outcome};

/// The counters that are not zero.
fn counters(metrics: &Metrics) -> Vec<(&str, u64)> {
    let values = metrics.iter().filter_map(|(name, metric)| match metric {
        Metric::Counter(value) => Some((name, *value)),
        Metric::Gauge(_) => None,
        Metric::Histogram(_) => panic!("{name} is a histogram"),
    });
    values.filter(|(_, value)| *value > 0).collect()
}

fn tick(host: &mut Host) {
    host.tick().unwrap_or_else(|failure| panic!("{failure:?}"));
}

#[test]
fn decisions_and_targets_are_counted_and_reported_on_the_tick() {
    let rules = [
        rule([prefix("/payment")], [to(0)]),
        rule([prefix("/stats")], [to(1)]),
        rule([prefix("/r")], [to_https()]),
        rule([prefix("/none")], []),
    ];
    let mut host = host([import("payment", rules)]);
    for (authority, path, times) in [
        ("payment", "/payment", 3),
        ("payment", "/stats", 2),
        ("payment", "/r", 4),
        ("payment", "/none", 5),
        ("payment", "/else", 6),
        ("payment", "*", 7),
        ("elsewhere", "/", 8),
    ] {
        for _ in 0..times {
            get(&mut host, authority, path);
        }
    }
    assert_eq!(counters(host.metrics()), []);
    tick(&mut host);
    assert_eq!(host.tick_period(), Some(Duration::from_secs(5)));
    let expected = [
        ("mcwan.decision.pass", 8),
        ("mcwan.decision.redirect", 4),
        ("mcwan.decision.refuse.BadRequest", 7),
        ("mcwan.decision.refuse.NoBackend", 5),
        ("mcwan.decision.refuse.NoRuleMatched", 6),
        ("mcwan.decision.route", 5),
        ("mcwan.target.sd-wan-priority-high", 3),
        ("mcwan.target.sd-wan-priority-low", 2),
    ];
    for _ in 0..2 {
        tick(&mut host);
        assert_eq!(counters(host.metrics()), expected);
    }
}

#[test]
fn nothing_is_reported_twice_and_nothing_is_lost() {
    let mut host = host([payment()]);
    get(&mut host, "payment", "/payment");
    host.inject(Fault::always(HostCall::DefineMetric, Status::InternalFailure));
    tick(&mut host);
    host.clear_faults();
    host.inject(Fault::always(HostCall::IncrementMetric, Status::InternalFailure));
    tick(&mut host);
    host.clear_faults();
    assert_eq!(host.metrics().counter("mcwan.decision.route"), 0);
    get(&mut host, "payment", "/payment");
    tick(&mut host);
    tick(&mut host);
    assert_eq!(host.metrics().counter("mcwan.decision.route"), 2);
}

#[test]
fn a_new_configuration_goes_on_counting() {
    let mut host = host([payment()]);
    get(&mut host, "payment", "/payment");
    assert!(matches!(host.update(config([payment()]).to_string()), Ok(Update::Accepted(_))));
    get(&mut host, "payment", "/payment");
    tick(&mut host);
    assert_eq!(host.metrics().counter("mcwan.decision.route"), 2);
}

#[test]
fn a_request_that_could_not_be_steered_is_counted_as_refused_only() {
    let mut host = host([payment()]);
    host.inject(Fault::always(HostCall::ReplaceHeaderMapValue, Status::InternalFailure));
    get(&mut host, "payment", "/payment");
    tick(&mut host);
    assert_eq!(counters(host.metrics()), [("mcwan.decision.refuse.Internal", 1)]);
}

#[test]
fn the_number_of_counters_is_bounded() {
    let mut host = host([]);
    // More targets than one configuration could bring before the bound of the counters was known.
    for round in 0..3 {
        let targets: Vec<_> = (0..600).map(|n| json!({"name": format!("t{round}-{n}"), "digest": "d"})).collect();
        let rules: Vec<_> = (0..600).map(|n| rule([prefix(&format!("/{n}"))], [to(n)])).collect();
        let mut import = import("payment", rules);
        import["targets"] = json!(targets);
        assert!(matches!(host.update(config([import]).to_string()), Ok(Update::Accepted(_))));
        for n in 0..600 {
            outcome(&mut host, &Request::get("payment", format!("/{n}")));
        }
        tick(&mut host);
    }
    assert!(host.metrics().iter().count() < 1_100, "{}", host.metrics().iter().count());
    let counted = counters(host.metrics());
    let targets = counted.iter().filter(|(name, _)| name.starts_with("mcwan.target."));
    assert_eq!(targets.map(|(_, value)| value).sum::<u64>(), 1_800);
    assert!(host.metrics().counter("mcwan.target.other") > 0);
}
