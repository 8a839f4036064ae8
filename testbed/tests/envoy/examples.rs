//! Every example, in every mode that can say it.

use mcwan_core::api::ServiceImport;
use mcwan_core::problem::Reason;
use mcwan_testbed::envoy::Envoy;
use mcwan_testbed::example::{End, Example, Expected, ExpectedAnswer};
use mcwan_testbed::mode::Mode;
use mcwan_testbed::setup::Setup;

/// Plays an example; what is refused by name must be answered by that name, everything else as the
/// example says.
async fn assert_plays(name: &str, mode: Mode, refused_rules: &[usize]) {
    let example = Example::load(name).unwrap();
    let setup = Setup::of_example(&example, mode).unwrap();
    let problems: Vec<_> = setup.problems.iter().map(|problem| (problem.reason, problem.field.clone())).collect();
    let fields = refused_rules.iter().map(|rule| ServiceImport::FIELDS.rule(*rule).field("backendRefs").index(0));
    let expected: Vec<_> = fields.map(|field| (Reason::UnsupportedFilter, field)).collect();
    assert_eq!(problems, expected, "{name} ({mode}): what cannot be said");
    Envoy::validate(&setup.config).unwrap();
    let testbed = setup.start().await.unwrap();
    for mut case in example.cases {
        if let Some(rule) = case.expected.rule.filter(|rule| refused_rules.contains(rule)) {
            case.expected = refusal(rule);
        }
        let performance = testbed.perform(&case).await.unwrap();
        assert!(performance.faults.is_empty(), "{name} ({mode}): {}: {:?}", case.name, performance.faults);
    }
}

fn refusal(rule: usize) -> Expected {
    let end = End::Answer(ExpectedAnswer { status: 500, reason: Some("UnsupportedFilter".to_owned()), location: None });
    Expected { rule: Some(rule), response_headers: Vec::new(), end }
}

async fn assert_all_play(mode: Mode) {
    for name in Example::names().unwrap() {
        assert_plays(&name, mode, &[]).await;
    }
}

#[tokio::test]
async fn all_play_with_the_filter_and_a_route_per_target() {
    assert_all_play(Mode::RouteHeader).await;
}

#[tokio::test]
async fn all_play_with_envoys_own_routes() {
    assert_all_play(Mode::Native).await;
}

#[tokio::test]
async fn what_needs_a_route_of_its_own_is_refused_where_there_is_one_route() {
    for name in Example::names().unwrap() {
        // Header modifiers, a hostname, a timeout.
        let refused_rules: &[usize] = if name == "rewrite" { &[3, 4, 7] } else { &[] };
        assert_plays(&name, Mode::ClusterHeader, refused_rules).await;
    }
}
