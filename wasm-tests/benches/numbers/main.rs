//! The numbers that the release module must reach. All but the times are the same in every run.

mod configs;
mod measures;
mod report;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use mcwan_wasm_tests::Module;

/// Measures the release module; fails where it misses a limit.
#[derive(Parser)]
struct Options {
    /// How to print the numbers.
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    /// What cargo adds by itself.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// A table.
    #[default]
    Table,
    /// A list of `{name, value, unit, limit, ok}`.
    Json,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let numbers = measures::all(&Module::release()?)?;
    match options.output {
        Output::Table => report::print_table(&numbers),
        Output::Json => println!("{}", serde_json::to_string_pretty(&numbers)?),
    }
    Ok(if numbers.iter().all(report::Number::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
