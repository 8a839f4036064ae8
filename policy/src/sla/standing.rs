//! Where a path stands.

use std::time::Duration;

use super::{Judgement, Moment};

/// Where a path stands: what one prober tells the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The level, and the reason for it.
    pub judgement: Judgement,
    /// Since when the path is on this level.
    pub since: Moment,
    /// How long it must be better before it gets there.
    pub hold: Duration,
}
