//! Columns on a terminal.

/// The columns of a terminal that tables fit.
pub const TERMINAL: usize = 120;

/// The space between two columns.
const GAP: &str = "  ";
/// What the rest of a text begins with that goes on in the next line.
const INDENT: &str = "  ";

/// The widths of columns, in characters.
#[derive(Clone, Copy, Debug)]
pub struct Columns<const N: usize>([usize; N]);

impl<const N: usize> Columns<N> {
    /// Columns that are wide enough for all of these rows. A cell may have several lines.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r [String; N]>) -> Self {
        let mut widths = [0; N];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.lines().map(|line| line.chars().count()).fold(*width, usize::max);
            }
        }
        Self(widths)
    }

    /// The same, but no wider together than this: the widest give way, and their texts go on in the next line.
    #[must_use]
    pub fn within(mut self, width: usize) -> Self {
        while self.width() > width {
            let Some(widest) = self.0.iter_mut().max().filter(|widest| **widest > 1) else { break };
            *widest -= 1;
        }
        self
    }

    /// How wide they are together, in characters.
    pub fn width(&self) -> usize {
        self.0.iter().sum::<usize>() + GAP.len() * N.saturating_sub(1)
    }

    /// The lines that a row takes, without white space at their ends.
    pub fn lay_out(&self, row: &[String; N]) -> Vec<String> {
        let cells: Vec<Vec<String>> = row.iter().zip(self.0).map(|(cell, width)| wrapped(cell, width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number| {
            let cells = cells.iter().zip(self.0).map(|(cell, width)| {
                let text = cell.get(number).map(String::as_str).unwrap_or_default();
                format!("{text:width$}")
            });
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
}

/// The lines of a cell, none of them wider than this. What goes on in the next line is indented.
fn wrapped(cell: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in cell.lines() {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width {
            let room = rest.get(..width).unwrap_or_default();
            let is_blank = |place: &usize| room.get(*place) == Some(&' ');
            // Behind the last space or slash that leaves something before it, else wherever the line ends.
            let text = room.iter().position(|letter| *letter != ' ').unwrap_or_default();
            let behind = (text + 1..width).rev().find(|place| is_blank(place) || room.get(*place) == Some(&'/'));
            let end = behind.map_or(width, |place| if is_blank(&place) { place + 1 } else { place });
            let next = rest.split_off(end.max(text + 1));
            lines.push(rest.iter().collect::<String>().trim_end().to_owned());
            let indent = if width > INDENT.len() + text + 1 { INDENT } else { "" };
            rest = indent.chars().chain(next).collect();
        }
        lines.push(rest.into_iter().collect());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_one_another() {
        let rows =
            [["a".to_owned(), "bb\nb".to_owned(), "c".to_owned()], ["é→é".to_owned(), String::new(), "d".to_owned()]];
        let columns = Columns::of(&rows);
        assert_eq!(columns.lay_out(&rows[0]), ["a    bb  c", "     b"]);
        assert_eq!(columns.lay_out(&rows[1]), ["é→é      d"]);
    }

    #[test]
    fn the_widest_column_gives_way() {
        let row = ["GET a.b.example/c/d?e=f 10 times".to_owned(), "rule 1".to_owned()];
        let columns = Columns::of([&row]).within(26);
        assert_eq!(columns.width(), 26);
        assert_eq!(columns.lay_out(&row), ["GET a.b.example/c   rule 1", "  /d?e=f 10 times"]);
        let same = Columns::of([&row]).within(40);
        assert_eq!(same.lay_out(&row), ["GET a.b.example/c/d?e=f 10 times  rule 1"], "there is room");
    }

    #[test]
    fn no_text_is_wider_than_its_column_and_none_is_lost() {
        let is_solid = |letter: &char| !letter.is_whitespace();
        for text in
            ["", "a", "aaaaaaaaaaaaaaaaaaaa", "a b c d e f g", "/////////", "  a bb\n    ccc dddd", "é→é é→é/é→é"]
        {
            for width in 1..12 {
                let lines = wrapped(text, width);
                assert!(lines.iter().all(|line| line.chars().count() <= width), "{text:?} in {width}: {lines:?}");
                let known: String = text.chars().filter(is_solid).collect();
                assert_eq!(lines.concat().chars().filter(is_solid).collect::<String>(), known, "{text:?} in {width}");
            }
        }
    }
}
