//! Numbers and how they are printed.

use serde::Serialize;

/// One number.
#[derive(Serialize)]
pub(crate) struct Number {
    name: &'static str,
    value: f64,
    unit: &'static str,
    limit: Option<f64>,
    ok: bool,
}

impl Number {
    /// A number that may be up to its limit.
    pub(crate) fn limited(name: &'static str, value: f64, unit: &'static str, limit: f64) -> Self {
        Self { name, value, unit, limit: Some(limit), ok: value <= limit }
    }

    /// A number that may be anything.
    pub(crate) fn free(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self { name, value, unit, limit: None, ok: true }
    }

    /// Whether it is within its limit.
    pub(crate) fn is_ok(&self) -> bool {
        self.ok
    }
}

/// Prints a line a number.
pub(crate) fn print_table(numbers: &[Number]) {
    let width = numbers.iter().map(|number| number.name.len()).max().unwrap_or_default();
    println!("{:width$}  {:>14} {:6} {:>8}", "measure", "value", "unit", "limit");
    for Number { name, value, unit, limit, ok } in numbers {
        let limit = limit.map_or_else(String::new, |limit| limit.to_string());
        let missed = if *ok { "" } else { "  MISSED" };
        println!("{name:width$}  {:>14} {unit:6} {limit:>8}{missed}", round(*value));
    }
}

/// Two decimals, and none where there are none.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
