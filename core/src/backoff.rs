//! How long to wait before what failed is tried again.

use std::time::Duration;

/// Waits that double from failure to failure, with jitter: where many wait for the same thing, they do not come at once.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    least: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits of `least` at first, of `most` in the end.
    pub const fn new(least: Duration, most: Duration) -> Self {
        Self { least, most, failures: 0 }
    }

    /// The wait after one more failure: between half of what its number asks for, where `draw` is 0, and all of it, where
    /// that is 1.
    pub fn failed(&mut self, draw: f64) -> Duration {
        let wait = self.least.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(self.most);
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(0.5 + draw.clamp(0.0, 1.0) / 2.0)
    }

    /// Starts anew.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most() {
        for draw in [0.0, 0.3, 1.0] {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
            for full in [1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs) {
                let wait = backoff.failed(draw);
                assert!(full / 2 <= wait && wait <= full, "{wait:?} where {full:?} is due");
            }
            (0..100).for_each(|_| assert!(backoff.failed(draw) <= Duration::from_secs(30), "however many failures"));
            backoff.succeeded();
            assert!(backoff.failed(draw) <= Duration::from_secs(1), "after a success");
        }
    }
}
