//! What the tiers of the simulation promise.

use std::time::Duration;

use mcwan_policy::sla::{Loss, Promise};

/// At this interval the figures of the issue are reached.
pub(crate) const FAST: Duration = Duration::from_millis(200);
/// The usual interval.
pub(crate) const USUAL: Duration = Duration::from_secs(1);
/// The longest interval.
pub(crate) const SLOW: Duration = Duration::from_secs(10);

/// A tier as in the documents: 50 ms, 10 ms, 0.5 %.
pub(crate) fn high() -> Promise {
    losing(5_000)
}

/// The same with another bound on loss, in parts per million.
pub(crate) fn losing(parts_per_million: u32) -> Promise {
    Promise {
        latency: Some(Duration::from_millis(50)),
        jitter: Some(Duration::from_millis(10)),
        loss: Loss::from_parts_per_million(parts_per_million),
    }
}
