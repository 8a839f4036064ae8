//! Paths that do all they can to move often.

use std::time::Duration;

use crate::path::Path;

/// A path that is sound until it is in, stays so for one of these times after the other, and is then cut until it is out.
pub(crate) struct Adversary {
    pub(crate) stays_in: &'static [u64],
}

pub(crate) const ADVERSARIES: &[Adversary] = &[
    Adversary { stays_in: &[0] },
    Adversary { stays_in: &[301] },
    Adversary { stays_in: &[0, 301] },
    Adversary { stays_in: &[0, 0, 301] },
    Adversary { stays_in: &[0, 0, 0, 301] },
    Adversary { stays_in: &[0, 0, 0, 0, 301] },
    Adversary { stays_in: &[0, 0, 0, 0, 1_201] },
    Adversary { stays_in: &[0, 0, 0, 0, 0, 1_201] },
    Adversary { stays_in: &[0, 0, 0, 0, 0, 0, 1_201] },
];

impl Adversary {
    /// Moves the path for so long.
    pub(crate) fn run(&self, path: &mut Path, time: Duration) {
        let end = path.now + time;
        for stays_in in self.stays_in.iter().cycle() {
            if path.now >= end {
                return;
            }
            path.weather = path.at(0.0).hole();
            path.run_until(false, time);
            path.weather = path.at(0.0);
            path.run_until(true, time);
            path.run(Duration::from_secs(*stays_in));
        }
    }
}
