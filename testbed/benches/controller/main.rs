//! The numbers that the controller must reach, with ten thousand imports on a real API server.

mod load;
mod pairs;
mod running;
mod translating;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use mcwan_numbers::{Number, Options};

/// In how many namespaces the imports are.
const NAMESPACES: usize = 100;
/// How often what is not too dear is measured.
const RUNS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let imports = imports()?;
    let mut numbers: Vec<Number> = translating::numbers(imports);
    numbers.extend(pairs::numbers());
    numbers.extend(running::numbers(imports).await?);
    Ok(mcwan_numbers::print(&options, &numbers)?)
}

/// How many imports there are: ten thousand, or what `MCWAN_IMPORTS` says. The limits are for ten thousand.
fn imports() -> Result<usize> {
    match std::env::var("MCWAN_IMPORTS") {
        Ok(number) => number.parse().context("MCWAN_IMPORTS is no number"),
        Err(_) => Ok(10_000),
    }
}

/// A whole number, as one that can be printed beside others.
fn float(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}
