//! Orders to pods.

use std::time::Duration;

/// What a pod is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// To be killed, and to start again.
    Kill,
    /// To take requests as far as others let it: whether all of its readiness gates are open.
    Gates(bool),
    /// To end in this time.
    End(Duration),
    /// To end at once: nobody knows it any more.
    Gone,
}
