//! What benchmarks print: numbers, their limits and their spread.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde::Serialize;

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    name: &'static str,
    value: f64,
    unit: &'static str,
    /// What it must reach.
    limit: Option<f64>,
    ok: bool,
    /// The least and the greatest value of several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<[f64; 2]>,
}

/// The command line of a benchmark.
#[derive(Debug, Parser)]
pub struct Options {
    /// How to print the numbers.
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    /// What cargo adds by itself.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How numbers are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A table.
    #[default]
    Table,
    /// A list of `{name, value, unit, limit, ok}`.
    Json,
}

impl Number {
    /// A number that may be up to its limit.
    pub fn limited(name: &'static str, value: f64, unit: &'static str, limit: f64) -> Self {
        Self { limit: Some(limit), ok: value <= limit, ..Self::free(name, value, unit) }
    }

    /// A number that must be at least its limit.
    pub fn at_least(name: &'static str, value: f64, unit: &'static str, limit: f64) -> Self {
        Self { limit: Some(limit), ok: value >= limit, ..Self::free(name, value, unit) }
    }

    /// A number that may be anything.
    pub fn free(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self { name, value, unit, limit: None, ok: true, spread: None }
    }

    /// The best, which is the least, of several runs.
    pub fn best_of(name: &'static str, values: &[f64], unit: &'static str, limit: f64) -> Self {
        let spread = spread(values);
        Self { spread: Some(spread), ..Self::limited(name, spread[0], unit, limit) }
    }

    /// The worst, which is the greatest, of several runs: for what must hold in every one of them.
    pub fn worst_of(name: &'static str, values: &[f64], unit: &'static str, limit: f64) -> Self {
        let spread = spread(values);
        Self { spread: Some(spread), ..Self::limited(name, spread[1], unit, limit) }
    }

    /// Whether it is within its limit.
    pub fn is_ok(&self) -> bool {
        self.ok
    }
}

/// The least and the greatest value.
fn spread(values: &[f64]) -> [f64; 2] {
    [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick).unwrap_or(f64::NAN))
}

/// Prints numbers as the command line asks; success if all are within their limits.
///
/// # Errors
/// They cannot be written as JSON.
pub fn print(options: &Options, numbers: &[Number]) -> Result<ExitCode, serde_json::Error> {
    match options.output {
        Output::Table => print_table(numbers),
        Output::Json => println!("{}", serde_json::to_string_pretty(numbers)?),
    }
    Ok(if numbers.iter().all(Number::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line a number.
fn print_table(numbers: &[Number]) {
    let width = numbers.iter().map(|number| number.name.len()).max().unwrap_or_default();
    println!("{:width$}  {:>14} {:9} {:>8}", "measure", "value", "unit", "limit");
    for Number { name, value, unit, limit, ok, spread } in numbers {
        let limit = limit.map_or_else(String::new, |limit| limit.to_string());
        let missed = if *ok { "" } else { "  MISSED" };
        let spread =
            spread.map_or_else(String::new, |[least, greatest]| format!("  ({} to {})", round(least), round(greatest)));
        println!("{name:width$}  {:>14} {unit:9} {limit:>8}{missed}{spread}", round(*value));
    }
}

/// Two decimals, and none where there are none.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_runs_the_one_that_is_asked_for_is_held_against_the_limit() {
        let runs = [2.0, 5.0, 3.0];
        let table = [
            (Number::best_of("time", &runs, "s", 4.0), 2.0, true, "one run is within the limit"),
            (Number::best_of("time", &runs, "s", 1.0), 2.0, false, "none is"),
            (Number::worst_of("memory", &runs, "MiB", 5.0), 5.0, true, "all are"),
            (Number::worst_of("memory", &runs, "MiB", 4.0), 5.0, false, "one is not"),
        ];
        for (number, value, ok, message) in table {
            assert_eq!((number.value, number.ok, number.spread), (value, ok, Some([2.0, 5.0])), "{message}");
        }
        assert!(!Number::worst_of("memory", &[], "MiB", 4.0).is_ok(), "nothing was measured");
    }
}
