//! The work queue of one who leads: what is due, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::moment::Moment;

/// Work that is done once, however often it is asked for. What is done may ask for more, also for itself.
#[derive(Debug)]
pub(super) struct WorkQueue<W> {
    now: BTreeSet<W>,
    later: BTreeMap<W, Moment>,
    by_time: BTreeSet<(Moment, W)>,
    /// What was taken last: the others have their turn before it has one again, so that nobody holds up his neighbours.
    last: Option<W>,
}

impl<W> Default for WorkQueue<W> {
    fn default() -> Self {
        Self { now: BTreeSet::new(), later: BTreeMap::new(), by_time: BTreeSet::new(), last: None }
    }
}

impl<W: Clone + Ord> WorkQueue<W> {
    /// Adds work that is due at once.
    pub(super) fn add(&mut self, work: W) {
        if let Some(then) = self.later.remove(&work) {
            self.by_time.remove(&(then, work.clone()));
        }
        self.now.insert(work);
    }

    /// Adds work that is due at once, unless it is planned for later.
    pub(super) fn add_unplanned(&mut self, work: W) {
        if !self.later.contains_key(&work) {
            self.now.insert(work);
        }
    }

    /// Adds work that is due then, if not before.
    pub(super) fn add_at(&mut self, work: W, then: Moment) {
        if self.now.contains(&work) {
            return;
        }
        if let Some(known) = self.later.get(&work) {
            if *known <= then {
                return;
            }
            self.by_time.remove(&(*known, work.clone()));
        }
        self.by_time.insert((then, work.clone()));
        self.later.insert(work, then);
    }

    /// Takes out what is due next, in order from what was taken last.
    pub(super) fn take(&mut self, now: Moment) -> Option<W> {
        while let Some((then, _)) = self.by_time.first()
            && *then <= now
            && let Some((_, work)) = self.by_time.pop_first()
        {
            self.later.remove(&work);
            self.now.insert(work);
        }
        let after = self.last.as_ref().and_then(|last| {
            let behind = (Bound::Excluded(last), Bound::Unbounded);
            self.now.range::<W, _>(behind).next().cloned()
        });
        let work = after.or_else(|| self.now.first().cloned())?;
        self.now.remove(&work);
        self.last = Some(work.clone());
        Some(work)
    }

    /// Whether work is due now.
    pub(super) fn is_due(&self, work: &W) -> bool {
        self.now.contains(work)
    }

    /// When the next is due; the start of all time where one is due now.
    pub(super) fn next(&self) -> Option<Moment> {
        if self.now.is_empty() { self.by_time.first().map(|(then, _)| *then) } else { Some(Moment::START) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(second: u64) -> Moment {
        Moment::after_start(Duration::from_secs(second))
    }

    #[test]
    fn work_is_done_once_and_at_the_earliest_time_that_was_asked_for() {
        let mut queue = WorkQueue::default();
        queue.add_at("a", at(5));
        queue.add_at("a", at(3));
        queue.add_at("a", at(9));
        assert_eq!(queue.next(), Some(at(3)));
        assert_eq!(queue.take(at(2)), None, "too early");
        assert_eq!(queue.take(at(3)), Some("a"));
        assert_eq!(queue.take(at(9)), None, "once");
        queue.add_at("a", at(5));
        queue.add("a");
        assert_eq!(queue.take(at(0)), Some("a"), "now is earlier than later");
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn who_always_has_more_to_do_does_not_hold_up_the_others() {
        let mut queue = WorkQueue::default();
        for work in ["a", "b", "c"] {
            queue.add(work);
        }
        let mut taken = Vec::new();
        for _ in 0..6 {
            let work = queue.take(at(0)).unwrap();
            taken.push(work);
            queue.add("a");
        }
        assert_eq!(taken, ["a", "b", "c", "a", "a", "a"]);
    }
}
