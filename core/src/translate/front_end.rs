//! The sources of rules: a front end turns a kind of resources into the rules of an import, in one form.

mod grpc_match;
mod http_match;
mod openshift;
mod route;
mod service_import;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use mcwan_policy::wire::{self, NoMatch, RefuseStatus, Serves};

pub(super) use openshift::host_of;
pub use openshift::{Admission, RouteOptions};
pub use route::Attachment;

use super::{Destination, Exports, Forwarding, Import, Origin, RouteHosts};
use crate::api::{DataPlane, Fault, HttpRule, ImportFields, RouteKind};
use crate::problem::{ObjectRef, Problem};
use crate::snapshot::{Age, Key, Keyed, Snapshot, is_from_elsewhere, is_of_hosts};

/// The kinds beside `ServiceImport` that give rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEnds {
    /// Whether `HTTPRoute`s do.
    pub http_route: bool,
    /// Whether `GRPCRoute`s do.
    pub grpc_route: bool,
    /// Whether `Route`s of `OpenShift` do.
    pub openshift_route: bool,
}

/// A text names a kind that gives no rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` gives no rules: the kinds that may are HTTPRoute, GRPCRoute and Route")]
pub struct FrontEndsError(String);

impl Default for FrontEnds {
    fn default() -> Self {
        Self { http_route: true, grpc_route: true, openshift_route: true }
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
        let mut front_ends = Self { http_route: false, grpc_route: false, openshift_route: false };
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "HTTPRoute" => front_ends.http_route = true,
                "GRPCRoute" => front_ends.grpc_route = true,
                "Route" => front_ends.openshift_route = true,
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
    pub(super) serves: Serves,
    pub(super) hostnames: &'s [String],
    /// The ports that clients use; none: those of the service.
    pub(super) ports: Option<Vec<u16>>,
    /// Hosts, and the Secrets with their certificates, the oldest claim first.
    pub(super) certificates: Vec<(String, String)>,
    /// None: nobody wrote any, and every request takes the default tier. An empty list: everything is refused.
    pub(super) rules: Option<Vec<FrontRule<'s>>>,
    /// Where others than the rules hold, the default tier: these ports that clients use.
    pub(super) default_ports: Vec<u16>,
    /// Whether ports that are not HTTP lead straight to pods: nobody wrote rules for them, which could not hold there.
    pub(super) is_direct: bool,
    /// What becomes of the routes that have the import as their parent.
    pub(super) attachments: Vec<Attachment>,
    /// What becomes of the `Route`s that it is made of.
    pub(super) admissions: BTreeMap<Key, Admission>,
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
    /// The host on which it holds; none: those of the import.
    pub(super) host: Option<String>,
    /// Alternatives. None: every request matches.
    pub(super) matches: Vec<wire::Match>,
    /// The ports that clients use on which it holds; none: all.
    pub(super) ports: Vec<u16>,
    /// What is done with what matches.
    pub(super) deed: Deed<'s>,
    /// How it answers where what it asks for cannot be had.
    pub(super) refused: RefuseStatus,
}

/// What a rule does.
pub(super) enum Deed<'s> {
    /// What Gateway API has for it: filters, backends and timeouts; its matches are not looked at. And why that is not known.
    Asked(&'s HttpRule, Option<&'s Fault>),
    /// Requests are shared; where there is nobody, refused.
    Shared(Vec<Share>),
    /// Requests are redirected.
    Redirected(wire::Redirect),
}

/// A destination, and its share.
pub(super) struct Share {
    pub(super) destination: Destination,
    pub(super) forwarding: Forwarding,
    pub(super) path: Option<wire::PathRewrite>,
    pub(super) weight: u32,
}

impl<'s> Deed<'s> {
    /// Why it is not known, if it is not.
    fn fault(&self) -> Option<&'s Fault> {
        match self {
            Self::Asked(_, fault) => *fault,
            Self::Shared(_) | Self::Redirected(_) => None,
        }
    }
}

impl<'s> FrontEnd<'s> {
    /// What is said of an import; none where nobody says anything, and no cluster exports it here. Whose rules hold: those
    /// of its `ServiceImport`, else those of routes, else the default tier. What hosts users may choose depends on the imports
    /// of the namespace.
    pub(super) fn of(
        key: &'s Key,
        snapshot: &'s Snapshot,
        exports: &Exports,
        (kinds, hosts, imports): (FrontEnds, &'s RouteHosts, &Keyed<Arc<Import>>),
    ) -> Option<Self> {
        if is_of_hosts(key) {
            return kinds.openshift_route.then(|| Self::of_routes(key, snapshot, exports, hosts, imports)).flatten();
        }
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
