//! Tables like kubectl's.

use std::io::{self, Write};

use super::report::printable;

/// Spaces between columns.
const GAP: usize = 3;

/// Prints a table; the first row is its head.
pub(super) fn print(out: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    let widths = widths(rows);
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{:<width$}", printable(cell)));
        writeln!(out, "{}", cells.collect::<String>().trim_end())?;
    }
    Ok(())
}

/// How many columns of a terminal a table takes.
pub(super) fn width(rows: &[Vec<String>]) -> usize {
    widths(rows).iter().sum::<usize>().saturating_sub(GAP)
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    (0..columns).map(|column| width(column).unwrap_or_default() + GAP).collect()
}
