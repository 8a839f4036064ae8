//! The numbers that rules which go by measured quality must reach, on two real clusters.
//!
//! What judges do in ten thousand hours, the simulation in `policy/tests` says.

#[path = "../../tests/common/fifteen.rs"]
mod fifteen;
#[path = "../../tests/common/impaired.rs"]
mod impaired;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use impaired::{Move, Seen};
use mcwan_numbers::{Number, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let numbers = numbers(&impaired::see().await?);
    Ok(mcwan_numbers::print(&options, &numbers)?)
}

fn numbers(seen: &Seen) -> Vec<Number> {
    let Seen { late, jitter, jitter_of_replies, loss_20, loss_5, loss_2, hole, failback, flap } = seen;
    let rows = [
        ("last new request after +80 ms, p50 of 15 tiers", late, 1.5, 2.5),
        ("last new request after jitter of 40 ms, p50 of 15", jitter, 4.0, 8.0),
        ("last new request after the same of replies, p50 of 15", jitter_of_replies, 4.0, 8.0),
        ("last new request after 20 % loss each way, p50 of 15", loss_20, 4.0, 10.0),
        ("last new request after 5 % loss each way, p50 of 15", loss_5, 18.0, 60.0),
        ("last new request after 2 % loss each way, p50 of 15", loss_2, 110.0, 300.0),
        ("last new request into a hole, p50 of 15", hole, 1.3, 2.0),
    ];
    let mut numbers = Vec::new();
    for (name, moves, half, most) in rows {
        let [p50, greatest] = spread(moves, |it| it.last);
        numbers.push(Number::limited(name, p50, "s", half));
        numbers.push(Number::limited("the same, max", greatest, "s", most));
    }
    let [_, lost] = spread(hole, |it| count(it.lost));
    numbers.push(Number::limited("requests lost in a hole at 20/s, max", lost, "requests", 30.0));
    let [_, lost] = spread(failback, |it| count(it.lost));
    numbers.push(Number::limited("requests lost by failback, max", lost, "requests", 0.0));
    let [p50, greatest] = spread(failback, |it| it.first);
    numbers.push(Number::free("first new request after a hole of 10 s, p50 of 15", p50, "s"));
    numbers.push(Number::limited("the same, max", greatest, "s", 20.0));
    let moves = count(flap.iter().copied().max().unwrap_or(usize::MAX));
    numbers.push(Number::limited("moves while bad and good for 5 s in turn, 10 minutes, max", moves, "moves", 2.0));
    numbers
}

/// The median, and the greatest.
fn spread(moves: &[Move], of: impl Fn(&Move) -> f64) -> [f64; 2] {
    let mut values: Vec<_> = moves.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    [values.get(values.len() / 2), values.last()].map(|value| value.copied().unwrap_or(f64::INFINITY))
}

fn count(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
