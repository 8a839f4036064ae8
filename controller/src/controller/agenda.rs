//! What is to be looked at, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::unit::Unit;

/// The units that are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    now: BTreeSet<Unit>,
    later: BTreeMap<Unit, Wait>,
}

/// What a unit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// It failed, and is tried again then or when something of it changes.
    Retry(Instant),
    /// It must not be looked at before then.
    Held(Instant),
}

impl Agenda {
    /// A unit may be otherwise: it is looked at as soon as it may.
    pub(super) fn add(&mut self, unit: Unit) {
        match self.later.get(&unit) {
            Some(Wait::Held(_)) => {}
            Some(Wait::Retry(_)) | None => {
                self.later.remove(&unit);
                self.now.insert(unit);
            }
        }
    }

    /// A unit must not be looked at before then, and is to be looked at then.
    pub(super) fn hold(&mut self, unit: Unit, until: Instant) {
        self.now.remove(&unit);
        let until = match self.later.get(&unit) {
            Some(Wait::Held(known)) => until.max(*known),
            Some(Wait::Retry(_)) | None => until,
        };
        self.later.insert(unit, Wait::Held(until));
    }

    /// A unit failed: it is looked at again then.
    pub(super) fn retry(&mut self, unit: Unit, then: Instant) {
        if self.now.contains(&unit) {
            return;
        }
        match self.later.get(&unit) {
            Some(Wait::Held(_)) => {}
            Some(Wait::Retry(known)) if *known <= then => {}
            Some(Wait::Retry(_)) | None => drop(self.later.insert(unit, Wait::Retry(then))),
        }
    }

    /// Takes some units out, in order. What the cluster has once comes by itself.
    pub(super) fn take(&mut self, most: usize, now: Instant) -> Vec<Unit> {
        let due: Vec<_> = self.later.extract_if(.., |_, wait| wait.until() <= now).map(|(unit, _)| unit).collect();
        self.now.extend(due);
        let mut taken: Vec<Unit> = Vec::new();
        while let Some(next) = self.now.first()
            && taken.len() < most
            && taken.first().is_none_or(|first| first.namespace.is_empty() == next.namespace.is_empty())
        {
            taken.extend(self.now.pop_first());
        }
        taken
    }

    /// Whether something is to be looked at now.
    pub(super) fn is_due(&self) -> bool {
        !self.now.is_empty()
    }

    /// Whether a unit is to be looked at for another reason than that it failed.
    pub(super) fn awaits(&self, unit: &Unit) -> bool {
        self.now.contains(unit) || matches!(self.later.get(unit), Some(Wait::Held(_)))
    }

    /// When the next is to be looked at, of those that wait.
    pub(super) fn next(&self) -> Option<Instant> {
        self.later.values().map(|wait| wait.until()).min()
    }
}

impl Wait {
    fn until(self) -> Instant {
        match self {
            Self::Retry(then) | Self::Held(then) => then,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::unit::Part;
    use super::*;

    fn mk_unit(namespace: &str, part: Part) -> Unit {
        Unit { namespace: namespace.into(), part }
    }

    #[test]
    fn what_the_cluster_has_once_comes_by_itself_and_egress_behind_imports() {
        let mut agenda = Agenda::default();
        let import = |name: &str| mk_unit("a", Part::Import(name.into()));
        for unit in [mk_unit("a", Part::Egress), import("y"), mk_unit("", Part::Cluster), import("x")] {
            agenda.add(unit);
        }
        let now = Instant::now();
        assert_eq!(agenda.take(9, now), [mk_unit("", Part::Cluster)]);
        assert_eq!(agenda.take(2, now), [import("x"), import("y")]);
        assert_eq!(agenda.take(9, now), [mk_unit("a", Part::Egress)]);
        assert!(!agenda.is_due());
    }

    #[test]
    fn a_change_ends_the_wait_after_a_failure_but_no_hold() {
        let (now, soon) = (Instant::now(), Instant::now() + Duration::from_mins(1));
        let (failed, held) = (mk_unit("a", Part::Ingress), mk_unit("a", Part::Egress));
        let mut agenda = Agenda::default();
        agenda.retry(failed.clone(), soon);
        agenda.hold(held.clone(), soon);
        assert_eq!(agenda.take(9, now), []);
        assert_eq!(agenda.next(), Some(soon));
        assert!(agenda.awaits(&held) && !agenda.awaits(&failed), "a failure can be told of meanwhile");
        agenda.add(failed.clone());
        agenda.add(held.clone());
        assert_eq!(agenda.take(9, now), [failed]);
        assert_eq!(agenda.take(9, soon), [held]);
    }
}
