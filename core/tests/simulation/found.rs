//! What the simulation has found, each as short as it was shrunk, under many seeds.

mod hosts;
mod sizes;
mod take_over;

use std::ops::Range;
use std::time::Duration;

use mcwan_core::emit::object::Kind;

use crate::replica::Lack;
use crate::runs::{run, tell};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Module, Pace, PolicyWish, RuleWish, Script, Side, Step};

const SECOND: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(600);

/// It holds, whatever the delays.
fn holds(pace: Pace, steps: &[(Duration, Step)]) {
    holds_under(0..100, pace, steps);
}

/// The same, where few delays show it.
fn holds_under(seeds: Range<u64>, pace: Pace, steps: &[(Duration, Step)]) {
    for seed in seeds {
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

/// An import is not said to be programmed while some of its targets still answer 500, as their routes came late.
#[test]
fn routes_that_come_late_are_waited_for_before_anything_is_said() {
    let refused = Step::Refuse(Kind::HttpRoute, Some(0), 40 * SECOND);
    let wish = |timeout| import(0, &[rule(0, Backend::Tier(0), Extra::Timeout(timeout))]);
    holds(Pace::Kept, &[(SECOND, export(0)), (SECOND, wish(1)), (10 * SECOND, refused), (SOON, wish(2))]);
}

/// A change while a route is refused takes no target away that has its route.
#[test]
fn what_has_a_route_is_steered_to_though_others_are_refused() {
    let limited = |path, timeout| rule(path, Backend::Tier(0), Extra::Timeout(timeout));
    let refused = Step::Refuse(Kind::HttpRoute, Some(0), 120 * SECOND);
    let steps = [
        (SECOND, export(0)),
        (SECOND, import(0, &[limited(0, 1)])),
        (20 * SECOND, refused),
        (SECOND, import(0, &[limited(0, 1), limited(1, 2)])),
        (45 * SECOND, import(0, &[limited(2, 1), limited(1, 2)])),
    ];
    holds(Pace::Kept, &steps);
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

/// What shows clients an address stays while it is not known which, as what they call was deleted before anybody heard that
/// the one was there.
#[test]
fn clients_keep_what_shows_them_an_address() {
    let wish = ExportWish { ports: vec![9090], pods: 1, default_tier: Some(0), is_headless: false };
    let rules = [(2, vec![(Backend::Tier(1), 1), (Backend::Local, 1)], Extra::Nothing)];
    for gap in [2_400, 2_500, 2_555, 2_700] {
        let steps = [
            (SECOND, Step::Export(0, 0, wish.clone())),
            (Duration::ZERO, import(0, &rules)),
            (Duration::from_millis(gap), Step::NoClient(0, Kind::Service)),
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

/// Who has never heard of istiod waits for the lead alone: what it said of a route that is gone is no word of it.
#[test]
fn istiod_is_heard_of_a_route_that_is_there() {
    let steps = [
        (SOON, import(0, &[])),
        (Duration::ZERO, export(1)),
        // Its first route has just been written, and goes.
        (Duration::from_millis(1_093), import(1, &[rule(1, Backend::Tier(0), Extra::Nothing)])),
    ];
    holds(Pace::Smooth, &steps);
}

/// A filter that goes before all gateways have it leaves them one after the other, and comes so again, long after its kind is
/// back.
#[test]
fn a_filter_that_went_is_looked_for_once_every_gateway_has_it_again() {
    let steps = [
        (Duration::ZERO, export(0)),
        (Duration::from_millis(4_900), Step::Undefine(Kind::WasmPlugin, 21 * SECOND)),
        (2 * SECOND, Step::Module(Module::Unsound)),
        (108 * SECOND, Step::Outage(9 * SECOND)),
    ];
    holds(Pace::Kept, &steps);
}

/// An export that is withdrawn during an outage loses its routes, and who leads announces it before it hears of that.
#[test]
fn an_export_may_be_announced_before_it_is_known_to_be_withdrawn() {
    let steps = [
        (Duration::from_millis(843), Step::OwnExport(1, 1)),
        (Duration::from_millis(802), Step::Outage(Duration::from_millis(9_847))),
        (Duration::from_millis(2_517), Step::NoOwnExport(1)),
    ];
    let found = 8_217_786_843_882_484_934;
    holds_under(found..found + 100, Pace::Kept, &steps);
}

/// The answer to a deletion says nothing of an object that had the name before, and that a backup brought back meanwhile.
#[test]
fn what_a_backup_brings_back_is_deleted_though_the_same_was_being_deleted() {
    let low = |path, weights: &[u32], extra| {
        (path, weights.iter().map(|weight| (Backend::Tier(1), *weight)).collect(), extra)
    };
    let wish = |hosts: &[usize], rules| ImportWish { hosts: hosts.to_vec(), rules, ..ImportWish::default() };
    let one = wish(&[0, 1], vec![low(0, &[1], Extra::Timeout(1)), low(2, &[1, 1], Extra::Fallback(1))]);
    let other = wish(&[0], vec![low(2, &[1, 2], Extra::Header(3)), low(0, &[1], Extra::Fallback(1))]);
    let export = ExportWish { ports: vec![8080], pods: 2, default_tier: Some(0), is_headless: false };
    let steps = [
        (Duration::from_millis(90), Step::Import(0, one)),
        (Duration::from_millis(691), Step::Export(1, 1, export)),
        (Duration::from_millis(630), Step::Import(1, other)),
        (Duration::ZERO, Step::NamespaceGoes(0)),
        (Duration::ZERO, Step::OpenshiftRoute),
        (Duration::from_millis(1_044), Step::Restore(256)),
    ];
    let found = 18_345;
    holds_under(found..found + 100, Pace::Kept, &steps);
}
