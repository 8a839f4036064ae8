//! "At half its bounds a path falls less than once in 500 hours, at exactly its loss bound in 10 hours."

use mcwan_policy::sla::Promise;

use crate::laws::{HOUR, Scope, ensure};
use crate::tiers::{FAST, high, losing};
use crate::weather::{Spread, Weather};

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    rate(scope, "at half of bounds with 0.5 % loss", high(), at_half, scope.hours(15), 500)?;
    rate(scope, "at half of bounds with 2 % loss", losing(20_000), at_half, scope.hours(5), 500)?;
    rate(scope, "at half of bounds with 3 % loss", losing(30_000), at_half, scope.hours(5), 500)?;
    // As queues make it, jitter has so long a tail that at half of its bound a path is out several times an hour.
    let queues = |promise: &Promise| at_half(promise).spread(Spread::Exponential(2_500));
    rate(scope, "at a quarter of the bound on jitter, of queues", high(), queues, scope.hours(4), 500)?;
    rate(scope, "at the bound of 0.5 % loss", high(), at_bound, scope.hours(4), 10)?;
    rate(scope, "at the bound of 2 % loss", losing(20_000), at_bound, scope.hours(4), 10)
}

pub(super) fn check_little_loss(scope: &Scope) -> Result<(), String> {
    rate(scope, "at half of bounds with 0.014 % loss", losing(140), at_half, scope.hours(8), 500)?;
    rate(scope, "at half of bounds with 0.1 % loss", losing(1_000), at_half, scope.hours(5), 500)?;
    rate(scope, "at the bound of 0.1 % loss", losing(1_000), at_bound, scope.hours(3), 10)
}

fn at_half(promise: &Promise) -> Weather {
    Weather::at(promise, 0.5)
}

/// At the bound on loss, and at half of the others.
fn at_bound(promise: &Promise) -> Weather {
    let loss = f64::from(promise.loss.unwrap_or_default().parts_per_million()) / 1e6;
    at_half(promise).losing(loss)
}

/// A path of this weather falls less than once in so many hours; of few hours two more say nothing.
fn rate(
    scope: &Scope,
    what: &str,
    promise: Promise,
    weather: impl Fn(&Promise) -> Weather,
    hours: u64,
    once_in: u64,
) -> Result<(), String> {
    let mut path = scope.path(promise, FAST, hours + once_in);
    path.weather = weather(&promise);
    for _ in 0..hours {
        path.run(HOUR);
        let falls = path.falls() as u64;
        ensure(falls <= hours / once_in + 2, || {
            format!("{what}: {falls} times out by hour {}", path.now.since_start().as_secs() / 3_600)
        })?;
    }
    println!("{what}: {} times out in {hours} hours", path.falls());
    Ok(())
}
