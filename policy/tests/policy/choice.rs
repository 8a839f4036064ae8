//! The choice of a tier by measured quality.

mod laws;
mod refused;
mod told;
mod wire;

use mcwan_policy::RouteTable;
use mcwan_policy::sla::Level::{self, Down, In, Out};
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{Action, Candidate, Choose, PluginConfig, RefuseReason, Source, TargetConfig, WhenNoneInSla};

use crate::common::{
    self, ActionBuilder, TableOutcome, compile, get, mk_config, mk_import, mk_path, mk_rule, refuse, to,
};

/// Targets and paths by their names: tier and cluster. The cluster that asks is `c`, which has no path.
const HIGH_A: Source = Source { target: 0, weight: 1, path: Some(0) };
const HIGH_B: Source = Source { target: 1, weight: 3, path: Some(1) };
const HIGH_OWN: Source = Source { target: 2, weight: 4, path: None };
const LOW_A: Source = Source { target: 3, weight: 1, path: Some(2) };
const LOW_B: Source = Source { target: 4, weight: 3, path: Some(3) };
const BULK_A: Source = Source { target: 5, weight: 1, path: Some(4) };

/// The first candidate, and the fallbacks in order; to be taken all the same where none is In.
fn mk_choose(candidates: &[&[Source]]) -> Choose {
    let candidates = candidates.iter().map(|sources| Candidate { sources: sources.to_vec() }).collect();
    Choose { weight: 1, path: None, candidates, when_none_in_sla: WhenNoneInSla::Preferred }
}

fn or_refuse(choose: Choose) -> Choose {
    Choose { when_none_in_sla: WhenNoneInSla::Refuse, ..choose }
}

/// A config whose only rule does this to every request.
fn mk_choosing(actions: &[Action]) -> PluginConfig {
    let names = ["high-a", "high-b", "high-own", "low-a", "low-b", "bulk-a"];
    let mut import = mk_import("secure/payment", &[mk_rule(&[], actions)]);
    import.targets = names.map(|name| TargetConfig { name: name.to_owned(), digest: "0123".to_owned() }).into();
    let paths = [("high", "a"), ("high", "b"), ("low", "a"), ("low", "b"), ("bulk", "a")];
    let paths = paths.map(|(tier, cluster)| mk_path(tier, cluster)).into();
    PluginConfig { paths, ..mk_config(&[import]) }
}

/// What a draw does to a request while paths are on these levels.
fn ask(table: &RouteTable, levels: &[Level], draw: u64) -> String {
    let request = get("payment.secure", "/");
    let Ok(decision) = table.decide(&request, Levels::new(levels), || draw);
    TableOutcome::of(&decision, &request).to_string()
}

/// Message, levels of the paths (high to a and b, low to a and b, bulk to a), draw, outcome.
type Row<'r> = (&'r str, &'r [Level], u64, &'r str);

