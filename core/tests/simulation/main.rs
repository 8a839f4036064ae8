//! The rollout in a model of a cluster, in virtual time: no server, no clock, and every delay that there may be.
//!
//! `MCWAN_SEED=7 cargo test -p mcwan-core --test simulation` runs one schedule.

#![expect(clippy::disallowed_methods, reason = "who runs a test tells it the seed by the environment")]

mod api_server;
mod check;
mod gateway;
mod inputs;
mod istiod;
mod replica;
mod runs;
mod script;
mod settle;
mod shrink;
mod told;
mod world;

use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Safeguard;

use crate::replica::Lack;
use crate::runs::{first_failure, run, run_all, tell};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Pace, Script, Step};

#[test]
fn most_schedules_hold() {
    let number = std::env::var("MCWAN_SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(20_000);
    run_all(0..number);
}

/// An import whose route is refused delays no other.
#[test]
fn a_refused_route_delays_no_neighbour() {
    let wish = |timeout| {
        let rules = vec![(0, vec![(Backend::Tier(0), 1)], Extra::Timeout(timeout))];
        Step::Import(usize::from(timeout % 2), ImportWish { hosts: Vec::new(), rules })
    };
    let export = |service| Step::Export(0, service, ExportWish { ports: vec![8080], pods: 2, default_tier: None });
    let refusal = Step::Refuse(Kind::HttpRoute, Some(0), Duration::from_mins(1));
    let second = Duration::from_secs(1);
    let steps = [
        (second, export(0)),
        (second, export(1)),
        (second, wish(2)),
        (second, wish(1)),
        (20 * second, refusal),
        (second, wish(4)),
        (second, wish(3)),
        // Istiod may take five to hear of a route.
        (12 * second, Step::Expect(1)),
    ];
    for seed in 0..200 {
        let script = Script { seed, pace: Pace::Smooth, steps: steps.to_vec() };
        if let Err(why) = run(&script, Lack::Nothing) {
            tell(&script);
            panic!("seed {seed}: {why}");
        }
    }
}

/// With each safeguard taken out, the simulation finds that it is missed.
#[test]
fn every_safeguard_is_missed() {
    let safeguards = [
        Safeguard::Backing,
        Safeguard::InForce,
        Safeguard::Gate,
        Safeguard::Announcement,
        Safeguard::Prune,
        Safeguard::Recovery,
    ];
    for lack in [Lack::Lead, Lack::Grace].into_iter().chain(safeguards.map(Lack::Safeguard)) {
        let failure = first_failure(0..2_000, lack);
        println!("{lack:?}: {failure:?}");
        assert!(failure.is_some(), "nobody misses {lack:?}");
    }
}

#[test]
#[ignore = "takes long"]
fn full() {
    let start = fastrand::u64(..u64::MAX / 2);
    println!("seeds from {start}");
    run_all(start..start + 200_000);
}
