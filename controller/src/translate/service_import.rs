//! The front end for `ServiceImport`.

use mcwan_policy::wire::NoMatch;

use crate::api::{DataPlane, HttpRule, NoMatchStatus, ServiceImport};
use crate::problem::ObjectRef;

/// What every front end turns its resource into.
pub(super) struct FrontEnd<'s> {
    /// The resource, for problems.
    pub(super) object: ObjectRef,
    pub(super) namespace: &'s str,
    pub(super) name: &'s str,
    pub(super) hostnames: &'s [String],
    /// None: every request takes the default tier.
    pub(super) rules: Option<&'s [HttpRule]>,
    pub(super) no_match: NoMatch,
    pub(super) data_plane: Option<DataPlane>,
}

impl FrontEnd<'_> {
    /// The field of a rule, for problems.
    pub(super) fn rule_field(index: usize) -> String {
        format!("spec.http.rules[{index}]")
    }

    /// The field of a hostname, for problems.
    pub(super) fn hostname_field(index: usize) -> String {
        format!("spec.hostnames[{index}]")
    }
}

pub(super) fn front_end(import: &ServiceImport) -> FrontEnd<'_> {
    let namespace = import.metadata.namespace.as_deref().unwrap_or_default();
    let name = import.metadata.name.as_deref().unwrap_or_default();
    let http = import.spec.http.as_ref();
    let no_match = match http.map(|http| http.no_match.status).unwrap_or_default() {
        NoMatchStatus::Forbidden => NoMatch::Forbidden,
        NoMatchStatus::NotFound => NoMatch::NotFound,
        NoMatchStatus::TooManyRequests => NoMatch::TooManyRequests,
        NoMatchStatus::ServiceUnavailable => NoMatch::ServiceUnavailable,
    };
    FrontEnd {
        object: ObjectRef::namespaced("ServiceImport", namespace, name),
        namespace,
        name,
        hostnames: &import.spec.hostnames,
        rules: http.map(|http| &*http.rules),
        no_match,
        data_plane: import.spec.data_plane,
    }
}

/// An export that nobody wrote rules for.
pub(super) fn without_rules<'s>(namespace: &'s str, name: &'s str) -> FrontEnd<'s> {
    FrontEnd {
        object: ObjectRef::namespaced("ServiceImport", namespace, name),
        namespace,
        name,
        hostnames: &[],
        rules: None,
        no_match: NoMatch::default(),
        data_plane: None,
    }
}
