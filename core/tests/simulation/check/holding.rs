//! What holds of imports.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_core::snapshot::Key;

use crate::told::History;

/// What holds of the imports of one kind.
#[derive(Default)]
pub(crate) struct Holding {
    /// The version of each import that has held everywhere, or a later one has.
    pub(super) held: BTreeMap<Key, usize>,
    /// The imports that have once worked.
    pub(super) established: BTreeSet<Key>,
    /// The imports that may be lost until this version of them holds; none: one that is still to be told.
    excused: BTreeMap<Key, Option<usize>>,
}

impl Holding {
    /// The version of an import that has held everywhere, or a later one has.
    pub(crate) fn held(&self, import: &Key) -> usize {
        self.held.get(import).copied().unwrap_or_default()
    }

    /// An import may be lost until its newest version holds.
    pub(super) fn excuse(&mut self, import: &Key, history: &History) {
        self.excused.insert(import.clone(), Some(history.versions[import].len() - 1));
    }

    /// An import may be lost until a version of it holds that is still to be told; then, [`Holding::excuse`].
    pub(super) fn excuse_until_told(&mut self, import: &Key) {
        self.excused.insert(import.clone(), None);
    }

    /// Whether such a version of an import is still to be told.
    pub(super) fn is_to_be_told(&self, import: &Key) -> bool {
        self.excused.get(import) == Some(&None)
    }

    pub(super) fn is_excused(&self, import: &Key) -> bool {
        let excused = self.excused.get(import);
        excused.is_some_and(|excused| excused.is_none_or(|excused| self.held(import) < excused))
    }

    /// A version of an import may hold again that is as old as this.
    pub(crate) fn go_back(&mut self, import: &Key, version: usize, history: &History) {
        let held = self.held.entry(import.clone()).or_default();
        *held = (*held).min(version);
        self.excuse(import, history);
    }

    /// An import that holds as it is wanted, and is not wanted, has to work anew.
    pub(super) fn forget_gone(&mut self, import: &Key, history: &History) {
        let versions = &history.versions[import];
        if self.held(import) + 1 == versions.len() && versions.last().is_some_and(Option::is_none) {
            self.established.remove(import);
        }
    }
}
