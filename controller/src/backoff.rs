//! How long to wait before what failed is tried again.

use std::time::Duration;

/// [`mcwan_core::backoff::Backoff`] with jitter of its own.
#[derive(Clone, Copy, Debug)]
pub struct Backoff(mcwan_core::backoff::Backoff);

impl Backoff {
    /// Waits of `least` at first, of `most` in the end.
    pub const fn new(least: Duration, most: Duration) -> Self {
        Self(mcwan_core::backoff::Backoff::new(least, most))
    }

    /// The wait after one more failure.
    pub fn failed(&mut self) -> Duration {
        self.0.failed(fastrand::f64())
    }

    /// Starts anew.
    pub fn succeeded(&mut self) {
        self.0.succeeded();
    }
}
