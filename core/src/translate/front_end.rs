//! The sources of rules: a front end turns a kind of resources into the rules of an import, in one form.

mod http_match;
mod service_import;

use mcwan_policy::wire::{self, NoMatch};

use super::Origin;
use crate::api::{DataPlane, HttpRule, ImportFields};
use crate::problem::{ObjectRef, Problem};
use crate::snapshot::{Age, Key, Snapshot};

/// What is said of an import, whoever says it.
pub(super) struct FrontEnd<'s> {
    /// The resource, for problems.
    pub(super) object: ObjectRef,
    /// Its fields, for problems.
    pub(super) fields: &'static ImportFields,
    pub(super) namespace: &'s str,
    pub(super) name: &'s str,
    pub(super) hostnames: &'s [String],
    /// None: nobody wrote any, and every request takes the default tier. An empty list: everything is refused.
    pub(super) rules: Option<Vec<FrontRule<'s>>>,
    pub(super) no_match: NoMatch,
    pub(super) data_plane: Option<DataPlane>,
    pub(super) age: Option<Age>,
    /// What is known to be wrong already.
    pub(super) problems: Vec<Problem>,
}

/// A rule as a front end gives it.
pub(super) struct FrontRule<'s> {
    /// Where it was written.
    pub(super) origin: Origin,
    /// Alternatives. None: every request matches.
    pub(super) matches: Vec<wire::Match>,
    /// What is done with what matches: filters, backends and timeouts; its matches are not looked at.
    pub(super) rule: &'s HttpRule,
}

impl<'s> FrontEnd<'s> {
    /// What is said of an import; none where nobody says anything, and no cluster exports it here.
    pub(super) fn of(key: &'s Key, snapshot: &'s Snapshot, is_exported: bool) -> Option<Self> {
        let Key { namespace, name } = key;
        if let Some(unreadable) = snapshot.unreadable_imports.get(namespace, name) {
            Some(Self::of_unreadable(key, unreadable))
        } else if let Some(import) = snapshot.service_imports.get(namespace, name) {
            snapshot.service_imports.age(namespace, name).map(|age| Self::of_service_import(import, age))
        } else {
            (is_exported && snapshot.has_namespace(namespace)).then(|| Self::without_rules(namespace, name))
        }
    }
}
