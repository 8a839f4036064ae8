//! Gateway API, `BackendRef.weight`; the choice by a uniform draw: `floor(draw * total / 2^64)` over
//! the cumulative weights in their order.

use std::cell::Cell;
use std::collections::BTreeMap;

use mcwan_policy::RouteTable;
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{Action, RefuseReason};

use crate::common::{
    self, ActionBuilder, HIGH, LOW, V2, ask, ask_drawing, compile, get, mk_config, mk_import, mk_redirect, mk_rule,
    refuse, to,
};

/// A table of one import, `secure/payment`, with one rule that does this to every request.
fn table(actions: &[Action]) -> RouteTable {
    compile(&mk_config(&[mk_import("secure/payment", &[mk_rule(&[], actions)])]))
}

#[track_caller]
fn check(actions: &[Action], rows: &[(&str, u64, &str)]) {
    let table = table(actions);
    for (message, draw, expected) in rows {
        let outcome = ask_drawing(&table, &get("payment.secure", "/"), *draw);
        assert_eq!(outcome.to_string(), *expected, "{message}: {draw}");
    }
}

const QUARTER: u64 = 1 << 62;
const HALF: u64 = 1 << 63;

#[test]
fn a_draw_chooses_by_cumulative_weight_in_order() {
    check(
        &[to(HIGH).weighing(1), to(LOW).weighing(2), to(V2).weighing(1)],
        &[
            ("the start", 0, "high"),
            ("the end of the first", QUARTER - 1, "high"),
            ("the start of the second", QUARTER, "low"),
            ("the middle of the second", HALF, "low"),
            ("the end of the second", 3 * QUARTER - 1, "low"),
            ("the start of the third", 3 * QUARTER, "v2"),
            ("the end", u64::MAX, "v2"),
        ],
    );
}

#[test]
fn weights_are_relative_to_each_other() {
    check(
        &[to(HIGH).weighing(1000), to(LOW).weighing(1000)],
        &[("the first half", HALF - 1, "high"), ("the second half", HALF, "low")],
    );
    // 2^64 is no multiple of 3: a draw belongs to the first whose share it lies in.
    check(
        &[to(HIGH), to(LOW), to(V2)],
        &[
            ("the end of the first", u64::MAX / 3, "high"),
            ("the start of the second", u64::MAX / 3 + 1, "low"),
            ("the end of the second", u64::MAX / 3 * 2 + 1 - 1, "low"),
            ("the start of the third", u64::MAX / 3 * 2 + 1, "v2"),
        ],
    );
}

#[test]
fn shares_are_proportional_over_uniform_draws() {
    let table = table(&[to(HIGH).weighing(90), to(LOW).weighing(9), to(V2).weighing(1)]);
    let mut shares = BTreeMap::new();
    let step = u64::MAX / 10_000;
    for index in 0..10_000 {
        let outcome = ask_drawing(&table, &get("payment.secure", "/"), index * step + step / 2);
        *shares.entry(outcome.to_string()).or_insert(0) += 1;
    }
    let expected = [("high", 9000), ("low", 900), ("v2", 100)];
    assert_eq!(shares, expected.map(|(target, share)| (target.to_owned(), share)).into());
}

#[test]
fn weight_zero_is_never_chosen() {
    check(
        &[to(HIGH).weighing(0), to(LOW).weighing(1), to(HIGH).weighing(0), to(V2).weighing(1), to(HIGH).weighing(0)],
        &[
            ("first of all", 0, "low"),
            ("before the one in between", HALF - 1, "low"),
            ("after the one in between", HALF, "v2"),
            ("last of all", u64::MAX, "v2"),
        ],
    );
}

#[test]
fn all_weights_zero_or_no_action_is_no_backend() {
    let get = get("payment.secure", "/");
    let redirect = Action::Redirect(mk_redirect());
    let refusal = refuse(RefuseReason::BackendNotFound);
    assert_eq!(ask(&[mk_rule(&[], &[])], &get), "500 NoBackend", "no action");
    assert_eq!(ask(&[mk_rule(&[], &[to(HIGH).weighing(0)])], &get), "500 NoBackend", "one");
    let zeros = [to(HIGH).weighing(0), redirect.weighing(0), refusal.weighing(0)];
    assert_eq!(ask(&[mk_rule(&[], &zeros)], &get), "500 NoBackend", "several");
    assert_eq!(ask(&[mk_rule(&[], &[to(HIGH).weighing(1)])], &get), "high", "one of weight one");
}

