//! Laws: what holds for every config and every request.

use std::cell::Cell;

use mcwan_policy::sla::{Level, Levels};
use mcwan_policy::wire::{Action, PluginConfig, Redirect};
use mcwan_policy::{Explanation, RouteTable, TierVerdict, Verdict};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::common::{self, Asked, TableOutcome, compile, generate, naive};

/// What the table decides, and how many draws it made.
fn decide(table: &RouteTable, request: &Asked, levels: &[Level], draw: u64) -> (TableOutcome, u32) {
    let draws = Cell::new(0);
    let Ok(decision) = table.decide(request, Levels::new(levels), || {
        draws.update(|draws| draws + 1);
        draw
    });
    (TableOutcome::of(&decision, request), draws.get())
}

/// What was asked of a request, beside its authority.
fn asked_for(request: &Asked) -> Vec<&'static str> {
    let counts = &request.counts;
    let parts = [
        ("path", &counts.path),
        ("method", &counts.method),
        ("headers", &counts.headers),
        ("scheme", &counts.scheme),
        ("port", &counts.port),
    ];
    parts.into_iter().filter(|(_, count)| count.get() > 0).map(|(part, _)| part).collect()
}

/// The parts that a decision may have asked for, given its outcome.
fn may_ask(config: &PluginConfig, request: &Asked, outcome: &TableOutcome) -> Vec<&'static str> {
    let Some(import) = naive::owner(config, request) else { return Vec::new() };
    let mut parts = vec!["path"];
    if request.path.as_ref().is_some_and(|path| path.starts_with(b"/")) && !is_broken(outcome) {
        let candidates = naive::alternatives_on_path(config, request);
        if candidates.iter().any(|candidate| candidate.method.is_some()) {
            parts.push("method");
        }
        if candidates.iter().any(|candidate| !candidate.headers.is_empty()) {
            parts.push("headers");
        }
        if import.rules.iter().any(|rule| !rule.ports.is_empty()) {
            parts.push("port");
        }
    }
    if let TableOutcome::Redirect { matched, .. } = outcome {
        let redirects = import.rules[matched.rule].actions.iter().filter_map(|action| match action {
            Action::Redirect(redirect) => Some(redirect),
            Action::Forward(_) | Action::Choose(_) | Action::Refuse(_) => None,
        });
        let redirects: Vec<&Redirect> = redirects.collect();
        if redirects.iter().any(|redirect| redirect.scheme.is_none()) {
            parts.push("scheme");
        }
        if redirects.iter().any(|redirect| redirect.scheme.is_none() && redirect.port.is_none()) {
            parts.push("port");
        }
    }
    parts
}

/// Whether a whole import was refused.
fn is_broken(outcome: &TableOutcome) -> bool {
    matches!(outcome, TableOutcome::Refuse { matched: None, status: 500, .. })
}

/// Asserts that an explanation has the tiers of the action that was drawn, and says of each source whether it takes requests.
fn check_tiers(
    config: &PluginConfig,
    request: &Asked,
    levels: &[Level],
    draw: u64,
    explanation: &Explanation<'_>,
) -> Result<(), TestCaseError> {
    let outcome = TableOutcome::of(&explanation.decision, request);
    let Some(Action::Choose(choose)) = naive::drawn(config, request, &outcome, draw) else {
        prop_assert!(explanation.tiers.is_empty(), "{}", request);
        return Ok(());
    };
    if matches!(&outcome, TableOutcome::Refuse { reason, .. } if reason == "InvalidFilter") {
        return Ok(());
    }
    let takes = naive::choice::takes(choose, levels).ok();
    prop_assert_eq!(explanation.tiers.len(), choose.candidates.len(), "{}", request);
    for (index, (tier, candidate)) in explanation.tiers.iter().zip(&choose.candidates).enumerate() {
        let taking = takes.as_ref().filter(|(taken, _)| *taken == index).map(|(_, sources)| sources);
        let told: Vec<_> = tier.sources.iter().map(|source| (source.weight, source.is_taken)).collect();
        let is_taken = |source| taking.is_some_and(|sources| sources.contains(source));
        let expected: Vec<_> = candidate.sources.iter().map(|source| (source.weight, is_taken(source))).collect();
        prop_assert_eq!(told, expected, "{}: tier {}", request, index);
        let is_taken = matches!(tier.verdict, TierVerdict::Taken(_));
        prop_assert_eq!(is_taken, taking.is_some(), "{}: tier {} {:?}", request, index, tier.verdict);
    }
    Ok(())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..40), "[/?#&=.:%a ]{0,20}".prop_map(String::into_bytes)]
}

