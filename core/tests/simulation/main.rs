//! The rollout in a model of a cluster, in virtual time: no server, no clock, and every delay that there may be. Beside it, as
//! optimisation pays there, too, which tiers any two clusters may use (`connection`).
//!
//! `MCWAN_SEED=7 cargo test -p mcwan-core --test simulation most` runs one schedule of each kind. `cargo xtask test` runs it all as what ships
//! is compiled.

#![expect(clippy::disallowed_methods, reason = "who runs a test tells it the seed by the environment")]

mod api_server;
mod check;
mod connection;
mod found;
mod gateway;
mod inputs;
mod istiod;
mod native;
mod orders;
mod others;
mod replica;
mod runs;
mod script;
mod secrets;
mod settle;
mod shrink;
mod told;
mod world;

use mcwan_core::rollout::Safeguard;
use mimalloc::MiMalloc;

use crate::replica::Lack;
use crate::runs::{first_such_failure, run_all};
use crate::script::Script;

/// A quarter of the time of the simulation goes into memory, a fifth less with this one.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How many schedules must hold. Without optimisation each takes ten times as long.
const SCHEDULES: u64 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };

#[test]
fn most_schedules_hold() {
    run_all(0..asked_for().unwrap_or(SCHEDULES), Script::random);
}

/// Of native imports no filter is waited for, and what holds for them is seen best where there are few others.
#[test]
fn most_native_schedules_hold() {
    run_all(0..asked_for().unwrap_or(SCHEDULES) / 20, Script::native);
}

/// An API server that is restored from a backup has objects in versions that are lower than those that were heard of.
#[test]
fn most_schedules_with_a_backup_hold() {
    run_all(0..asked_for().unwrap_or(SCHEDULES) / 20, Script::restored);
}

/// How many schedules somebody wants.
fn asked_for() -> Option<u64> {
    std::env::var("MCWAN_SCHEDULES").ok()?.parse().ok()
}

/// With each safeguard taken out, the simulation finds that it is missed.
#[test]
fn every_safeguard_is_missed() {
    let safeguards = [
        Safeguard::Backing,
        Safeguard::InForce,
        Safeguard::Announcement,
        Safeguard::Prune,
        Safeguard::Recovery,
        Safeguard::Admission,
        Safeguard::Readiness,
    ];
    let mut is_missed = true;
    for lack in [Lack::Lead, Lack::Grace, Lack::Gate].into_iter().chain(safeguards.map(Lack::Safeguard)) {
        let failure = first_such_failure(0..2_000, Script::random, lack, |_| true);
        println!("{lack:?}: {failure:?}");
        is_missed &= failure.is_some();
    }
    assert!(is_missed, "nobody misses one that has no failure");
}

/// With what keeps requests of native imports taken out, it finds that some get lost.
#[test]
fn safeguards_of_native_imports_are_missed() {
    for lack in [Lack::Lead, Lack::Safeguard(Safeguard::NativeInForce)] {
        let is_lost = |why: &str| why.starts_with("native lost");
        let failure = first_such_failure(0..2_000, Script::native, lack, is_lost);
        println!("{lack:?}: {failure:?}");
        assert!(failure.is_some(), "nobody misses {lack:?}");
    }
}

#[test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
fn ten_times_as_many_schedules_hold() {
    let start = fastrand::u64(..u64::MAX / 2);
    println!("seeds from {start}");
    run_all(start..start + 200_000, Script::random);
    run_all(start..start + 10_000, Script::native);
    run_all(start..start + 10_000, Script::restored);
}
