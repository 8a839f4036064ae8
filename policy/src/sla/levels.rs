//! The levels of all paths.

use super::Level;

/// The levels of the paths of a configuration, by their places in it. A path of which nothing is known is In.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels<'l>(&'l [Level]);

impl<'l> Levels<'l> {
    /// Nothing is known of any path.
    pub const ALL_IN: Self = Self(&[]);

    /// The first path has the first of these, and so on.
    pub const fn new(levels: &'l [Level]) -> Self {
        Self(levels)
    }

    /// The level of the path at a place.
    pub fn of(self, path: usize) -> Level {
        self.0.get(path).copied().unwrap_or(Level::In)
    }
}
