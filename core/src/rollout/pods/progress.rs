//! How far a configuration has come.

use std::time::Duration;

use super::record::Loaded;

/// Between two looks at pods that have a configuration to load.
const AWAITED: Duration = Duration::from_secs(1);
/// Between two looks at pods that could not be asked: they may never answer, and be well.
const UNKNOWN: Duration = Duration::from_secs(10);
/// Between two looks at pods where all is well.
const DONE: Duration = Duration::from_mins(1);

/// How many pods of a gateway have a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Progress {
    /// It is in force there.
    pub(in super::super) in_force: usize,
    /// Not yet, and nothing speaks against it.
    pub(in super::super) awaited: usize,
    /// Not, and their agent has failed to get a module.
    pub(in super::super) failing: usize,
    /// They could not be asked.
    pub(in super::super) unknown: usize,
}

impl Progress {
    /// Of the configuration with this revision; a failure that a report tells of is one of today
    /// ([`Record`](super::Record)).
    pub(in super::super) fn of(revision: u64, reports: &[Option<Loaded>]) -> Self {
        let mut progress = Self::default();
        for report in reports {
            *match report {
                None => &mut progress.unknown,
                Some(report) if report.revision == Some(revision) => &mut progress.in_force,
                Some(report) if report.failures > 0 => &mut progress.failing,
                Some(_) => &mut progress.awaited,
            } += 1;
        }
        progress
    }

    /// When to look again.
    pub(in super::super) fn look_again_after(self) -> Duration {
        if self.is_awaited() {
            AWAITED
        } else if self.unknown > 0 {
            UNKNOWN
        } else {
            DONE
        }
    }

    /// Whether a pod that answers has something else in force.
    pub(in super::super) fn is_awaited(self) -> bool {
        self.awaited + self.failing > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_counted_by_what_they_say() {
        let report = |revision, failures| Some(Loaded { revision, failures });
        let progress = |in_force, awaited, failing, unknown| Progress { in_force, awaited, failing, unknown };
        for (what, reports, want, again) in [
            ("no pod", vec![], progress(0, 0, 0, 0), DONE),
            ("all", vec![report(Some(7), 0), report(Some(7), 3)], progress(2, 0, 0, 0), DONE),
            ("one is behind", vec![report(Some(7), 0), report(Some(6), 0)], progress(1, 1, 0, 0), AWAITED),
            ("one is new", vec![report(Some(7), 0), report(None, 0)], progress(1, 1, 0, 0), AWAITED),
            ("one has no module", vec![report(None, 2)], progress(0, 0, 1, 0), AWAITED),
            ("one is silent", vec![report(Some(7), 0), None], progress(1, 0, 0, 1), UNKNOWN),
        ] {
            let progress = Progress::of(7, &reports);
            assert_eq!(progress, want, "{what}");
            assert_eq!(progress.look_again_after(), again, "{what}");
        }
    }
}
