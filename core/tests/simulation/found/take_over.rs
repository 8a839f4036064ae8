//! Of those who take over.

use std::time::Duration;

use mcwan_core::emit::object::Kind;

use super::{SECOND, SOON, export, holds, holds_under, import, rule};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Module, Pace, RuleWish, Step};

/// Routes in the wanted state stay, though the filter that a new leader finds is an older one.
#[test]
fn who_takes_over_keeps_routes_that_are_ahead_of_the_filter() {
    let rules = [
        rule(2, Backend::Tier(1), Extra::Nothing),
        rule(1, Backend::Tier(0), Extra::Header(2)),
        rule(2, Backend::Tier(0), Extra::Nothing),
    ];
    let steps = [(SECOND, export(1)), (8 * SECOND, import(1, &rules)), (SOON, Step::Depose)];
    holds(Pace::Kept, &steps);
}

/// Routes that a filter steers to stay, though their import went, somebody else leads, and the import is back.
#[test]
fn an_import_that_is_back_after_a_take_over_keeps_the_routes_of_the_filter() {
    let steps = [
        (SECOND, import(0, &[rule(2, Backend::Local, Extra::Header(2))])),
        (SECOND, import(1, &[rule(2, Backend::Local, Extra::Nothing)])),
        (10 * SECOND, Step::NoImport(0)),
        (SOON / 4, Step::Depose),
        (SOON, import(0, &[rule(0, Backend::Local, Extra::Nothing)])),
    ];
    holds(Pace::Smooth, &steps);
}

/// Who takes over asks gateways what they have, also where there is nothing to write.
#[test]
fn a_status_does_not_wait_for_ever_after_a_take_over() {
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    let steps = [
        (SECOND, export(0)),
        (SECOND, wish(1)),
        (8 * SECOND, export(2)),
        (SOON, import(2, &[rule(0, Backend::Local, Extra::Nothing)])),
        (SOON, Step::Die),
        (2 * SECOND, Step::NoImport(2)),
    ];
    holds(Pace::Kept, &steps);
}

/// A port that a service got just before somebody else leads is no port of the filter that he finds, though rules and targets
/// are the same.
#[test]
fn who_takes_over_waits_for_the_routes_of_a_port_that_is_new() {
    let wish = |ports: &[u16], is_headless| {
        Step::Export(1, 0, ExportWish { ports: ports.to_vec(), pods: 1, default_tier: Some(0), is_headless })
    };
    for is_headless in [true, false] {
        let steps = [
            (SOON, wish(&[8080], is_headless)),
            (8 * SECOND, Step::Die),
            (Duration::from_millis(41), wish(&[8080, 9090], false)),
        ];
        holds(Pace::Kept, &steps);
    }
}

/// The rule of a tier that leads to this cluster's share alone, as all others have withdrawn, stays as long as gateways may
/// have a filter that steers there.
#[test]
fn who_takes_over_knows_the_rule_of_a_tier_that_only_this_cluster_is_left_of() {
    let wish = ExportWish { ports: vec![8080], pods: 3, default_tier: None, is_headless: false };
    let steps = [
        (SOON, Step::Export(1, 0, wish)),
        (SOON, Step::OwnExport(0, 1)),
        (Duration::from_millis(7_368), Step::NoExport(1, 0)),
        (Duration::from_millis(720), Step::Die),
    ];
    holds(Pace::Kept, &steps);
}

/// Another cluster that exports a service just before somebody else leads changes neither rules nor targets, and yet what is
/// behind them.
#[test]
fn who_takes_over_waits_for_what_is_behind_a_target() {
    let other = ExportWish { ports: vec![8080], pods: 3, default_tier: None, is_headless: false };
    let steps = [
        (SOON, export(0)),
        (8 * SECOND, Step::Die),
        (Duration::ZERO, Step::Export(1, 0, other)),
        (Duration::from_millis(1_200), import(0, &[rule(0, Backend::Tier(0), Extra::Nothing)])),
    ];
    holds(Pace::Kept, &steps);
}

/// What the last leader made of the filter is undone by the next one: a pod that still has what was before that is yet to be
/// told of both.
#[test]
fn a_filter_that_is_as_it_was_is_not_in_force_yet() {
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    for gap in [1_500, 2_500, 3_500] {
        let steps = [
            (SECOND, export(0)),
            (SECOND, wish(1)),
            (40 * SECOND, wish(2)),
            (Duration::from_millis(gap), Step::Depose),
            (Duration::ZERO, wish(1)),
        ];
        holds(Pace::Kept, &steps);
    }
}

/// The same where the last leader undoes it: who takes over finds a filter that is as one that pods have, which are yet to be
/// told of one in between.
#[test]
fn a_filter_that_is_found_tells_nothing_of_those_before() {
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    for (gap, last) in [(1_500, 300), (2_500, 700), (3_500, 100)] {
        let steps = [
            (SECOND, export(0)),
            (SECOND, wish(1)),
            (40 * SECOND, wish(2)),
            (Duration::from_millis(gap), wish(1)),
            (Duration::from_millis(last), Step::Depose),
        ];
        holds(Pace::Kept, &steps);
    }
}

/// Services that the API server refuses are waited for by who takes over, too, though the filter is in the wanted state: it names
/// none of them yet.
#[test]
fn who_takes_over_waits_for_services_that_no_rule_names_yet() {
    let wish = |ports: &[u16]| ExportWish { ports: ports.to_vec(), pods: 2, default_tier: None, is_headless: false };
    let steps = [
        (Duration::ZERO, Step::Export(1, 0, wish(&[9090]))),
        (3 * SECOND, Step::Refuse(Kind::Service, None, 7 * SECOND)),
        (Duration::ZERO, Step::Export(0, 0, wish(&[8080]))),
        (SOON, Step::Die),
        (3 * SECOND, import(0, &[rule(0, Backend::Tier(1), Extra::Timeout(2))])),
    ];
    holds(Pace::Kept, &steps);
}

