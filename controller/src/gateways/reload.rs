//! When to make the agents try again.

use std::time::{Duration, Instant};

use super::Progress;
use crate::backoff::Backoff;
use crate::module::ModuleStatus;

/// The wait before the first time, doubled each time after.
const LEAST: Duration = Duration::from_secs(5);
/// The longest wait.
const MOST: Duration = Duration::from_mins(5);

/// Decides for one `WasmPlugin` when to touch it. An istio-agent that could not get a module refuses
/// every request and does not try again by itself; any change of the `WasmPlugin`, if only of an
/// annotation, makes it.
#[derive(Debug)]
pub struct Reload {
    backoff: Backoff,
    next: Option<Instant>,
}

impl Default for Reload {
    fn default() -> Self {
        Self { backoff: Backoff::new(LEAST, MOST), next: None }
    }
}

impl Reload {
    /// Whether to touch it now. It would be in vain where we cannot fetch the module ourselves.
    pub fn is_due(&mut self, now: Instant, module: &ModuleStatus, progress: Progress) -> bool {
        if progress.failing == 0 || *module != ModuleStatus::Ok {
            *self = Self::default();
            return false;
        }
        let due = self.next.is_some_and(|next| next <= now);
        if due || self.next.is_none() {
            self.next = Some(now + self.backoff.failed());
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::ModuleError;

    const FAILING: Progress = Progress { in_force: 1, awaited: 0, failing: 1, unknown: 0 };
    const WELL: Progress = Progress { failing: 0, ..FAILING };

    #[test]
    fn it_is_due_again_and_again_but_ever_later() {
        let start = Instant::now();
        let mut reload = Reload::default();
        let due: Vec<_> = (0..3_600)
            .filter(|second| reload.is_due(start + Duration::from_secs(*second), &ModuleStatus::Ok, FAILING))
            .collect();
        let [first, .., last] = due.as_slice() else { panic!("{due:?}") };
        assert!((2..=5).contains(first), "{due:?}");
        assert!((3_300..3_600).contains(last), "{due:?}");
        // 5, 10, … 160 seconds, then every 150 to 300.
        assert!((15..=32).contains(&due.len()), "{due:?}");
    }

    #[test]
    fn it_is_not_due_where_it_would_be_in_vain_or_without_need() {
        let failed = ModuleStatus::Failed(ModuleError::WireVersionMismatch(9));
        for (module, progress) in [(ModuleStatus::Ok, WELL), (ModuleStatus::Unknown, FAILING), (failed, FAILING)] {
            let mut reload = Reload::default();
            let start = Instant::now();
            let due = (0..3_600).any(|second| reload.is_due(start + Duration::from_secs(second), &module, progress));
            assert!(!due, "{module:?} {progress:?}");
        }
    }

    #[test]
    fn a_success_starts_the_waits_anew() {
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let mut reload = Reload::default();
        (0..600).for_each(|second| _ = reload.is_due(at(second), &ModuleStatus::Ok, FAILING));
        assert!(!reload.is_due(at(600), &ModuleStatus::Ok, WELL));
        assert!(!reload.is_due(at(601), &ModuleStatus::Ok, FAILING), "not at once");
        assert!(reload.is_due(at(606), &ModuleStatus::Ok, FAILING), "soon");
    }
}
