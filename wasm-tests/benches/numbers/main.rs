//! The numbers that the release module must reach. All but the times are the same in every run.

mod configs;
mod measures;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use mcwan_numbers::Options;
use mcwan_wasm_tests::Module;

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let numbers = measures::all(&Module::release()?)?;
    Ok(mcwan_numbers::print(&options, &numbers)?)
}
