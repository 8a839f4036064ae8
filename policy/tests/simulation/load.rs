//! Two clusters on a tier that degrades under load: what the judges decide changes what they see.

use std::time::Duration;

use crate::path::Path;

/// The paths of two clusters, and requests that take those which are in, in equal parts; none is in: another tier.
pub(crate) struct Shared {
    pub(crate) paths: [Path; 2],
    /// The share of all requests that a path bears.
    pub(crate) capacity: f64,
    /// For how long a path was in and bore more than that.
    pub(crate) overloaded: Duration,
}

impl Shared {
    /// Sends a probe on both, and goes on to the next.
    pub(crate) fn tick(&mut self, impaired: [bool; 2]) {
        let number = self.paths.iter().filter(|path| path.is_in()).count().max(1);
        let load = 1.0 / number as f64;
        for (path, is_impaired) in self.paths.iter_mut().zip(impaired) {
            let sound = path.at(0.25);
            let is_overloaded = path.is_in() && load > self.capacity;
            path.weather = match (is_impaired, is_overloaded) {
                (true, _) => sound.hole(),
                (false, true) => sound.delayed(Duration::from_millis(80)).losing(0.05),
                (false, false) => sound,
            };
            let before = path.now;
            path.tick();
            if is_overloaded {
                self.overloaded += path.now.since(before);
            }
        }
    }
}
