//! What is left of versions in force while policies take away what they steer to, and a later one is waited for.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcwan_core::snapshot::Key;
use mcwan_core::translate::{Exports, Import};

use super::{Namespace, RequestOutcome, said};

/// A version, but for what policies have taken away since.
pub(super) struct Withdrawn {
    /// The version.
    pub(super) of: usize,
    pub(super) import: Import,
    pub(super) outcomes: Vec<RequestOutcome>,
}

/// Works out what is left of versions by these policies, and of what was left of them by others.
pub(super) fn withdraw(
    all: &mut BTreeMap<Key, Vec<Withdrawn>>,
    versions: &BTreeMap<Key, Vec<Option<Arc<Import>>>>,
    namespaces: &BTreeMap<&'static str, Namespace>,
    exports: &Exports,
) {
    for (key, known) in all {
        let whole = versions[key].iter().enumerate().filter_map(|(of, version)| Some((of, &**version.as_ref()?)));
        let left = known.iter().map(|withdrawn| (withdrawn.of, &withdrawn.import)).chain(whole);
        let left = left.filter_map(|(of, import)| Some((of, import.withdrawn(exports)?)));
        for (of, import) in left.collect::<Vec<_>>() {
            if !known.iter().any(|known| known.of == of && known.import.wire == import.wire) {
                let outcomes = said(&key.namespace, &import, &namespaces[&*key.namespace].requests);
                known.push(Withdrawn { of, import, outcomes });
            }
        }
    }
}
