//! A table that changes while one looks at it.

use std::io::{IsTerminal, stderr};

use anstream::{eprint, eprintln};

use super::conditions::Row;
use crate::table::Columns;

/// A table on a terminal, drawn anew where it stands. Elsewhere each row that is new or has changed is a line.
#[derive(Debug)]
pub(super) struct Screen {
    is_terminal: bool,
    shown: Vec<Row>,
    /// How many lines it takes on the terminal.
    height: usize,
}

impl Screen {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), shown: Vec::new(), height: 0 }
    }

    /// Shows rows in place of those before.
    pub(super) fn show(&mut self, rows: &[Row]) {
        if rows == self.shown {
            return;
        }
        let lines = self.lines(rows);
        if self.is_terminal && self.height > 0 {
            // To the first line of the table; then everything below is empty.
            eprint!("\u{1b}[{}F\u{1b}[J", self.height);
        }
        for line in &lines {
            eprintln!("{line}");
        }
        self.height = lines.len();
        self.shown = rows.to_vec();
    }

    fn lines(&self, rows: &[Row]) -> Vec<String> {
        // The last column has colours and ends the line.
        let plain: Vec<_> = rows.iter().map(|[cluster, object, _]| [cluster.clone(), object.clone()]).collect();
        let columns = Columns::of(&plain);
        let news = rows.iter().zip(&plain).filter(|(row, _)| self.is_terminal || !self.shown.contains(row));
        news.map(|([.., said], plain)| {
            format!("  {:width$}  {said}", columns.lay_out(plain).concat(), width = columns.width())
        })
        .map(|line| line.trim_end().to_owned())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_row(object: &str, said: &str) -> Row {
        ["cluster-1".to_owned(), object.to_owned(), said.to_owned()]
    }

    #[test]
    fn a_file_has_a_line_for_each_change_and_a_terminal_everything() {
        let [before, after] =
            ["", "Accepted ✓"].map(|said| vec![mk_row("Gateway a/b", "x"), mk_row("HTTPRoute a/b", said)]);
        let screen = |is_terminal| Screen { is_terminal, shown: before.clone(), height: 2 };
        assert_eq!(screen(false).lines(&after), ["  cluster-1  HTTPRoute a/b  Accepted ✓"]);
        let all = ["  cluster-1  Gateway a/b    x", "  cluster-1  HTTPRoute a/b  Accepted ✓"];
        assert_eq!(screen(true).lines(&after), all);
    }
}
