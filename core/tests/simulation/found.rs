//! What the simulation has found, each as short as it was shrunk, under many seeds.

use std::time::Duration;

use mcwan_core::emit::object::Kind;

use crate::replica::Lack;
use crate::runs::{run, tell};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Pace, PolicyWish, RuleWish, Script, Side, Step};

const SECOND: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(600);

/// It holds, whatever the delays.
fn holds(pace: Pace, steps: &[(Duration, Step)]) {
    for seed in 0..100 {
        let script = Script { seed, pace, steps: steps.to_vec() };
        if let Err(why) = run(&script, Lack::Nothing) {
            tell(&script);
            panic!("seed {seed}: {why}");
        }
    }
}

fn export(service: usize) -> Step {
    Step::Export(0, service, ExportWish { ports: vec![8080], pods: 2, default_tier: Some(0), is_headless: false })
}

fn import(service: usize, rules: &[RuleWish]) -> Step {
    Step::Import(service, ImportWish { rules: rules.to_vec(), ..ImportWish::default() })
}

fn rule(path: usize, backend: Backend, extra: Extra) -> RuleWish {
    (path, vec![(backend, 1)], extra)
}

#[test]
fn a_refused_route_delays_no_neighbour() {
    let wish = |service, timeout| import(service, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    let steps = [
        (SECOND, export(0)),
        (SECOND, export(1)),
        (SECOND, wish(0, 2)),
        (SECOND, wish(1, 1)),
        (20 * SECOND, Step::Refuse(Kind::HttpRoute, Some(0), 60 * SECOND)),
        (SECOND, wish(0, 4)),
        (SECOND, wish(1, 3)),
        // Istiod may take five to hear of a route.
        (12 * SECOND, Step::Expect(1)),
    ];
    holds(Pace::Smooth, &steps);
}

/// A route whose deletion was not answered is written when it is wanted again.
#[test]
fn a_deletion_without_an_answer_keeps_nothing_from_being_written() {
    let mut steps = Vec::new();
    for service in 0..4 {
        steps.push((SOON, export(service)));
        // Its routes are there by then, and no filter has named them.
        steps.push((2 * SOON, import(service, &[rule(2, Backend::Tier(1), Extra::Nothing)])));
        steps.push((2 * SOON, import(service, &[rule(0, Backend::Local, Extra::Timeout(1))])));
    }
    holds(Pace::Kept, &steps);
}

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

/// An import is not said to be programmed while some of its targets still answer 500, as their routes came late.
#[test]
fn routes_that_come_late_are_waited_for_before_anything_is_said() {
    let refused = Step::Refuse(Kind::HttpRoute, Some(0), 40 * SECOND);
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    holds(Pace::Kept, &[(SECOND, export(0)), (SECOND, wish(1)), (10 * SECOND, refused), (SOON, wish(2))]);
}

/// The Service that clients call stays, and so does its address, where a route is refused for longer than the grace, though
/// somebody else leads, and where it is taken after all.
#[test]
fn clients_keep_what_they_call_while_routes_are_refused() {
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    let refused = || Step::Refuse(Kind::HttpRoute, Some(0), 56 * SECOND);
    holds(
        Pace::Kept,
        &[(SECOND, export(0)), (SECOND, refused()), (SOON, wish(1)), (42 * SECOND, Step::Die), (90 * SECOND, wish(1))],
    );
    holds(Pace::Kept, &[(SECOND, export(0)), (SECOND, refused()), (SOON, wish(1)), (90 * SECOND, wish(1))]);
}

/// A route that is refused for the second time is as unknown to gateways as at the first time, though the change that needed
/// it then was taken back.
#[test]
fn a_route_that_is_refused_again_is_waited_for_again() {
    let refused = || Step::Refuse(Kind::HttpRoute, Some(0), 60 * SECOND);
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    let steps = [
        (SECOND, export(0)),
        (SECOND, wish(1)),
        (10 * SECOND, refused()),
        (SOON, wish(2)),
        (40 * SECOND, wish(1)),
        (150 * SECOND, refused()),
        (SOON, wish(3)),
    ];
    holds(Pace::Kept, &steps);
}

/// An API server that cannot be reached refuses nothing: targets wait for their routes, and do not answer 500.
#[test]
fn an_outage_is_no_refusal() {
    let rules = [rule(1, Backend::Local, Extra::Nothing), rule(0, Backend::Local, Extra::Nothing)];
    let steps = [
        (15 * SECOND, import(0, &rules)),
        (Duration::from_millis(905), Step::Outage(Duration::from_millis(14_290))),
        (SOON, Step::Silent(1, 70 * SECOND)),
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
        (SOON, Step::OwnExport(0)),
        (Duration::from_millis(7_368), Step::NoExport(1, 0)),
        (Duration::from_millis(720), Step::Die),
    ];
    holds(Pace::Kept, &steps);
}

fn with_hosts(service: usize, hosts: &[usize], timeout: u8) -> Step {
    let rules = vec![rule(0, Backend::Tier(0), Extra::Timeout(timeout))];
    Step::Import(service, ImportWish { hosts: hosts.to_vec(), rules, ..ImportWish::default() })
}

/// A host that one import has by a wildcard moves to another like any other.
#[test]
fn a_host_of_a_wildcard_waits_for_who_gains_it() {
    let steps = [
        (SECOND, export(0)),
        (SECOND, export(1)),
        (SECOND, with_hosts(0, &[], 1)),
        (SECOND, with_hosts(1, &[1], 1)),
        (20 * SECOND, Step::Refuse(Kind::HttpRoute, Some(0), 15 * SECOND)),
        (SOON, with_hosts(0, &[0], 2)),
        (SOON, with_hosts(1, &[], 1)),
    ];
    holds(Pace::Kept, &steps);
}

/// A host passes on only to who has it by then: one that waits with a host of its own gains none meanwhile.
#[test]
fn a_host_passes_on_through_one_that_waits() {
    let steps = [
        (SECOND, export(0)),
        (SECOND, export(1)),
        (SECOND, export(2)),
        (SECOND, with_hosts(0, &[], 1)),
        (SECOND, with_hosts(1, &[1], 1)),
        (SECOND, with_hosts(2, &[0], 1)),
        (20 * SECOND, Step::Refuse(Kind::HttpRoute, Some(0), 15 * SECOND)),
        (SOON, with_hosts(0, &[0], 2)),
        (SOON, with_hosts(2, &[1], 1)),
        (SOON, with_hosts(1, &[], 1)),
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

/// A cluster alone has a service in place of another one from one moment to the next: the other's addresses go once its own are
/// there.
#[test]
fn a_tier_service_always_has_endpoints() {
    for extra in [Extra::Nothing, Extra::Fallback(1)] {
        let export = |ports| ExportWish { ports, pods: 1, default_tier: None, is_headless: false };
        let steps = [
            (Duration::ZERO, Step::Export(1, 0, export(vec![8080, 9090]))),
            (SOON, import(0, &[rule(0, Backend::Tier(1), extra)])),
            (7 * SECOND, Step::Export(0, 0, export(vec![9090]))),
            (SOON, Step::Policy(0, PolicyWish { sides: [Side::Own, Side::Any], tiers: Some(vec![]), is_strict: true })),
        ];
        holds(Pace::Kept, &steps);
    }
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

/// Services that the API server refuses are waited for by who takes over, too, though the filter is as it is to be: it names
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

/// An import that gives up a host and wants it back keeps it meanwhile.
#[test]
fn an_import_keeps_a_host_that_it_gets_back() {
    // Without rules, it needs nothing, so it is ready at once.
    let wish = ExportWish { ports: vec![8080], pods: 2, default_tier: None, is_headless: false };
    let steps = [
        (SECOND, Step::Export(0, 0, wish)),
        (SECOND, export(1)),
        (SECOND, with_hosts(0, &[0], 1)),
        (SECOND, import(1, &[])),
        (10 * SECOND, with_hosts(1, &[0], 2)),
        (SOON, Step::NoImport(0)),
        (Duration::ZERO, with_hosts(0, &[1], 2)),
        (SOON / 2, with_hosts(1, &[], 3)),
    ];
    holds(Pace::Kept, &steps);
}

/// Clients keep what they call while every port of a service is another one, and what shows them its address, though somebody
/// deletes that then.
#[test]
fn clients_keep_what_they_call_while_all_ports_become_others() {
    let wish = |port| ExportWish { ports: vec![port], pods: 2, default_tier: Some(0), is_headless: false };
    for gap in [0, 100, 1_000] {
        let steps = [
            (Duration::ZERO, Step::Export(1, 0, wish(9090))),
            (6 * SECOND, Step::Export(1, 0, wish(8080))),
            (Duration::from_millis(gap), Step::NoClient(0, Kind::McsServiceImport)),
        ];
        holds(Pace::Kept, &steps);
    }
}

/// What a tier is told is told of its last generation, though that says what an earlier one said.
#[test]
fn a_tier_that_is_as_it_was_is_told_so() {
    let steps = [(SECOND, Step::Tier(0, 31_113)), (Duration::ZERO, Step::Tier(0, 31_111))];
    holds(Pace::Kept, &steps);
}

/// Where the API server refuses the route to one of a tier's clusters, the others take its requests.
#[test]
fn clusters_that_have_a_route_take_the_requests_of_those_that_have_none() {
    let steps = [
        (SECOND, export(0)),
        (SECOND, import(0, &[rule(2, Backend::Tier(1), Extra::Fallback(1))])),
        (
            5 * SECOND,
            Step::Export(1, 0, ExportWish { ports: vec![8080], pods: 2, default_tier: None, is_headless: false }),
        ),
        (SOON, Step::Refuse(Kind::HttpRoute, Some(0), 40 * SECOND)),
        (SOON, import(0, &[rule(0, Backend::Tier(1), Extra::Fallback(0))])),
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
