//! A path that is worse than its bounds for hours takes no requests but for a few, and one that hovers at a bound does not
//! move to and fro.

use std::time::Duration;

use mcwan_policy::sla::Promise;

use crate::laws::{HOUR, Scope, ensure};
use crate::path::Path;
use crate::tiers::{FAST, SLOW, USUAL, high};
use crate::weather::Spread;

/// An impairment that lasts, and how often an hour a path may get out for it, on average.
struct Row {
    what: &'static str,
    promise: fn() -> Promise,
    interval: Duration,
    /// Makes the weather, at a time.
    impair: fn(&mut Path, Duration),
    falls: f64,
}

const ROWS: &[Row] = &[
    Row { what: "loss 5 %, by 0.2 s", promise: high, interval: FAST, impair: |path, _| lose(path, 0.05), falls: 2.5 },
    Row { what: "loss 2 %, by 0.2 s", promise: high, interval: FAST, impair: |path, _| lose(path, 0.02), falls: 6.0 },
    Row { what: "loss 5 %, by 1 s", promise: high, interval: USUAL, impair: |path, _| lose(path, 0.05), falls: 6.0 },
    Row { what: "loss 50 %, by 10 s", promise: high, interval: SLOW, impair: |path, _| lose(path, 0.5), falls: 1.0 },
    Row {
        what: "three of four probes by 10 s, where nothing is promised",
        promise: Promise::default,
        interval: SLOW,
        impair: |path, _| path.weather.hole = path.random.between(1, 4) < 4,
        falls: 1.0,
    },
    Row { what: "latency about its bound", promise: high, interval: FAST, impair: hover_latency, falls: 1.0 },
    Row { what: "jitter about its bound", promise: high, interval: FAST, impair: hover_jitter, falls: 3.0 },
];

const HOURS: u32 = 2;
const PATHS: u32 = 10;

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    for row in ROWS {
        let mut falls = 0.0;
        for number in 0..PATHS {
            let mut path = scope.path((row.promise)(), row.interval, number.into());
            let start = path.now;
            while path.now < start + HOUR * HOURS {
                let time = path.now.since(start);
                (row.impair)(&mut path, time);
                path.run(Duration::from_secs(10));
            }
            falls += path.falls() as f64 / f64::from(HOURS * PATHS);
        }
        let told = format!("{}: out {falls:.1} times an hour", row.what);
        println!("{told}");
        ensure(falls <= row.falls, || told)?;
    }
    Ok(())
}

fn lose(path: &mut Path, each_way: f64) {
    path.weather = path.at(0.5).losing(each_way);
}

/// To and fro between 94 and 106 % of the bound, in six minutes.
fn hover_latency(path: &mut Path, time: Duration) {
    let phase = (time.as_secs_f64() / 360.0 * std::f64::consts::TAU).sin();
    path.weather = path.at(0.2).delayed(Duration::from_secs_f64(0.040 + 0.003 * phase));
}

/// The same of jitter.
fn hover_jitter(path: &mut Path, time: Duration) {
    let phase = (time.as_secs_f64() / 360.0 * std::f64::consts::TAU).sin();
    path.weather = path.at(0.2).spread(Spread::Even((30_000.0 + 2_000.0 * phase) as u32));
}
