//! When to make the agents try again.

use std::time::Duration;

use fastrand::Rng;

use super::Progress;
use crate::backoff::Backoff;
use crate::moment::Moment;
use crate::rollout::event::ModuleVerdict;

/// The wait before the first time, doubled each time after.
const LEAST: Duration = Duration::from_secs(5);
/// The longest wait.
const MOST: Duration = Duration::from_mins(5);

/// Decides for one `WasmPlugin` when to touch it. An istio-agent that could not get a module refuses
/// every request and does not try again by itself; any change of the `WasmPlugin`, if only of an
/// annotation, makes it.
#[derive(Debug)]
pub(in super::super) struct Reload {
    backoff: Backoff,
    next: Option<Moment>,
    rng: Rng,
}

impl Reload {
    /// Nothing has failed yet. `seed`: of the jitter of waits.
    pub(in super::super) fn new(seed: u64) -> Self {
        Self { backoff: Backoff::new(LEAST, MOST), next: None, rng: Rng::with_seed(seed) }
    }

    /// Whether to touch it now. It would be in vain where we cannot fetch the module ourselves.
    pub(in super::super) fn is_due(&mut self, now: Moment, module: &ModuleVerdict, progress: Progress) -> bool {
        if progress.failing == 0 || *module != ModuleVerdict::Sound {
            self.backoff.succeeded();
            self.next = None;
            return false;
        }
        let due = self.next.is_some_and(|next| next <= now);
        if due || self.next.is_none() {
            self.next = Some(now + self.backoff.failed(self.rng.f64()));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILING: Progress = Progress { in_force: 1, awaited: 0, failing: 1, unknown: 0 };
    const WELL: Progress = Progress { failing: 0, ..FAILING };

    #[test]
    fn it_is_due_again_and_again_but_ever_later() {
        let start = Moment::START;
        let mut reload = Reload::new(1);
        let due: Vec<_> = (0..3_600)
            .filter(|second| reload.is_due(start + Duration::from_secs(*second), &ModuleVerdict::Sound, FAILING))
            .collect();
        let [first, .., last] = due.as_slice() else { panic!("{due:?}") };
        assert!((2..=5).contains(first), "{due:?}");
        assert!((3_300..3_600).contains(last), "{due:?}");
        // 5, 10, … 160 seconds, then every 150 to 300.
        assert!((15..=32).contains(&due.len()), "{due:?}");
    }

    #[test]
    fn it_is_not_due_where_it_would_be_in_vain_or_without_need() {
        let failed = ModuleVerdict::Unsound("version 9".to_owned());
        for (module, progress) in [(ModuleVerdict::Sound, WELL), (ModuleVerdict::Unchecked, FAILING), (failed, FAILING)]
        {
            let mut reload = Reload::new(1);
            let start = Moment::START;
            let due = (0..3_600).any(|second| reload.is_due(start + Duration::from_secs(second), &module, progress));
            assert!(!due, "{module:?} {progress:?}");
        }
    }

    #[test]
    fn a_success_starts_the_waits_anew() {
        let start = Moment::START;
        let at = |second| start + Duration::from_secs(second);
        let mut reload = Reload::new(1);
        (0..600).for_each(|second| _ = reload.is_due(at(second), &ModuleVerdict::Sound, FAILING));
        assert!(!reload.is_due(at(600), &ModuleVerdict::Sound, WELL));
        assert!(!reload.is_due(at(601), &ModuleVerdict::Sound, FAILING), "not at once");
        assert!(reload.is_due(at(606), &ModuleVerdict::Sound, FAILING), "soon");
    }
}
