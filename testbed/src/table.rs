//! Columns on a terminal.

/// The space between two columns.
const GAP: &str = "  ";

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

    /// How wide they are together, in characters.
    pub fn width(&self) -> usize {
        self.0.iter().sum::<usize>() + GAP.len() * N.saturating_sub(1)
    }

    /// The lines that a row takes, without white space at their ends.
    pub fn lay_out(&self, row: &[String; N]) -> Vec<String> {
        let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
        let line = |number| {
            let cells = row.iter().zip(self.0).map(|(cell, width)| {
                let text = cell.lines().nth(number).unwrap_or_default();
                format!("{text:width$}")
            });
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
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
}
