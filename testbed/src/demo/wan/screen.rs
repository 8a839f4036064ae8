//! A table that changes while one looks at it.

use std::io::{IsTerminal, stderr};

use anstream::adapter::strip_str;
use anstream::{eprint, eprintln};

use super::conditions::{GAP, Row};
use crate::table::{Columns, TERMINAL};

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
        let width = columns.width();
        let mut lines = Vec::new();
        for ([.., said], plain) in news {
            let mut before = columns.lay_out(plain).concat();
            for said in fitted(said, TERMINAL.saturating_sub(width + 4)) {
                lines.push(format!("  {before:width$}  {said}").trim_end().to_owned());
                before.clear();
            }
        }
        lines
    }
}

/// What an object says in lines that are no wider than this, coloured as it is: each has some of the conditions, whole.
fn fitted(said: &str, width: usize) -> Vec<String> {
    let wide = |text: &str| strip_str(text).to_string().chars().count();
    let mut lines = Vec::<String>::new();
    for condition in said.split(GAP) {
        match lines.last_mut() {
            Some(line) if wide(line) + GAP.len() + wide(condition) <= width => {
                line.push_str(GAP);
                line.push_str(condition);
            }
            _ => lines.push(condition.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_row(object: &str, said: &str) -> Row {
        ["cluster-1".to_owned(), object.to_owned(), said.to_owned()]
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let said = ["Accepted ✗ NoMatchingListenerHostname"; 6].join(GAP);
        let lines = Screen::new().lines(&[mk_row("HTTPRoute secure/payment.8080", &said)]);
        assert!(lines.iter().all(|line| line.chars().count() <= TERMINAL), "{lines:#?}");
        assert_eq!(lines.concat().matches("Accepted").count(), 6, "nothing is lost: {lines:#?}");
        assert!(lines[0].starts_with("  cluster-1  HTTPRoute") && lines[1].starts_with("             "), "{lines:#?}");
        assert_eq!(fitted("", 10), [""], "what says nothing has a line, too");
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