#[test]
fn a_rule_without_backend_does_not_leave_its_requests_to_a_weaker_rule() {
    let rules = [mk_rule(&[common::on_prefix("/a")], &[]), mk_rule(&[], &[to(HIGH)])];
    assert_eq!(ask(&rules, &get("payment.secure", "/a")), "500 NoBackend");
    assert_eq!(ask(&rules, &get("payment.secure", "/b")), "high");
}

#[test]
fn a_refused_backend_keeps_its_share() {
    check(
        &[to(HIGH), refuse(RefuseReason::BackendNotFound).weighing(2), refuse(RefuseReason::RefNotPermitted)],
        &[
            ("the sound one", QUARTER - 1, "high"),
            ("the unknown one", QUARTER, "500 BackendNotFound"),
            ("the unknown one", 3 * QUARTER - 1, "500 BackendNotFound"),
            ("the one that is not permitted", 3 * QUARTER, "500 RefNotPermitted"),
        ],
    );
    check(
        &[refuse(RefuseReason::BackendNotFound).weighing(0), to(HIGH)],
        &[("no share of weight zero", 0, "high"), ("nor at the end", u64::MAX, "high")],
    );
}

#[test]
fn an_action_whose_filter_is_invalid_keeps_its_share() {
    let invalid = to(LOW).rewriting(common::full("no path"));
    check(
        &[to(HIGH), invalid],
        &[
            ("the sound one", 0, "high"),
            ("its last draw", HALF - 1, "high"),
            ("the invalid one", HALF, "500 InvalidFilter"),
        ],
    );
}

#[test]
fn forwards_and_redirects_mix_by_weight() {
    check(
        &[to(HIGH), Action::Redirect(mk_redirect()).weighing(3)],
        &[
            ("the forward", QUARTER - 1, "high"),
            ("the redirect", QUARTER, "302 http://payment.secure:8080/"),
            ("the redirect", u64::MAX, "302 http://payment.secure:8080/"),
        ],
    );
}

#[test]
fn the_largest_weights_do_not_overflow() {
    let largest = u32::MAX;
    check(
        &[to(HIGH).weighing(largest), to(LOW).weighing(largest), to(V2).weighing(largest), to(HIGH).weighing(largest)],
        &[
            ("the first", QUARTER - 1, "high"),
            ("the second", QUARTER, "low"),
            ("the third", HALF, "v2"),
            ("the fourth", u64::MAX, "high"),
        ],
    );
    check(
        &[to(HIGH).weighing(1), to(LOW).weighing(largest)],
        &[("one in 2^32", (1 << 32) - 1, "high"), ("the next draw", 1 << 32, "low")],
    );
}

#[test]
fn a_draw_is_made_once_and_only_where_weights_need_it() {
    let rows = [
        ("no action", vec![], 0),
        ("one action", vec![to(HIGH).weighing(7)], 0),
        ("one action of weight zero", vec![to(HIGH).weighing(0)], 0),
        ("one that can be chosen", vec![to(HIGH), to(LOW).weighing(0)], 0),
        ("two that can be chosen", vec![to(HIGH), to(LOW)], 1),
        ("two and a refusal", vec![to(HIGH), to(LOW), refuse(RefuseReason::BackendNotFound)], 1),
    ];
    for (message, actions, expected) in rows {
        let draws = Cell::new(0);
        let request = get("payment.secure", "/");
        let table = table(&actions);
        let Ok(_) = table.decide(&request, Levels::ALL_IN, || {
            draws.update(|draws| draws + 1);
            0
        });
        assert_eq!(draws.get(), expected, "{message}");
    }
}

#[test]
fn the_same_target_may_be_chosen_by_several_actions() {
    check(
        &[to(HIGH), to(LOW), to(HIGH).rewriting(common::full("/x"))],
        &[("the first", 0, "high"), ("the second", HALF, "low"), ("the third", u64::MAX, "high /x")],
    );
}
