//! Judges in virtual time: no network, no clock, and every weather that there may be.
//!
//! `MCWAN_SEED=7 cargo test -p mcwan-policy --test simulation` draws other weather. `cargo xtask test` runs all hours as what
//! ships is compiled.

mod adversary;
mod laws;
mod load;
mod path;
mod random;
mod tiers;
mod weather;

use mcwan_policy::sla::Safeguard;

use crate::laws::{DETECTION, IMPAIRED, LAWS, MOVES, OUTAGE, QUIET, RECOVERY, Scope};

/// How many hours the laws must hold for, together. Without optimisation each takes ten times as long.
const HOURS: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// Checks all laws, each in a thread of its own.
fn check_all(hours: u64) {
    let scope = Scope { hours, seed: seed(), lack: None };
    println!("MCWAN_SEED={}, {hours} hours", scope.seed);
    let failures: Vec<String> = std::thread::scope(|threads| {
        let running = LAWS.map(|law| threads.spawn(move || law.check(&scope)));
        let ended = running.into_iter().map(|thread| thread.join().expect("the law is checked"));
        ended.filter_map(Result::err).collect()
    });
    assert!(failures.is_empty(), "MCWAN_SEED={}: {failures:#?}", scope.seed);
}

/// The seed that is asked for.
fn seed() -> u64 {
    std::env::var("MCWAN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(17)
}

#[test]
fn all_laws_hold() {
    let hours = std::env::var("MCWAN_HOURS").ok().and_then(|hours| hours.parse().ok()).unwrap_or(HOURS);
    check_all(hours);
}

/// With each safeguard taken out, a law fails that holds with it.
#[test]
fn every_safeguard_is_missed() {
    let missed_by = [
        (Safeguard::Hold, MOVES),
        (Safeguard::Doubling, MOVES),
        (Safeguard::Memory, MOVES),
        (Safeguard::Outage, OUTAGE),
        (Safeguard::Answers, IMPAIRED),
        (Safeguard::Margin, IMPAIRED),
        (Safeguard::Clean, IMPAIRED),
        (Safeguard::Emptying, RECOVERY),
        (Safeguard::Evidence, QUIET),
        (Safeguard::Floor, QUIET),
        (Safeguard::Lateness, DETECTION),
        (Safeguard::LateIsNoJitter, QUIET),
        (Safeguard::Misses, QUIET),
    ];
    let mut is_missed = true;
    for (lack, law) in missed_by {
        // Most fail within a few hours.
        let failure = law.check(&Scope { hours: 10_000, seed: seed(), lack: Some(lack) });
        println!("{lack:?}: {failure:?}");
        is_missed &= failure.is_err();
    }
    assert!(is_missed, "nobody misses one that breaks no law");
}

#[test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
fn all_laws_hold_for_ten_times_as_long() {
    check_all(100_000);
}
