//! What an import is made of comes and goes in every order, and what there is in the end does not tell which it was: each
//! run ends in what is made from nothing, of objects and of what is said.

use std::time::Duration;

use crate::replica::Lack;
use crate::runs::{run, tell};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Pace, Script, Step};

/// Some changes come while the one before is still on its way.
const GAPS: [Duration; 3] = [Duration::from_millis(50), Duration::from_secs(2), Duration::from_secs(9)];

/// Of how many orders one is run. Without optimisation each takes ten times as long; neither two nor three divides it, so that
/// every part has every place.
const EVERY: usize = if cfg!(debug_assertions) { 11 } else { 5 };

/// A tier, an export, rules of a `ServiceImport`, those of a route, and what lets both name a Service of another namespace:
/// how each comes, and how it goes.
fn parts() -> [[Step; 2]; 5] {
    let wish = |path| ImportWish {
        rules: vec![
            (path, vec![(Backend::Tier(0), 1)], Extra::Nothing),
            (0, vec![(Backend::Granted, 1)], Extra::Nothing),
        ],
        ..ImportWish::default()
    };
    let export = ExportWish { ports: vec![8080], pods: 2, default_tier: Some(0), is_headless: false };
    [
        [Step::Tier(0, 31_111), Step::NoTier(0)],
        [Step::Export(0, 0, export), Step::NoExport(0, 0)],
        [Step::Import(0, wish(1)), Step::NoImport(0)],
        [Step::Route(0, wish(2), None), Step::NoRoute(0)],
        [Step::Grant, Step::NoGrant],
    ]
}

/// The same with a `GRPCRoute` in place of the other route.
fn parts_of_calls() -> [[Step; 2]; 5] {
    let calls = |part: [Step; 2]| match part {
        [Step::Route(_, wish, _), _] => [Step::Calls(wish), Step::NoCalls],
        other => other,
    };
    parts().map(calls)
}

/// The same where routes of another namespace give rules for clients there.
fn parts_of_consumers() -> [[Step; 2]; 5] {
    let [tier, export, import, ..] = parts();
    let rules = vec![(2, vec![(Backend::Tier(0), 1)], Extra::Nothing)];
    let route = [Step::Consumer(ImportWish { rules, ..ImportWish::default() }), Step::NoConsumer];
    [tier, export, import, route, [Step::Admit, Step::NoAdmit]]
}

/// The same where a `Route` leads to a Service of this cluster that may have no pod, and to the import.
fn parts_of_hosts() -> [[Step; 2]; 5] {
    let [tier, export, ..] = parts();
    let route = [Step::OpenshiftRoute, Step::NoOpenshiftRoute];
    [tier, export, route, [Step::Local, Step::NoLocal], [Step::Endpoints, Step::NoEndpoints]]
}

/// The same where the `Route` speaks TLS with the certificate of a Secret that may be read, or not.
fn parts_of_tls() -> [[Step; 2]; 5] {
    let [_, export, _, local, endpoints] = parts_of_hosts();
    let route = [Step::TlsRoute(0), Step::NoOpenshiftRoute];
    [export, route, [Step::MayRead(0), Step::MayNotRead(0)], local, endpoints]
}

/// All of these, and in what order each comes and goes with the namespace that it is in.
fn all_parts() -> Vec<Vec<[Step; 2]>> {
    let namespace = |place| [Step::NamespaceComes(place), Step::NamespaceGoes(place)];
    let with = |parts: [[Step; 2]; 5], place| [&parts[..], &[namespace(place)]].concat();
    vec![
        with(parts(), 0),
        with(parts_of_calls(), 0),
        with(parts_of_consumers(), 0),
        with(parts_of_consumers(), 1),
        with(parts_of_hosts(), 0),
        with(parts_of_tls(), 0),
    ]
}

/// All orders of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for new in 0..count {
        let with_new = |order: &Vec<usize>| {
            let inserted = |place: usize| [&order[..place], &[new], &order[place..]].concat();
            (0..=order.len()).map(inserted).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with_new).collect();
    }
    all
}

/// Of these parts, none is there at first.
fn ends_as_from_nothing(parts: &[[Step; 2]], seed: usize, steps: impl Iterator<Item = Step>) {
    let gaps = GAPS.into_iter().cycle().skip(seed % GAPS.len());
    let gone = parts.iter().map(|[_, goes]| (Duration::ZERO, goes.clone()));
    let steps = gone.chain(gaps.zip(steps)).collect();
    let script = Script { seed: u64::try_from(seed).unwrap(), pace: Pace::Kept, steps };
    if let Err(why) = run(&script, Lack::Nothing) {
        tell(&script);
        panic!("order {seed}: {why}");
    }
}

/// Parts come, in one order of so many.
fn come(every: usize) {
    for parts in all_parts() {
        for (seed, order) in orders(parts.len()).into_iter().enumerate().step_by(every) {
            ends_as_from_nothing(&parts, seed, order.iter().map(|part| parts[*part][0].clone()));
        }
    }
}

/// They come, and go again; of five times, once two stay.
fn come_and_go(every: usize) {
    for parts in all_parts() {
        let orders = orders(parts.len());
        for (seed, order) in orders.iter().enumerate().step_by(every) {
            let come = orders[orders.len() - 1 - seed].iter().map(|part| parts[*part][0].clone());
            let go = order.iter().map(|part| parts[*part][1].clone());
            ends_as_from_nothing(&parts, seed, come.clone().chain(go.clone()));
            if seed.is_multiple_of(5 * every) {
                ends_as_from_nothing(&parts, seed, come.chain(go.take(parts.len() - 2)));
            }
        }
    }
}

#[test]
fn whatever_comes_first_the_end_is_the_same() {
    come(EVERY);
}

#[test]
fn whatever_goes_first_the_end_is_the_same() {
    come_and_go(EVERY);
}

#[test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
fn in_every_order_the_end_is_the_same() {
    come(1);
    come_and_go(1);
}

/// A namespace takes everything in it along, and comes again without.
#[test]
fn a_namespace_that_goes_takes_its_hosts_along() {
    for (seed, order) in orders(5).into_iter().enumerate() {
        let parts = parts_of_hosts();
        let come = order.iter().map(|part| parts[*part][0].clone());
        let steps = [Step::Namespace(0), Step::OpenshiftRoute];
        ends_as_from_nothing(&parts, seed, come.chain(steps));
    }
}
