//! The form of what is printed.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

/// The form of what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Prints a value as JSON on one line.
pub(super) fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}