/// A filter that a leader wrote at the very end is read by the next one, though no watch has told of it yet.
#[test]
fn who_takes_over_reads_a_filter_that_was_just_written() {
    let steps = [
        (SECOND, export(3)),
        (Duration::ZERO, import(3, &[rule(0, Backend::Tier(0), Extra::Nothing)])),
        (Duration::from_millis(30), Step::Die),
    ];
    holds(Pace::Kept, &steps);
}

/// The routes of an import that nobody wants any more stay for as long as the API server refuses a filter without it, whoever
/// leads.
#[test]
fn routes_stay_while_a_filter_without_them_is_refused() {
    let steps = [
        (SOON, import(0, &[rule(0, Backend::Local, Extra::Timeout(2))])),
        (Duration::ZERO, export(1)),
        (5 * SECOND, Step::Refuse(Kind::WasmPlugin, None, 44 * SECOND)),
        (SOON, Step::NoImport(0)),
        (SECOND, Step::Depose),
    ];
    holds(Pace::Kept, &steps);
}

/// Another cluster joins the one that live routes lead straight to, and admits nobody yet: whoever takes over, just before or
/// just after, leads these routes nowhere else.
#[test]
fn who_takes_over_leads_live_routes_to_no_cluster_that_has_just_joined() {
    let joins = Step::Export(1, 0, ExportWish { ports: vec![8080], pods: 1, default_tier: None, is_headless: false });
    let deaf = Step::Deaf(1, 44 * SECOND);
    let start = [(SOON, deaf), (Duration::ZERO, export(0))];
    for then in [[(3 * SECOND, joins.clone()), (SOON, Step::Die)], [(3 * SECOND, Step::Die), (SOON, joins)]] {
        holds(Pace::Kept, &[&start[..], &then].concat());
    }
}

/// An apply of who led before, which comes late, makes the registry have earlier gateways once more: another cluster admits what
/// it has admitted before, and nobody can tell since when.
#[test]
fn who_takes_over_opens_no_gate_before_all_of_before_is_carried_out() {
    let mut steps = vec![(SECOND, export(0)), (SECOND, import(0, &[rule(0, Backend::Tier(0), Extra::Nothing)]))];
    for _ in 0..8 {
        steps.extend([(8 * SECOND, Step::Restart(0)), (SOON / 20, Step::Depose), (Duration::ZERO, Step::Restart(0))]);
    }
    holds(Pace::Kept, &steps);
}

/// A port that a service gets while nobody leads is a listener that gateways lack until the filter was read, which takes a while
/// where that gets no answer.
#[test]
fn who_takes_over_waits_for_the_listener_of_a_port_that_is_new() {
    let wish = |port, pods, default_tier| {
        Step::Export(0, 0, ExportWish { ports: vec![port], pods, default_tier, is_headless: true })
    };
    let of_hosts = |hosts: &[usize], rules: &[RuleWish]| {
        Step::Import(0, ImportWish { hosts: hosts.to_vec(), rules: rules.to_vec(), ..ImportWish::default() })
    };
    let header = (0, vec![(Backend::Tier(1), 2)], Extra::Header(2));
    let steps = [
        (Duration::from_millis(43), wish(8080, 1, Some(0))),
        (Duration::ZERO, of_hosts(&[0, 1], &[header, rule(0, Backend::Tier(0), Extra::Nothing)])),
        (Duration::ZERO, Step::Deaf(1, 40 * SECOND)),
        (Duration::from_millis(2_881), Step::Depose),
        (Duration::from_micros(516_500), wish(9090, 2, None)),
        (Duration::from_micros(18_273_500), of_hosts(&[1], &[rule(1, Backend::Tier(0), Extra::Nothing)])),
    ];
    let found = 588_080_432_323_723_685;
    holds_under(found..found + 100, Pace::Kept, &steps);
}

/// Another release finds a filter with the module of the one before, and its own cannot be fetched: gateways go on with what they
/// have until it can.
#[test]
fn another_release_leaves_a_filter_as_it_is_until_its_module_can_be_fetched() {
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    let steps = [
        (SECOND, export(0)),
        (SECOND, wish(1)),
        (20 * SECOND, Step::Module(Module::NotFetched)),
        (5 * SECOND, Step::Release),
        (20 * SECOND, wish(2)),
        (40 * SECOND, Step::Module(Module::Sound)),
    ];
    holds(Pace::Kept, &steps);
}

/// Gateways cannot have a listener that who takes over has only just written, though they have the filter that goes with it.
#[test]
fn who_takes_over_waits_for_listeners_that_were_refused_before() {
    let rules = vec![
        (1, vec![(Backend::Tier(1), 1)], Extra::Nothing),
        (0, vec![(Backend::Tier(0), 2), (Backend::Tier(0), 2)], Extra::Header(2)),
    ];
    let wish = |ports: &[u16], pods| ExportWish { ports: ports.to_vec(), pods, default_tier: None, is_headless: false };
    let steps = [
        (Duration::from_millis(849), Step::Export(1, 0, wish(&[9090], 1))),
        (Duration::ZERO, Step::Import(0, ImportWish { hosts: vec![0], rules, ..ImportWish::default() })),
        (Duration::from_millis(779), Step::Refuse(Kind::Gateway, None, Duration::from_millis(20_092))),
        (Duration::from_millis(680), Step::Export(0, 0, wish(&[8080, 9090], 3))),
        (Duration::from_millis(34_052), Step::Die),
    ];
    let found = 1_742_752_622_491_041_667;
    holds_under(found..found + 100, Pace::Kept, &steps);
}
