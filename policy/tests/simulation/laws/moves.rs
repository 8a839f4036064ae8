//! "So a path moves at most 32 times an hour", and at most twice while it flaps.

use std::time::Duration;

use crate::adversary::ADVERSARIES;
use crate::laws::{HOUR, Scope, ensure};
use crate::tiers::{FAST, USUAL, high};
use crate::weather::Weather;

const MOST: usize = 32;

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    flap(scope, "holes", Weather::hole)?;
    flap(scope, "+80 ms", |weather| weather.delayed(Duration::from_millis(80)))?;
    for adversary in ADVERSARIES {
        let mut path = scope.path(high(), FAST, 0);
        adversary.run(&mut path, HOUR * 6);
        let moves = path.most_moves_an_hour();
        println!("in for {:?} s: {moves} moves an hour", adversary.stays_in);
        ensure(moves <= MOST, || format!("in for {:?} s: {moves} moves an hour", adversary.stays_in))?;
    }
    (0..=scope.hours(5) / 12).try_for_each(|number| flaps_at_random(scope, number))
}

/// Bad for 5 s, sound for 5 s, for ten minutes: the path leaves once, and returns once.
fn flap(scope: &Scope, what: &str, impair: fn(Weather) -> Weather) -> Result<(), String> {
    for number in 0..20 {
        let mut path = scope.path(high(), FAST, number);
        for _ in 0..60 {
            path.weather = impair(path.at(0.25));
            path.run(Duration::from_secs(5));
            path.weather = path.at(0.25);
            path.run(Duration::from_secs(5));
        }
        path.run_until(true, HOUR);
        let moves = path.most_moves_an_hour();
        ensure(moves <= 2, || format!("{moves} moves while a path flaps by {what}"))?;
    }
    Ok(())
}

/// Half a day of flaps of any length.
fn flaps_at_random(scope: &Scope, number: u64) -> Result<(), String> {
    let mut random = scope.random(number);
    let interval = random.one_of(&[FAST, USUAL]);
    let mut path = scope.path(high(), interval, number);
    let end = path.now + HOUR * 12;
    while path.now < end {
        let bad = random.time(Duration::from_millis(200), Duration::from_mins(1));
        let sound = random.time(Duration::from_secs(1), Duration::from_mins(25));
        for _ in 0..random.between(1, 20) {
            path.weather = match random.between(0, 2) {
                0 => path.at(0.25).hole(),
                1 => path.at(0.25).delayed(Duration::from_millis(80)),
                _ => path.at(0.25).losing(random.share()),
            };
            path.run(bad);
            path.weather = path.at(0.25);
            path.run(sound);
        }
    }
    let moves = path.most_moves_an_hour();
    ensure(moves <= MOST, || format!("{moves} moves an hour by flaps at random, number {number}"))
}
