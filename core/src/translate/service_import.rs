//! The front end for `ServiceImport`.

use std::sync::Arc;

use mcwan_policy::wire::NoMatch;

use crate::api::{DataPlane, HttpRule, ImportFields, NoMatchStatus, ServiceImport};
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::{Age, Key, Unreadable};

use super::Origin;

/// What every front end turns its resource into.
pub(super) struct FrontEnd<'s> {
    /// The resource, for problems.
    pub(super) object: ObjectRef,
    /// Its fields, for problems.
    pub(super) fields: &'static ImportFields,
    pub(super) namespace: &'s str,
    pub(super) name: &'s str,
    pub(super) hostnames: &'s [String],
    /// None: every request takes the default tier.
    pub(super) rules: Option<Vec<(Origin, &'s HttpRule)>>,
    pub(super) no_match: NoMatch,
    pub(super) data_plane: Option<DataPlane>,
    pub(super) age: Option<Age>,
    /// What is known to be wrong already.
    pub(super) problems: Vec<Problem>,
}

pub(super) fn front_end<'s>(import: &'s ServiceImport, age: Age) -> FrontEnd<'s> {
    let namespace = import.metadata.namespace.as_deref().unwrap_or_default();
    let name = import.metadata.name.as_deref().unwrap_or_default();
    let http = import.spec.http.as_ref();
    let no_match = match http.map(|http| http.no_match.status).unwrap_or_default() {
        NoMatchStatus::Forbidden => NoMatch::Forbidden,
        NoMatchStatus::NotFound => NoMatch::NotFound,
        NoMatchStatus::TooManyRequests => NoMatch::TooManyRequests,
        NoMatchStatus::ServiceUnavailable => NoMatch::ServiceUnavailable,
    };
    let nothing = without_rules(namespace, name);
    let object = Arc::new(nothing.object.clone());
    let written = |(index, rule): (usize, &'s HttpRule)| {
        let (object, field) = (Arc::clone(&object), nothing.fields.rule(index));
        (Origin { name: rule.name.clone(), object, field }, rule)
    };
    FrontEnd {
        hostnames: &import.spec.hostnames,
        rules: http.map(|http| http.rules.iter().enumerate().map(written).collect()),
        no_match,
        data_plane: import.spec.data_plane,
        age: Some(age),
        ..nothing
    }
}

/// A resource that cannot be read: everything is refused, for its rules may forbid what nobody knows.
pub(super) fn unreadable<'s>(key: &'s Key, unreadable: &Unreadable) -> FrontEnd<'s> {
    let nothing = without_rules(&key.namespace, &key.name);
    let error = Problem::error(nothing.object.clone(), Reason::Unreadable, unreadable.error.as_str());
    FrontEnd {
        rules: Some(Vec::new()),
        age: Some(Age::of(&unreadable.metadata, 0)),
        problems: vec![error.hint("is the CustomResourceDefinition of another version of mcwan?")],
        ..nothing
    }
}

/// An export that nobody wrote rules for.
pub(super) fn without_rules<'s>(namespace: &'s str, name: &'s str) -> FrontEnd<'s> {
    FrontEnd {
        object: ObjectRef::namespaced("ServiceImport", namespace, name),
        fields: &ServiceImport::FIELDS,
        namespace,
        name,
        hostnames: &[],
        rules: None,
        no_match: NoMatch::default(),
        data_plane: None,
        age: None,
        problems: Vec::new(),
    }
}
