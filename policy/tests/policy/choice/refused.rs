//! Choices and paths that cannot be.

use mcwan_policy::wire::{Action, Choose, Import, PluginConfig, Source, TargetConfig, WanPath};
use mcwan_policy::{RouteTable, check as check_import, limits};

use super::{HIGH_A, HIGH_OWN, LOW_A, ask, mk_choose, mk_choosing};
use crate::common::{ActionBuilder, compile, full, mk_import, mk_path, mk_rule, to};

/// An error with its cause, as the filter logs it.
fn error(config: &PluginConfig) -> String {
    let json = serde_json::to_vec(config).expect("a config prints");
    let error = RouteTable::from_json(&json).expect_err("it is refused");
    match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn many<'s>(sources: impl Iterator<Item = &'s Source>) -> Vec<Vec<Source>> {
    sources.map(|source| vec![*source]).collect()
}

fn choose_of(candidates: &[Vec<Source>]) -> Choose {
    mk_choose(&candidates.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn a_choice_that_cannot_be_answers_for_its_share_and_says_why() {
    let remote = |path: u32| Source { target: path, weight: 1, path: Some(path) };
    let sources: Vec<Source> = (0..17).map(remote).collect();
    let unknown = Source { target: 99, ..LOW_A };
    let rows: [(&str, Choose, &str, &str); 9] = [
        ("nothing", mk_choose(&[]), "500 InvalidFilter", "it has no candidates"),
        ("an empty tier", mk_choose(&[&[HIGH_A], &[]]), "500 InvalidFilter", "candidate 1 has no sources"),
        ("ten tiers", choose_of(&many(sources.iter().take(10))), "500 TooLarge", "10 candidates, over the bound of 9"),
        (
            "seventeen sources",
            mk_choose(&[&sources]),
            "500 TooLarge",
            "17 sources of a candidate, over the bound of 16",
        ),
        ("no such target", mk_choose(&[&[HIGH_A], &[unknown]]), "500 BackendNotFound", "the import has no target 99"),
        (
            "a path of two tiers",
            mk_choose(&[&[HIGH_A], &[Source { path: Some(0), ..LOW_A }]]),
            "500 InvalidFilter",
            "candidate 1 has path 0, which the choice has already",
        ),
        (
            "a path twice",
            mk_choose(&[&[HIGH_A, Source { path: Some(0), ..LOW_A }]]),
            "500 InvalidFilter",
            "candidate 0 has path 0, which the choice has already",
        ),
        (
            "this cluster twice",
            mk_choose(&[&[HIGH_OWN, Source { path: None, ..LOW_A }]]),
            "500 InvalidFilter",
            "candidate 0 has two sources without a path",
        ),
        (
            "a target twice",
            mk_choose(&[&[HIGH_A, Source { target: 0, ..LOW_A }]]),
            "500 InvalidFilter",
            "candidate 0 has target 0 twice",
        ),
    ];
    for (message, choose, answer, why) in rows {
        let mut config = mk_choosing(&[to(5), Action::Choose(choose)]);
        add_paths_and_targets(&mut config);
        let table = compile(&config);
        assert_eq!(ask(&table, &[], 0), "bulk-a", "{message}: the sound backend");
        assert_eq!(ask(&table, &[], u64::MAX), answer, "{message}");
        let errors: Vec<_> = check_import(&config.imports[0]).iter().map(ToString::to_string).collect();
        assert_eq!(errors, [format!("rule 0, backend 1: {why}")], "{message}");
    }
}

/// Twenty of each: only what a row is about is missing.
fn add_paths_and_targets(config: &mut PluginConfig) {
    config.paths = (0..20).map(|path| mk_path("high", &format!("c{path}"))).collect();
    let more = (6..20).map(|index| TargetConfig { name: format!("t{index}"), digest: "0123".to_owned() });
    config.imports[0].targets.extend(more);
}

#[test]
fn nine_tiers_of_sixteen_clusters_are_a_choice() {
    let mut paths = 0..;
    let candidates: Vec<Vec<Source>> =
        (0..9).map(|_| (0..16).map(|target| Source { target, weight: 1, path: paths.next() }).collect()).collect();
    let mut config = mk_choosing(&[Action::Choose(choose_of(&candidates))]);
    add_paths_and_targets(&mut config);
    config.paths = (0..144).map(|path| mk_path("high", &format!("c{path}"))).collect();
    let table = compile(&config);
    assert_eq!(ask(&table, &[], 0), "high-a");
    assert_eq!(ask(&table, &[], u64::MAX), "t15");
}

#[test]
fn a_rewrite_that_cannot_be_refuses_a_choice() {
    let choose = Action::Choose(mk_choose(&[&[HIGH_A]])).rewriting(full("no path"));
    assert_eq!(ask(&compile(&mk_choosing(&[choose])), &[], 0), "500 InvalidFilter");
}

#[test]
fn a_path_that_the_config_does_not_have_is_named_with_rule_and_import() {
    let choose = |path| Action::Choose(mk_choose(&[&[HIGH_A], &[Source { path: Some(path), ..LOW_A }]]));
    assert_eq!(ask(&compile(&mk_choosing(&[choose(4)])), &[], 0), "high-a", "the last that there is");
    for (message, path) in [("the next", 5), ("beyond a byte", 256), ("the last of all", u32::MAX)] {
        let mut config = mk_choosing(&[to(0)]);
        let rules = [mk_rule(&[], &[to(0)]), mk_rule(&[], &[to(1), choose(path)])];
        let stats = Import { targets: config.imports[0].targets.clone(), ..mk_import("secure/stats", &rules) };
        config.imports.push(stats);
        let expected = format!("import secure/stats: rule 1, backend 1: the config has no path {path}");
        assert!(error(&config).contains(&expected), "{message}: {}", error(&config));
    }
    let without = PluginConfig {
        paths: Vec::new(),
        ..mk_choosing(&[choose(0)].map(|_| Action::Choose(mk_choose(&[&[HIGH_A]]))))
    };
    assert!(error(&without).contains("the config has no path 0"), "no paths at all");
}

#[test]
fn two_hundred_and_fifty_six_paths_a_config() {
    let with = |count: usize| {
        let paths = (0..count).map(|path| mk_path("high", &format!("c{path}"))).collect();
        PluginConfig { paths, ..mk_choosing(&[Action::Choose(mk_choose(&[&[HIGH_A]]))]) }
    };
    let last = Source { path: Some(255), ..HIGH_A };
    let at_the_bound = PluginConfig {
        imports: mk_choosing(&[Action::Choose(mk_choose(&[&[last], &[LOW_A]]))]).imports,
        ..with(limits::PATHS)
    };
    let mut levels = [mcwan_policy::sla::Level::In; 256];
    let table = compile(&at_the_bound);
    assert_eq!(ask(&table, &levels, 0), "high-a", "at the bound");
    levels[255] = mcwan_policy::sla::Level::Out;
    assert_eq!(ask(&table, &levels, 0), "low-a", "at the bound: the last path");
    assert_eq!(error(&with(257)), "the config has 257 paths, over the bound of 256");
}

#[test]
fn a_path_that_cannot_be_refuses_the_config() {
    let sound = || mk_path("high", "a");
    let long = "x".repeat(254);
    let rows: [(&str, WanPath, &str); 9] = [
        ("no tier", WanPath { tier: String::new(), ..sound() }, "the tier has 0 bytes: want 1 to 253"),
        ("a long tier", WanPath { tier: long.clone(), ..sound() }, "the tier has 254 bytes: want 1 to 253"),
        ("a long cluster", WanPath { cluster: long, ..sound() }, "the cluster has 254 bytes: want 1 to 253"),
        (
            "no Envoy cluster",
            WanPath { envoy_cluster: String::new(), ..sound() },
            "the Envoy cluster has 0 bytes: want 1 to 512",
        ),
        ("no namespace", WanPath { namespace: "a.b".to_owned(), ..sound() }, "namespace \"a.b\" is no DNS label"),
        ("a short interval", WanPath { interval_ms: 199, ..sound() }, "an interval of 199 ms: want 200 to 10000"),
        ("a long interval", WanPath { interval_ms: 10_001, ..sound() }, "an interval of 10001 ms: want 200 to 10000"),
        (
            "more than all",
            WanPath { loss_ppm: Some(1_000_001), ..sound() },
            "a loss of 1000001 parts per million is more than all",
        ),
        (
            "one that is there",
            WanPath { interval_ms: 200, ..mk_path("low", "b") },
            "it has tier, cluster and namespace of path 0",
        ),
    ];
    for (message, path, why) in rows {
        let config = PluginConfig { paths: vec![mk_path("low", "b"), path], ..mk_choosing(&[to(0)]) };
        assert_eq!(error(&config), format!("path 1 of the config cannot be: {why}"), "{message}");
    }
}
