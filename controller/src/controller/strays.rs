//! What may be ours and is not to be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mcwan_core::emit::object::ObjectId;

/// Objects that may be ours and are not to be.
#[derive(Debug, Default)]
pub(super) struct Strays {
    now: BTreeSet<ObjectId>,
    /// Those that could not be deleted: not before then.
    later: BTreeMap<ObjectId, Instant>,
}

impl Strays {
    /// These are not to be. One that waits waits on.
    pub(super) fn extend(&mut self, ids: impl IntoIterator<Item = ObjectId>) {
        self.now.extend(ids.into_iter().filter(|id| !self.later.contains_key(id)));
    }

    /// One could not be deleted.
    pub(super) fn retry(&mut self, id: ObjectId, then: Instant) {
        self.later.insert(id, then);
    }

    /// Takes out those that are to be looked at.
    pub(super) fn take(&mut self, now: Instant) -> BTreeSet<ObjectId> {
        let due = self.later.extract_if(.., |_, then| *then <= now).map(|(id, _)| id);
        self.now.extend(due);
        std::mem::take(&mut self.now)
    }

    /// Whether one is to be looked at.
    pub(super) fn are_due(&self, now: Instant) -> bool {
        !self.now.is_empty() || self.later.values().any(|then| *then <= now)
    }

    /// When the next is to be looked at, of those that wait.
    pub(super) fn next(&self) -> Option<Instant> {
        self.later.values().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use mcwan_core::emit::object::Kind;
    use mcwan_core::snapshot::Key;

    fn mk_id(name: &str) -> ObjectId {
        ObjectId { kind: Kind::Service, key: Key::new("mc-wan", name) }
    }

    #[test]
    fn one_that_could_not_be_deleted_holds_up_no_other_and_is_not_asked_for_meanwhile() {
        let (now, soon) = (Instant::now(), Instant::now() + Duration::from_mins(1));
        let mut strays = Strays::default();
        strays.retry(mk_id("refused"), soon);
        assert!(!strays.are_due(now));
        assert_eq!(strays.next(), Some(soon));
        strays.extend([mk_id("refused"), mk_id("new")]);
        assert!(strays.are_due(now));
        assert_eq!(strays.take(now), [mk_id("new")].into());
        assert!(!strays.are_due(now) && strays.are_due(soon));
        assert_eq!(strays.take(soon), [mk_id("refused")].into());
        assert_eq!(strays.next(), None);
    }
}
