//! "Sound again, it is In within three holds (99 %)", after steps, bursts and flaps of any length; and there it stays.

use std::time::Duration;

use crate::laws::{HOUR, Scope, ensure};
use crate::path::Path;
use crate::random::Random;
use crate::tiers::{FAST, SLOW, USUAL, losing};
use crate::weather::Spread;

/// How many of 100 recoveries may be late.
const LATE: u64 = 1;

/// How recoveries went.
#[derive(Debug, Default)]
struct Tally {
    all: u64,
    late: u64,
    relapses: u64,
    longest: f64,
}

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    let mut tally = Tally::default();
    let hours = scope.hours(45);
    let mut spent = Duration::ZERO;
    for number in 0.. {
        if spent >= HOUR * u32::try_from(hours).expect("fewer hours than that") {
            break;
        }
        let mut random = scope.random(number);
        let interval = random.one_of(&[FAST, FAST, USUAL, USUAL, SLOW]);
        let promise = losing(random.one_of(&[1_000, 5_000, 5_000, 20_000, 30_000]));
        let mut path = scope.path(promise, interval, number);
        for _ in 0..random.between(1, 12) {
            impair(&mut path, &mut random);
            path.weather = path.at(0.5);
            if !path.is_in() {
                recover(&mut path, interval, &mut tally);
            }
            path.run(random.time(Duration::from_secs(10), Duration::from_mins(50)));
        }
        let moves = path.most_moves_an_hour();
        ensure(moves <= 32, || format!("{moves} moves an hour, number {number}"))?;
        spent += path.now.since_start();
    }
    let told = format!("{tally:.1?} in {:.0} hours", spent.as_secs_f64() / HOUR.as_secs_f64());
    println!("{told}");
    let few = |count: u64| count * 100 <= tally.all * LATE;
    ensure(few(tally.late), || format!("late: {told}"))?;
    ensure(few(tally.relapses), || format!("out again: {told}"))
}

/// Something that happens to a path, for a second to a quarter of an hour.
fn impair(path: &mut Path, random: &mut Random) {
    let time = random.time(Duration::from_secs(1), Duration::from_mins(15));
    let sound = path.at(0.5);
    match random.between(0, 5) {
        0 => path.weather = sound.delayed(Duration::from_millis(random.between(10, 300))),
        1 => path.weather = sound.spread(Spread::Even(random.between(30_000, 200_000) as u32)),
        2 => path.weather = sound.losing(random.share() * 0.4),
        3 => path.weather = sound.hole(),
        4 => {
            // A burst.
            path.weather = sound.losing(0.5);
            return path.run(Duration::from_millis(random.between(200, 3_000)));
        }
        _ => {
            let end = path.now + time;
            let period = random.time(Duration::from_secs(1), Duration::from_secs(30));
            while path.now < end {
                path.weather = sound.hole();
                path.run(period);
                path.weather = sound;
                path.run(period);
            }
        }
    }
    path.run(time);
}

/// Until the path is in: how long that takes, in holds, and whether it stays for a minute, or ten probes.
fn recover(path: &mut Path, interval: Duration, tally: &mut Tally) {
    let start = path.now;
    let is_in = path.run_until(true, HOUR);
    let least = interval * 10;
    let hold = path.judge.standing().hold.max(least);
    let holds = path.now.since(start).as_secs_f64() / hold.as_secs_f64();
    tally.all += 1;
    tally.late += u64::from(!is_in || holds > 3.0);
    tally.longest = tally.longest.max(holds);
    let moves = path.moves.len();
    path.run(Duration::from_mins(1).max(least));
    tally.relapses += u64::from(path.moves.len() > moves);
}
