//! What is measured on a path.

use std::time::Duration;

use super::{Loss, Moment};

/// What is measured on a path, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The median round trip of the last 10 answers, once there are as many.
    pub latency: Option<Duration>,
    /// The mean difference between neighbours among the last 25 answers that were not late, once there are 10.
    pub jitter: Option<Duration>,
    /// What a path loses, each way, that loses as many probes as this one did of the last ones.
    pub loss: Loss,
    /// The number of these last ones: at most 500.
    pub probes: u32,
    /// When a probe was last answered or missed.
    pub measured: Option<Moment>,
}