/// A request of arbitrary bytes, parts of which may be missing.
fn arbitrary_request() -> impl Strategy<Value = Asked> {
    let headers = vec((bytes(), bytes()), 0..5);
    let part = || option::weighted(0.9, bytes());
    (part(), part(), part(), part(), option::of(any::<u16>()), headers).prop_map(
        |(method, scheme, authority, path, port, headers)| Asked {
            method,
            scheme,
            authority,
            port,
            path,
            headers,
            ..Asked::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        max_shrink_iters: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_indexed_table_decides_like_the_naive_scan((config, requests) in generate::config(), levels in generate::levels(), draw: u64) {
        let table = compile(&config);
        for request in requests {
            let (outcome, draws) = decide(&table, &request, &levels, draw);
            prop_assert_eq!(&outcome, &naive::decide(&config, &request, &levels, draw), "{}", request);
            prop_assert_eq!(draws, u32::from(naive::needs_a_draw(&config, &request, &outcome, &levels, draw)), "draws for {}", request);
        }
    }

    #[test]
    fn an_import_alone_decides_like_the_naive_scan(near in generate::import(), levels in generate::levels(), draw: u64) {
        let config = PluginConfig { paths: generate::paths(), ..common::mk_config(&[near.import]) };
        let table = compile(&config);
        for request in near.requests {
            let (outcome, _) = decide(&table, &request, &levels, draw);
            prop_assert_eq!(outcome, naive::decide(&config, &request, &levels, draw), "{}", request);
        }
    }

    #[test]
    fn an_explanation_decides_alike_and_says_of_every_match_whether_it_holds(
        (config, requests) in generate::config(),
        levels in generate::levels(),
        draw: u64,
    ) {
        let table = compile(&config);
        for request in requests {
            let (outcome, _) = decide(&table, &request, &levels, draw);
            let Ok(explanation) = table.explain(&request, Levels::new(&levels), || draw);
            prop_assert_eq!(&TableOutcome::of(&explanation.decision, &request), &outcome, "{}", request);
            let looked_at = match &outcome {
                TableOutcome::Pass => false,
                refused => !is_broken(refused),
            };
            let expected = if looked_at { naive::considered(&config, &request) } else { Vec::new() };
            let told = explanation.considered.iter().map(|considered| {
                (considered.matched, matches!(considered.verdict, Verdict::Taken | Verdict::Outranked))
            });
            prop_assert_eq!(told.collect::<Vec<_>>(), expected, "{}", request);
            let taken: Vec<_> =
                explanation.considered.iter().filter(|considered| considered.verdict == Verdict::Taken).collect();
            prop_assert_eq!(taken.first().map(|taken| taken.matched), outcome.matched(), "{}", request);
            prop_assert!(taken.len() <= 1, "{}", request);
            check_tiers(&config, &request, &levels, draw, &explanation)?;
        }
    }

    #[test]
    fn each_host_that_is_claimed_has_the_owner_that_the_naive_scan_finds((config, _) in generate::config()) {
        let table = compile(&config);
        for (index, import) in config.imports.iter().enumerate() {
            let mut expected: Vec<_> = naive::host::hosts_of(import)
                .into_iter()
                .map(|host| (naive::host::claimant(&config, &host), host))
                .collect();
            let mut told: Vec<_> = table.claims(index).into_iter().map(|claim| (claim.owner, claim.host)).collect();
            expected.sort();
            told.sort();
            prop_assert_eq!(told, expected);
        }
    }

    #[test]
    fn what_was_not_needed_was_not_asked((config, requests) in generate::config(), levels in generate::levels(), draw: u64) {
        let table = compile(&config);
        for request in requests {
            let (outcome, _) = decide(&table, &request, &levels, draw);
            let (asked, may) = (asked_for(&request), may_ask(&config, &request, &outcome));
            prop_assert!(asked.iter().all(|part| may.contains(part)), "{}: asked {:?}, may ask {:?}", request, asked, may);
        }
    }

    #[test]
    fn every_request_is_decided((config, near) in generate::config(), requests in vec(arbitrary_request(), 1..8), levels in generate::levels(), draw: u64) {
        let table = compile(&config);
        for arbitrary in requests {
            decide(&table, &arbitrary, &levels, draw);
            // One arbitrary part beside ordinary ones comes further than arbitrary parts alone.
            let ordinary = &near[0];
            let (path, method) = (arbitrary.path.clone(), arbitrary.method.clone());
            for request in [
                Asked { path, ..ordinary.clone() },
                Asked { method, ..ordinary.clone() },
                Asked { headers: arbitrary.headers.clone(), ..ordinary.clone() },
            ] {
                let (outcome, _) = decide(&table, &request, &levels, draw);
                prop_assert_eq!(outcome, naive::decide(&config, &request, &levels, draw), "{}", request);
            }
            decide(&table, &Asked { scheme: arbitrary.scheme, port: arbitrary.port, ..ordinary.clone() }, &levels, draw);
        }
    }

    #[test]
    fn the_wire_format_parses_what_it_prints((config, _) in generate::config()) {
        let json = serde_json::to_vec(&config).expect("a config prints");
        prop_assert_eq!(&serde_json::from_slice::<PluginConfig>(&json).expect("and parses"), &config);
        prop_assert!(RouteTable::from_json(&json).is_ok());
    }

    #[test]
    fn the_order_of_keys_and_doubles_change_no_decision((config, requests) in generate::config(), levels in generate::levels(), draw: u64) {
        let printed = serde_json::to_value(&config).expect("a config prints");
        let travelled = as_a_struct_travels(printed).to_string();
        let (direct, travelled) = (compile(&config), RouteTable::from_json(travelled.as_bytes()).expect("it is sound"));
        for request in requests {
            prop_assert_eq!(decide(&direct, &request, &levels, draw), decide(&travelled, &request, &levels, draw), "{}", request);
        }
    }

    #[test]
    fn every_config_is_read_or_refused(bytes in bytes(), (config, near) in generate::config(), at: prop::sample::Index) {
        let _ = RouteTable::from_json(&bytes);
        let mut json = serde_json::to_vec(&config).expect("a config prints");
        let place = at.index(json.len());
        json.splice(place..=place, bytes);
        if let Ok(table) = RouteTable::from_json(&json) {
            decide(&table, &near[0], &[], 0);
        }
    }
}

/// Numbers become doubles; keys are sorted.
fn as_a_struct_travels(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(as_a_struct_travels).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, as_a_struct_travels(field))).collect(),
        other => other,
    }
}
