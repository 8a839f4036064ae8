//! The front end for `ServiceImport`.

use std::sync::{Arc, LazyLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use mcwan_policy::wire::NoMatch;

use crate::api::{DataPlane, HttpRule, NoMatchStatus, ServiceImport};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Age, Key, Unreadable};

use super::{ImportFields, Origin, owner};

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
    pub(super) rules: Option<Vec<WrittenRule<'s>>>,
    pub(super) no_match: NoMatch,
    pub(super) data_plane: Option<DataPlane>,
    pub(super) age: Option<Age>,
    pub(super) owner: Option<OwnerReference>,
    /// What is known to be wrong already.
    pub(super) problems: Vec<Problem>,
}

/// A rule in the shape of Gateway API, and where it was written.
#[derive(Clone)]
pub(super) struct WrittenRule<'s> {
    pub(super) origin: Origin,
    pub(super) rule: &'s HttpRule,
}

/// Where a `ServiceImport` says what it says.
static FIELDS: LazyLock<ImportFields> = LazyLock::new(|| ImportFields {
    rules: ServiceImport::http_field(),
    hostnames: FieldPath::spec("hostnames"),
    no_match: ServiceImport::http_field().field("noMatch").field("status"),
    data_plane: FieldPath::spec("dataPlane"),
});

pub(super) fn front_end(import: &ServiceImport, age: Age) -> FrontEnd<'_> {
    let namespace = import.metadata.namespace.as_deref().unwrap_or_default();
    let name = import.metadata.name.as_deref().unwrap_or_default();
    let http = import.spec.http.as_ref();
    let no_match = match http.map(|http| http.no_match.status).unwrap_or_default() {
        NoMatchStatus::Forbidden => NoMatch::Forbidden,
        NoMatchStatus::NotFound => NoMatch::NotFound,
        NoMatchStatus::TooManyRequests => NoMatch::TooManyRequests,
        NoMatchStatus::ServiceUnavailable => NoMatch::ServiceUnavailable,
    };
    let object = ObjectRef::namespaced("ServiceImport", namespace, name);
    let rules = http.map(|http| {
        let object = Arc::new(object.clone());
        let origin = |index| Origin { object: Arc::clone(&object), field: ServiceImport::rule_field(index) };
        http.rules.iter().enumerate().map(|(index, rule)| WrittenRule { origin: origin(index), rule }).collect()
    });
    FrontEnd {
        object,
        fields: &FIELDS,
        namespace,
        name,
        hostnames: &import.spec.hostnames,
        rules,
        no_match,
        data_plane: import.spec.data_plane,
        age: Some(age),
        owner: owner(import, &()),
        problems: Vec::new(),
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
        fields: &FIELDS,
        namespace,
        name,
        hostnames: &[],
        rules: None,
        no_match: NoMatch::default(),
        data_plane: None,
        age: None,
        owner: None,
        problems: Vec::new(),
    }
}
