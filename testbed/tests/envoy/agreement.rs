//! `explain`, the release module on wasmtime, and a real Envoy in every mode decide alike.
//!
//! The cases are drawn from a seed, which the environment variable `MCWAN_SEED` changes.

mod ends;
mod filters;
mod imports;
mod json;
mod proportions;
mod real_envoy;
mod report;
mod requests;
mod rules;
mod seed;
mod surroundings;
mod wasmtime;
mod words;
mod world;

use mcwan_core::explain::{self, OutcomeKind};
use mcwan_testbed::example::Example;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::setup::Setup;

use report::Report;
use wasmtime::{Deed, Filter};
use world::{WORLD, possible};

/// How many cases every mode is asked that can say everything.
const ALL: usize = 1_000;

#[test]
fn the_module_on_wasmtime_agrees() {
    let mut report = Report::new(&WORLD, "wasmtime".to_owned());
    let mut filter = Filter::load(&WORLD.setup, WORLD.seed);
    for case in &WORLD.cases {
        let possible = case.possible.iter();
        let expected: Vec<_> = possible.map(|outcome| Deed::explained(outcome, &case.request, &WORLD.setup)).collect();
        report.compare(case, &expected, &filter.play(&case.request));
    }
    report.finish();
    assert!(WORLD.cases.len() >= ALL);
}

#[tokio::test]
async fn envoy_with_a_route_per_target_agrees() {
    assert!(real_envoy::agree(&WORLD, Mode::RouteHeader).await >= ALL);
}

#[tokio::test]
async fn envoy_with_one_route_for_all_targets_agrees() {
    assert!(real_envoy::agree(&WORLD, Mode::ClusterHeader).await >= 500);
}

#[tokio::test]
async fn envoy_with_its_own_routes_agrees() {
    assert!(real_envoy::agree(&WORLD, Mode::Native).await >= 500);
}

#[tokio::test]
async fn weights_are_proportions_with_the_filter() {
    proportions::hold(Mode::RouteHeader).await;
}

#[tokio::test]
async fn weights_are_proportions_with_envoys_own_routes() {
    proportions::hold(Mode::Native).await;
}

#[test]
fn the_module_on_wasmtime_agrees_on_the_examples() {
    for name in Example::names().unwrap() {
        let example = Example::load(&name).unwrap();
        let setup = Setup::of_example(&example, Mode::RouteHeader).unwrap();
        let mut filter = Filter::load(&setup, 0);
        for case in &example.cases {
            let possible = possible(&setup, &case.request);
            let expected: Vec<_> =
                possible.iter().map(|outcome| Deed::explained(outcome, &case.request, &setup)).collect();
            let seen = filter.play(&case.request);
            assert!(expected.contains(&seen), "{name}: {}: {seen:#?} is none of {expected:#?}", case.name);
        }
    }
}
#[test]
fn the_cases_are_of_every_kind() {
    let count = |is: fn(&explain::Outcome) -> bool| WORLD.cases.iter().filter(|case| is(&case.possible[0])).count();
    let table = [
        ("passed", 20, count(|outcome| outcome.kind == OutcomeKind::Pass)),
        ("routed", 400, count(|outcome| outcome.kind == OutcomeKind::Route)),
        ("redirected", 50, count(|outcome| outcome.kind == OutcomeKind::Reply && outcome.reason.is_none())),
        ("not matched", 50, count(|outcome| outcome.reason == Some("NoRuleMatched"))),
        ("refused", 50, count(|outcome| outcome.reason.is_some_and(|reason| reason != "NoRuleMatched"))),
        ("left to chance", 100, WORLD.cases.iter().filter(|case| case.possible.len() > 1).count()),
    ];
    for (kind, least, count) in table {
        assert!(count >= least, "{kind}: only {count} with MCWAN_SEED={}", WORLD.seed);
    }
}
