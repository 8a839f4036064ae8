//! The numbers that services of several clusters must reach: the merge alone, and two real clusters on one network.
//!
//! What ten thousand of them cost the controller, `bench controller` measures.

mod merging;
mod spreading;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use mcwan_numbers::{Number, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let mut numbers: Vec<Number> = merging::numbers()?;
    numbers.extend(spreading::numbers().await?);
    Ok(mcwan_numbers::print(&options, &numbers)?)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1_000.0
}
