//! How long after an impairment begins the last new request takes the path: what half of the paths, and what 15 of 16 of them,
//! must reach at an interval of 0.2 s.

use std::time::Duration;

use mcwan_policy::sla::Moment;

use crate::laws::{HOUR, Scope, ensure};
use crate::path::Path;
use crate::tiers::{FAST, high};
use crate::weather::{Spread, Weather};

/// An impairment, and within how many seconds half of the paths, and 15 of 16, must be out.
struct Row {
    what: &'static str,
    impair: fn(Weather) -> Weather,
    half: f64,
    most: f64,
}

const ROWS: &[Row] = &[
    Row { what: "+80 ms", impair: |weather| weather.delayed(Duration::from_millis(80)), half: 1.5, most: 2.5 },
    Row { what: "jitter 40 ms", impair: |weather| weather.spread(Spread::Even(80_000)), half: 4.0, most: 8.0 },
    Row { what: "jitter 20 ms", impair: |weather| weather.spread(Spread::Even(40_000)), half: 4.0, most: 8.0 },
    Row { what: "loss 20 %", impair: |weather| weather.losing(0.2), half: 4.0, most: 10.0 },
    Row { what: "loss 5 %", impair: |weather| weather.losing(0.05), half: 18.0, most: 60.0 },
    Row { what: "loss 2 %", impair: |weather| weather.losing(0.02), half: 110.0, most: 300.0 },
    Row { what: "hole", impair: Weather::hole, half: 1.3, most: 2.0 },
];

const TRIALS: usize = 320;

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    for row in ROWS {
        let mut times: Vec<f64> = (0..).map(|number| time_to_leave(scope, row, number)).take(TRIALS).collect();
        times.sort_by(f64::total_cmp);
        let (half, most, worst) = (times[TRIALS / 2], times[TRIALS * 15 / 16], times[TRIALS - 1]);
        let told = format!("{}: half in {half:.2} s, 15 of 16 in {most:.2} s, all in {worst:.2} s", row.what);
        println!("{told}");
        ensure(half <= row.half && most <= row.most, || told)?;
    }
    Ok(())
}

/// How many seconds a path takes to be out.
fn time_to_leave(scope: &Scope, row: &Row, number: u64) -> f64 {
    let mut path: Path = scope.path(high(), FAST, number);
    // It begins at any time between two probes.
    let begins = seconds(path.now) - FAST.as_secs_f64() * path.random.share();
    // As in the test on the real stack: a path far from its bounds.
    path.weather = (row.impair)(path.at(0.0).delayed(Duration::from_millis(20)).spread(Spread::Even(2_000)));
    path.run_until(false, HOUR);
    seconds(path.moved()) - begins
}

fn seconds(moment: Moment) -> f64 {
    moment.since_start().as_secs_f64()
}
