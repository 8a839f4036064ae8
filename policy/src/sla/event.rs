//! What happens to a path, and what it does.

use std::time::Duration;

use super::Judgement;

/// What becomes of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The far gateway answered, after so long.
    Answered(Duration),
    /// No answer came in time.
    Missed,
    /// The prober itself was late: what it saw says nothing of the path.
    Voided,
    /// The probe could not be sent.
    Unsent,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The level before, and its last reason.
    pub from: Judgement,
    /// The level now, and why.
    pub to: Judgement,
}
