//! What imports of one kind were told to be, and what each version says of each request.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcwan_core::api::DataPlane;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::{Exports, Import, Target, Translator};
use mcwan_policy::wire::{self, RefuseReason};

use super::withdrawn::{self, Withdrawn};
use super::{Namespace, Request, RequestOutcome, data_plane, said};
use crate::script::imports;

/// The imports of one kind.
pub(crate) struct History {
    pub(crate) data_plane: DataPlane,
    /// The versions of each import, the oldest first.
    pub(crate) versions: BTreeMap<Key, Vec<Option<Arc<Import>>>>,
    /// What each of them says of each request, as far as it has the host.
    outcomes: BTreeMap<Key, Vec<Vec<RequestOutcome>>>,
    /// What becomes of versions while a later one is waited for and policies take away what they steer to.
    withdrawn: BTreeMap<Key, Vec<Withdrawn>>,
}

impl History {
    pub(super) fn new(data_plane: DataPlane) -> Self {
        Self {
            data_plane,
            versions: imports().into_iter().map(|key| (key, vec![None])).collect(),
            outcomes: imports().into_iter().map(|key| (key, vec![Vec::new()])).collect(),
            withdrawn: imports().into_iter().map(|key| (key, Vec::new())).collect(),
        }
    }

    /// Takes in what a translation says by now. Gives the imports that are others.
    pub(super) fn add(&mut self, translator: &Translator) -> Vec<Key> {
        let mut changed = Vec::new();
        for (key, versions) in &mut self.versions {
            let now = translator.imports().get(&key.namespace, &key.name);
            let now = now.filter(|import| data_plane(import) == self.data_plane);
            if versions.last().and_then(Option::as_ref) != now {
                versions.push(now.cloned());
                changed.push(key.clone());
            }
        }
        changed
    }

    /// Works out what new versions say, and what policies leave of them.
    pub(super) fn work_out(&mut self, namespaces: &BTreeMap<&'static str, Namespace>, exports: &Exports) {
        for (key, versions) in &self.versions {
            let outcomes = self.outcomes.get_mut(key).expect("it is known");
            for version in versions.iter().skip(outcomes.len()) {
                outcomes.push(match version {
                    None => Vec::new(),
                    Some(import) => said(&key.namespace, import, &namespaces[&*key.namespace].requests),
                });
            }
        }
        withdrawn::withdraw(&mut self.withdrawn, &self.versions, namespaces, exports);
    }

    /// The newest version of each import of a namespace, by its place.
    pub(super) fn newest(&self, namespace: &str) -> BTreeMap<Key, usize> {
        let own = self.versions.iter().filter(|(key, _)| *key.namespace == *namespace);
        own.map(|(key, versions)| (key.clone(), versions.len() - 1)).collect()
    }

    /// Whether a version of an import that is not before this one says so of a request.
    pub(crate) fn says(&self, import: &Key, since: usize, place: usize, outcome: &RequestOutcome) -> bool {
        let withdrawn = self.withdrawn[import].iter().filter(|withdrawn| withdrawn.of >= since);
        let whole = self.outcomes[import].iter().skip(since);
        whole.chain(withdrawn.map(|withdrawn| &withdrawn.outcomes)).any(|said| said.get(place) == Some(outcome))
    }

    /// What a version of an import says of a request.
    pub(crate) fn outcome(&self, import: &Key, version: usize, place: usize) -> Option<&RequestOutcome> {
        self.outcomes[import].get(version)?.get(place)
    }

    /// Whether a version of an import that is not before this one says so of a request where no other target has a route.
    pub(crate) fn says_in_part(&self, import: &Key, since: usize, request: &Request, target: &str) -> bool {
        let mut since = self.versions[import].iter().skip(since).flatten();
        since.any(|version| {
            let own = version.targets.iter().filter(|own| *own.name != *target);
            let others = own.map(Target::steering_value).collect();
            let left = version.without(&others, RefuseReason::BackendNotFound);
            said(&import.namespace, &left, std::slice::from_ref(request))
                .iter()
                .any(|said| matches!(said, RequestOutcome::Reached { target: reached, .. } if reached == target))
        })
    }

    /// Whether somebody exports the service of a version of an import, and of all since.
    pub(crate) fn is_exported_since(&self, import: &Key, version: usize) -> bool {
        let mut since = self.versions.get(import).into_iter().flatten().skip(version);
        since.all(|version| version.as_ref().is_some_and(|import| import.clusterset.is_some()))
    }

    /// Whether a service was headless at any time, or was not: its Service is then made anew.
    pub(crate) fn was_of_type(&self, import: &Key, is_headless: bool) -> bool {
        let known = self.versions[import].iter().flatten().filter_map(|known| known.clusterset.as_ref());
        known.into_iter().any(|clusterset| clusterset.is_headless() == is_headless)
    }

    /// Whether so many versions of an import in a row, the last among them, can be served.
    pub(crate) fn is_served_for(&self, import: &Key, count: usize) -> bool {
        let mut last = self.versions.get(import).into_iter().flatten().rev().take(count);
        last.all(|version| version.as_ref().is_some_and(|import| !import.ports.is_empty()))
    }

    /// A version of an import.
    pub(crate) fn version(&self, import: &Key, version: usize) -> Option<&Arc<Import>> {
        self.versions.get(import)?.get(version)?.as_ref()
    }

    /// The last version of an import, if there is any.
    pub(crate) fn last(&self, import: &Key) -> Option<&Arc<Import>> {
        self.versions.get(import)?.last()?.as_ref()
    }

    /// Which version of an import a filter carries that comes after one that carried `before`: the first that it may be.
    pub(crate) fn carried(&self, key: &Key, wire: Option<&wire::Import>, before: usize) -> Option<usize> {
        let versions = &self.versions[key];
        let is_it = |version: &Option<Arc<Import>>| match (version, wire) {
            (Some(import), Some(wire)) => import.wire == *wire || import.wire.too_large() == *wire,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let later = versions.iter().skip(before).position(is_it).map(|place| place + before);
        let withdrawn = self.withdrawn[key].iter().filter(|withdrawn| withdrawn.of >= before);
        let mut withdrawn = withdrawn.filter(|withdrawn| Some(&withdrawn.import.wire) == wire);
        later.or_else(|| Some(withdrawn.next()?.of)).or_else(|| versions.iter().rposition(is_it))
    }
}
