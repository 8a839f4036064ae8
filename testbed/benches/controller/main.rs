//! The numbers that the controller must reach, with ten thousand imports on a real API server.

mod load;
mod running;
mod translating;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use mcwan_numbers::{Number, Options};

/// How many imports there are, and in how many namespaces.
const IMPORTS: usize = 10_000;
const NAMESPACES: usize = 100;
/// How often what is not too dear is measured.
const RUNS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let mut numbers: Vec<Number> = translating::numbers();
    numbers.extend(running::numbers().await?);
    Ok(mcwan_numbers::print(&options, &numbers)?)
}

/// A whole number, as one that can be printed beside others.
fn float(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}
