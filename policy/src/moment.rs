//! Points in time, as they are passed in.

use std::ops::Add;
use std::time::Duration;

/// A point in time, counted from some start that all of a process share. Nothing here reads a clock: the edge does, and
/// simulations make their own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The start.
    pub const START: Self = Self(Duration::ZERO);

    /// So long after the start.
    pub const fn after_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// How long after the start.
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// How long after an earlier one; nothing where that is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}