#[track_caller]
fn check(actions: &[Action], rows: &[Row<'_>]) {
    let table = compile(&mk_choosing(actions));
    for (message, levels, draw, expected) in rows {
        assert_eq!(ask(&table, levels, *draw), *expected, "{message}: {levels:?}, {draw}");
    }
}

const QUARTER: u64 = 1 << 62;
const HALF: u64 = 1 << 63;

#[test]
fn the_first_tier_with_a_path_in_is_taken() {
    let tiers = mk_choose(&[&[HIGH_A, HIGH_B], &[LOW_A, LOW_B], &[BULK_A]]);
    let rows: &[Row<'_>] = &[
        ("nothing is known", &[], 0, "high-a"),
        ("all are In", &[In; 5], 0, "high-a"),
        ("one of its paths is In", &[Out, In, In, In, In], 0, "high-b"),
        ("the other of its paths is In", &[In, Down, In, In, In], u64::MAX, "high-a"),
        ("it is Out", &[Out, Out, In, In, In], 0, "low-a"),
        ("it is Down", &[Down, Down, In, In, In], 0, "low-a"),
        ("it is Out and Down", &[Out, Down, In, In, In], 0, "low-a"),
        ("of the fallback one path is In", &[Out, Down, Out, In, In], 0, "low-b"),
        ("the fallback is Out, too", &[Out, Out, Out, Out, In], 0, "bulk-a"),
        ("what is behind it does not matter", &[In, In, Down, Down, Down], 0, "high-a"),
        ("nothing is known of the last", &[Out, Out, Out, Out], 0, "bulk-a"),
    ];
    check(&[Action::Choose(tiers.clone())], rows);
    check(&[Action::Choose(or_refuse(tiers))], rows);
}

#[test]
fn the_clusters_that_are_in_share_by_ready_pods() {
    check(
        &[Action::Choose(mk_choose(&[&[HIGH_A, HIGH_B, HIGH_OWN], &[LOW_A]]))],
        &[
            ("a has one pod of eight", &[], HALF / 4 - 1, "high-a"),
            ("b has three", &[], HALF / 4, "high-b"),
            ("b has three", &[], HALF - 1, "high-b"),
            ("this cluster has four", &[], HALF, "high-own"),
            ("this cluster has four", &[], u64::MAX, "high-own"),
            ("b is Out: a has one of five", &[In, Out], u64::MAX / 5, "high-a"),
            ("b is Out: this cluster has four of five", &[In, Out], u64::MAX / 5 + 1, "high-own"),
            ("this cluster is always In", &[Down, Down], 0, "high-own"),
        ],
    );
}

#[test]
fn while_none_is_in_the_first_that_is_not_down_is_taken() {
    check(
        &[Action::Choose(mk_choose(&[&[HIGH_A, HIGH_B], &[LOW_A, LOW_B], &[BULK_A]]))],
        &[
            ("the own tier", &[Out, Out, Out, Out, Out], 0, "high-a"),
            ("by ready pods", &[Out, Out, Out, Out, Out], QUARTER, "high-b"),
            ("the cluster of it that is not Down", &[Down, Out, Out, Out, Out], 0, "high-b"),
            ("the fallback", &[Down, Down, Out, Out, Out], 0, "low-a"),
            ("the cluster of that that is not Down", &[Down, Down, Out, Down, Out], u64::MAX, "low-a"),
            ("the last", &[Down, Down, Down, Down, Out], 0, "bulk-a"),
            ("all are Down: the own tier", &[Down; 5], 0, "high-a"),
            ("all are Down: the own tier, by ready pods", &[Down; 5], QUARTER, "high-b"),
        ],
    );
}

#[test]
fn while_none_is_in_a_rule_may_refuse() {
    check(
        &[Action::Choose(or_refuse(mk_choose(&[&[HIGH_A], &[LOW_A, LOW_B]])))],
        &[
            ("all are Out", &[Out; 5], 0, "503 NoTierInSla"),
            ("all are Down", &[Down; 5], 0, "503 NoTierInSla"),
            ("one is In", &[Down, Down, Out, In], 0, "low-b"),
        ],
    );
}

#[test]
fn a_cluster_without_ready_pods_takes_nothing() {
    let idle = |source: Source| Source { weight: 0, ..source };
    check(
        &[Action::Choose(mk_choose(&[&[HIGH_A, idle(HIGH_B)], &[LOW_A, LOW_B]]))],
        &[
            ("the other has all", &[], u64::MAX, "high-a"),
            ("that its path is In helps nobody", &[Out, In], 0, "low-a"),
            ("nor that it alone is not Down", &[Down, Out, Out, Out], 0, "low-a"),
        ],
    );
    let tiers = mk_choose(&[&[idle(HIGH_A)], &[LOW_A]]);
    check(
        &[Action::Choose(tiers)],
        &[("a tier without any", &[], 0, "low-a"), ("whatever the levels", &[In, In, Down], 0, "low-a")],
    );
    let nobody = mk_choose(&[&[idle(HIGH_A)], &[idle(LOW_A)]]);
    check(&[Action::Choose(nobody.clone())], &[("no pods at all", &[], 0, "500 NoBackend")]);
    check(&[Action::Choose(or_refuse(nobody))], &[("no pods at all", &[Out; 5], 0, "500 NoBackend")]);
}

#[test]
fn weights_draw_a_backend_first() {
    let high = Action::Choose(mk_choose(&[&[HIGH_A], &[LOW_A]])).weighing(3);
    check(
        &[high, to(5), refuse(RefuseReason::TierNotPermitted).weighing(4)],
        &[
            ("the tier", &[], 3 * (HALF / 4) - 1, "high-a"),
            ("its fallback", &[Out], 3 * (HALF / 4) - 1, "low-a"),
            ("a backend without fallbacks never moves", &[Out, In, In, In, Down], 3 * (HALF / 4), "bulk-a"),
            ("no fallbacks for what is not permitted", &[Out, In, In, In, Down], HALF, "500 TierNotPermitted"),
        ],
    );
}

#[test]
fn one_number_serves_both_choices() {
    // The first half of the draws is the choice's: its clusters share that half as they would share all draws.
    let actions = [Action::Choose(mk_choose(&[&[HIGH_A, HIGH_B]])).weighing(2), to(5).weighing(2)];
    check(
        &actions,
        &[
            ("the start", &[], 0, "high-a"),
            ("the end of a", &[], HALF / 4 - 1, "high-a"),
            ("the start of b", &[], HALF / 4, "high-b"),
            ("the end of b", &[], HALF - 1, "high-b"),
            ("the other backend", &[], HALF, "bulk-a"),
        ],
    );
    let last = [to(5).weighing(u32::MAX), Action::Choose(mk_choose(&[&[HIGH_A, HIGH_B]])).weighing(1)];
    let start = u64::MAX - u64::from(u32::MAX);
    check(
        &last,
        &[
            ("before a small share", &[], start - 1, "bulk-a"),
            ("the start of a small share", &[], start, "high-a"),
            ("its end", &[], u64::MAX, "high-b"),
        ],
    );
}

#[test]
fn backends_share_as_without_a_choice() {
    let plain =
        |weights: [u32; 3]| [to(0).weighing(weights[0]), to(3).weighing(weights[1]), to(5).weighing(weights[2])];
    let choosing = |weights: [u32; 3]| {
        [HIGH_A, LOW_A, BULK_A]
            .iter()
            .zip(weights)
            .map(|(own, weight)| Action::Choose(mk_choose(&[&[*own]])).weighing(weight))
            .collect::<Vec<_>>()
    };
    for weights in [[1, 1, 1], [90, 9, 1], [0, 1, u32::MAX], [u32::MAX, u32::MAX, u32::MAX]] {
        let (plain, choosing) = (compile(&mk_choosing(&plain(weights))), compile(&mk_choosing(&choosing(weights))));
        for draw in (0..1_000).map(|index| index * (u64::MAX / 999)) {
            assert_eq!(ask(&plain, &[], draw), ask(&choosing, &[], draw), "{weights:?}: {draw}");
        }
    }
}

#[test]
fn a_fallback_has_the_path_of_the_backend() {
    let choose = Action::Choose(mk_choose(&[&[HIGH_A], &[LOW_A]])).rewriting(common::full("/x"));
    check(&[choose], &[("the own tier", &[], 0, "high-a /x"), ("the fallback", &[Out], 0, "low-a /x")]);
}

#[test]
fn a_draw_is_made_once_and_only_where_several_share() {
    let one = Action::Choose(mk_choose(&[&[HIGH_A], &[LOW_A, LOW_B]]));
    let rows: [(&str, &[Action], &[Level], u32); 5] = [
        ("a tier of one cluster", std::slice::from_ref(&one), &[], 0),
        ("a fallback of two", std::slice::from_ref(&one), &[Out], 1),
        ("a fallback of two, one of which is In", std::slice::from_ref(&one), &[Out, In, Down], 0),
        ("two backends", &[one.clone(), to(5)], &[], 1),
        ("two backends, and a fallback of two", &[one.clone(), to(5)], &[Out], 1),
    ];
    for (message, actions, levels, expected) in rows {
        let draws = std::cell::Cell::new(0);
        let table = compile(&mk_choosing(actions));
        let Ok(_) = table.decide(&get("payment.secure", "/"), Levels::new(levels), || {
            draws.update(|draws| draws + 1);
            0
        });
        assert_eq!(draws.get(), expected, "{message}");
    }
}
