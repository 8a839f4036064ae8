//! Judges in virtual time: no network, no clock, and every weather that there may be.
//!
//! `MCWAN_SEED=7 cargo test -p mcwan-policy --test simulation` draws other weather. `cargo xtask test` runs all hours as what
//! ships is compiled.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "what is drawn is far from such limits"
)]

mod adversary;
mod laws;
mod load;
mod path;
mod random;
mod tiers;
mod weather;

use mcwan_policy::sla::Safeguard;

use crate::laws::{DETECTION, IMPAIRED, LAWS, LITTLE_LOSS, MOVES, OUTAGE, QUIET, RECOVERY, Scope};

/// How many hours the laws must hold for, together. Without optimisation each takes twenty times as long.
const HOURS: u64 = if cfg!(debug_assertions) { 500 } else { 10_000 };

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
    // The hours are those of all laws, of which each takes a part; all but one fail within a few of them.
    let missed_by = [
        (Safeguard::Hold, MOVES, 300),
        (Safeguard::Doubling, MOVES, 300),
        (Safeguard::Memory, MOVES, 300),
        (Safeguard::Outage, OUTAGE, 300),
        (Safeguard::Answers, IMPAIRED, 300),
        (Safeguard::Margin, IMPAIRED, 300),
        (Safeguard::Clean, IMPAIRED, 300),
        (Safeguard::Emptying, RECOVERY, 300),
        (Safeguard::Evidence, QUIET, 300),
        (Safeguard::Floor, LITTLE_LOSS, 4_000),
        (Safeguard::Lateness, DETECTION, 300),
        (Safeguard::LateIsNoJitter, QUIET, 300),
        (Safeguard::Misses, QUIET, 300),
    ];
    let mut is_missed = true;
    for (lack, law, hours) in missed_by {
        let failure = law.check(&Scope { hours, seed: seed(), lack: Some(lack) });
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
