//! The sources of rules: a front end turns a kind of resources into the rules of an import, in one form.

mod grpc_match;
mod http_match;
mod route;
mod service_import;

use std::collections::BTreeSet;
use std::str::FromStr;

use mcwan_policy::wire::{self, NoMatch, RefuseStatus};

pub use route::Attachment;

use super::{Exports, Origin};
use crate::api::{DataPlane, Fault, HttpRule, ImportFields, RouteKind};
use crate::problem::{ObjectRef, Problem};
use crate::snapshot::{Age, Key, Snapshot, is_from_elsewhere};

/// The kinds beside `ServiceImport` that give rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEnds {
    /// Whether `HTTPRoute`s do.
    pub http_route: bool,
    /// Whether `GRPCRoute`s do.
    pub grpc_route: bool,
}

/// A text names a kind that gives no rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` gives no rules: the kinds that may are HTTPRoute and GRPCRoute")]
pub struct FrontEndsError(String);

impl Default for FrontEnds {
    fn default() -> Self {
        Self { http_route: true, grpc_route: true }
    }
}

impl FrontEnds {
    /// Whether routes of a kind give rules.
    pub fn has(self, kind: RouteKind) -> bool {
        match kind {
            RouteKind::Http => self.http_route,
            RouteKind::Grpc => self.grpc_route,
        }
    }
}

/// Names with commas between them.
impl FromStr for FrontEnds {
    type Err = FrontEndsError;

    fn from_str(names: &str) -> Result<Self, FrontEndsError> {
        let mut front_ends = Self { http_route: false, grpc_route: false };
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "HTTPRoute" => front_ends.http_route = true,
                "GRPCRoute" => front_ends.grpc_route = true,
                _ => return Err(FrontEndsError(name.to_owned())),
            }
        }
        Ok(front_ends)
    }
}

/// What is said of an import, whoever says it.
pub(super) struct FrontEnd<'s> {
    /// What it is known by.
    pub(super) key: &'s Key,
    /// The resource, for problems.
    pub(super) object: ObjectRef,
    /// Its fields, for problems.
    pub(super) fields: &'static ImportFields,
    pub(super) namespace: &'s str,
    pub(super) name: &'s str,
    pub(super) hostnames: &'s [String],
    /// None: nobody wrote any, and every request takes the default tier. An empty list: everything is refused.
    pub(super) rules: Option<Vec<FrontRule<'s>>>,
    /// Where others than the rules hold, the default tier: these ports that clients use.
    pub(super) default_ports: Vec<u16>,
    /// What becomes of the routes that have the import as their parent.
    pub(super) attachments: Vec<Attachment>,
    /// The Services that these depend on.
    pub(super) services: BTreeSet<Key>,
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
    /// The ports that clients use on which it holds; none: all.
    pub(super) ports: Vec<u16>,
    /// What is done with what matches: filters, backends and timeouts; its matches are not looked at.
    pub(super) rule: &'s HttpRule,
    /// Why that is not known.
    pub(super) fault: Option<&'s Fault>,
    /// How it answers where what it asks for cannot be had.
    pub(super) refused: RefuseStatus,
}

impl<'s> FrontEnd<'s> {
    /// What is said of an import; none where nobody says anything, and no cluster exports it here. Whose rules hold: those
    /// of its `ServiceImport`, else those of routes, else the default tier.
    pub(super) fn of(key: &'s Key, snapshot: &'s Snapshot, exports: &Exports, kinds: FrontEnds) -> Option<Self> {
        if is_from_elsewhere(key) {
            return Self::of_view(key, snapshot, exports, kinds);
        }
        let Key { namespace, name } = key;
        let is_exported = exports.sources(namespace, name).next().is_some();
        let (front_end, is_open) = if let Some(unreadable) = snapshot.unreadable_imports.get(namespace, name) {
            (Self::of_unreadable(key, unreadable), false)
        } else if let Some(import) = snapshot.service_imports.get(namespace, name) {
            let is_open = import.spec.http.as_ref().is_none_or(|http| http.rules.is_none());
            (Self::of_service_import(key, import, snapshot.service_imports.age(namespace, name)?), is_open)
        } else if is_exported && snapshot.has_namespace(namespace) {
            (Self::without_rules(key, namespace, name), true)
        } else {
            return None;
        };
        Some(front_end.with_routes(key, is_open, snapshot, exports, kinds))
    }
}
