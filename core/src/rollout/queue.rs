//! The work queue of one who leads: what is due, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::moment::Moment;

/// Whose work it is: of a namespace, or of the cluster.
pub(super) trait OfNamespace {
    /// The namespace; empty: the cluster.
    fn namespace(&self) -> Arc<str>;
}

/// Work that is done once, however often it is asked for. What is done may ask for more, also for itself.
#[derive(Debug)]
pub(super) struct WorkQueue<W> {
    now: BTreeMap<Arc<str>, Turns<W>>,
    later: BTreeMap<W, Moment>,
    by_time: BTreeSet<(Moment, W)>,
    /// Whose work was taken last: the others have a turn before it has one again, so that nobody holds up his neighbours.
    last: Option<Arc<str>>,
}

/// What is due of a namespace.
#[derive(Debug)]
struct Turns<W> {
    work: BTreeSet<W>,
    /// What was taken last of it: in a namespace, too, the others have their turn first.
    last: Option<W>,
}

impl<W> Default for WorkQueue<W> {
    fn default() -> Self {
        Self { now: BTreeMap::new(), later: BTreeMap::new(), by_time: BTreeSet::new(), last: None }
    }
}

impl<W> Default for Turns<W> {
    fn default() -> Self {
        Self { work: BTreeSet::new(), last: None }
    }
}

impl<W: Clone + Ord> Turns<W> {
    /// Takes out what is next, in order from what was taken last.
    fn take(&mut self) -> Option<W> {
        let work = following(self.last.as_ref(), |range| self.work.range(range).next().cloned())?;
        self.work.remove(&work);
        self.last = Some(work.clone());
        Some(work)
    }
}

/// The first of what stands behind the last one, else the first of all.
fn following<T: Clone, F: Clone>(last: Option<&T>, first: impl Fn((Bound<T>, Bound<T>)) -> Option<F>) -> Option<F> {
    let behind = last.and_then(|last| first((Bound::Excluded(last.clone()), Bound::Unbounded)));
    behind.or_else(|| first((Bound::Unbounded, Bound::Unbounded)))
}

impl<W: Clone + Ord + OfNamespace> WorkQueue<W> {
    /// Adds work that is due at once.
    pub(super) fn add(&mut self, work: W) {
        if let Some(then) = self.later.remove(&work) {
            self.by_time.remove(&(then, work.clone()));
        }
        self.insert(work);
    }

    /// Adds work that is due at once, unless it is planned for later.
    pub(super) fn add_unplanned(&mut self, work: W) {
        if !self.later.contains_key(&work) {
            self.insert(work);
        }
    }

    fn insert(&mut self, work: W) {
        self.now.entry(work.namespace()).or_default().work.insert(work);
    }

    /// Adds work that is due then, if not before.
    pub(super) fn add_at(&mut self, work: W, then: Moment) {
        if self.is_due(&work) {
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

    /// Takes out what is due next: one piece of each namespace, then one of each again.
    pub(super) fn take(&mut self, now: Moment) -> Option<W> {
        while let Some((then, _)) = self.by_time.first()
            && *then <= now
            && let Some((_, work)) = self.by_time.pop_first()
        {
            self.later.remove(&work);
            self.insert(work);
        }
        let whose = following(self.last.as_ref(), |range| Some(Arc::clone(self.now.range(range).next()?.0)))?;
        let turns = self.now.get_mut(&whose)?;
        let work = turns.take();
        if turns.work.is_empty() {
            self.now.remove(&whose);
        }
        self.last = Some(whose);
        work
    }

    /// Whether work is due now.
    pub(super) fn is_due(&self, work: &W) -> bool {
        self.now.get(&work.namespace()).is_some_and(|turns| turns.work.contains(work))
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

    /// A piece of work of a namespace, of which there are more.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Piece(&'static str, u32);

    impl OfNamespace for Piece {
        fn namespace(&self) -> Arc<str> {
            self.0.into()
        }
    }

    #[test]
    fn work_is_done_once_and_at_the_earliest_time_that_was_asked_for() {
        let (mut queue, work) = (WorkQueue::default(), Piece("a", 1));
        queue.add_at(work.clone(), at(5));
        queue.add_at(work.clone(), at(3));
        queue.add_at(work.clone(), at(9));
        assert_eq!(queue.next(), Some(at(3)));
        assert_eq!(queue.take(at(2)), None, "too early");
        assert_eq!(queue.take(at(3)), Some(work.clone()));
        assert_eq!(queue.take(at(9)), None, "once");
        queue.add_at(work.clone(), at(5));
        queue.add(work.clone());
        assert_eq!(queue.take(at(0)), Some(work), "now is earlier than later");
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn who_always_has_more_to_do_does_not_hold_up_the_others() {
        let mut queue = WorkQueue::default();
        for number in 1..=3 {
            queue.add(Piece("a", number));
        }
        let mut taken = Vec::new();
        for _ in 0..6 {
            let work = queue.take(at(0)).unwrap();
            taken.push(work.1);
            queue.add(Piece("a", 1));
        }
        assert_eq!(taken, [1, 2, 3, 1, 1, 1]);
    }

    #[test]
    fn a_namespace_with_much_to_do_holds_up_no_other_one() {
        let mut queue = WorkQueue::default();
        for number in 1..=1_000 {
            queue.add(Piece("a", number));
        }
        queue.add(Piece("b", 1));
        queue.add(Piece("b", 2));
        queue.add(Piece("", 1));
        let taken = [(); 7].map(|()| queue.take(at(0)).unwrap());
        let expected = [("", 1), ("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("a", 4)];
        assert_eq!(taken, expected.map(|(namespace, number)| Piece(namespace, number)));
    }
}
