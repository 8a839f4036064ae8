//! The front end for `ServiceImport`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcwan_policy::wire::{NoMatch, RefuseStatus, Serves};

use super::http_match::wire_match;
use super::{Deed, FrontEnd, FrontRule};
use crate::api::{GROUP, HttpRule, NoMatchStatus, ServiceImport};
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::{Age, Key, Unreadable, is_from_elsewhere};
use crate::translate::Origin;

impl<'s> FrontEnd<'s> {
    /// What its `ServiceImport` says.
    pub(super) fn of_service_import(key: &'s Key, import: &'s ServiceImport, age: Age) -> Self {
        let namespace = import.metadata.namespace.as_deref().unwrap_or_default();
        let name = import.metadata.name.as_deref().unwrap_or_default();
        let http = import.spec.http.as_ref();
        let no_match = match http.and_then(|http| http.no_match).unwrap_or_default().status {
            NoMatchStatus::Forbidden => NoMatch::Forbidden,
            NoMatchStatus::NotFound => NoMatch::NotFound,
            NoMatchStatus::TooManyRequests => NoMatch::TooManyRequests,
            NoMatchStatus::ServiceUnavailable => NoMatch::ServiceUnavailable,
        };
        let nothing = Self::without_rules(key, namespace, name);
        let object = Arc::new(nothing.object.clone());
        let written = |(index, rule): (usize, &'s HttpRule)| {
            let (object, field) = (Arc::clone(&object), nothing.fields.rule(index));
            let origin = Origin { name: rule.name.clone(), object, group: GROUP, field };
            FrontRule {
                origin,
                matches: rule.matches.iter().map(wire_match).collect(),
                ports: Vec::new(),
                host: None,
                deed: Deed::Asked(rule, None),
                refused: RefuseStatus::default(),
            }
        };
        Self {
            hostnames: &import.spec.hostnames,
            rules: http.map(|http| http.rules.iter().flatten().enumerate().map(written).collect()),
            is_direct: http.is_none(),
            no_match,
            data_plane: import.spec.data_plane,
            age: Some(age),
            ..nothing
        }
    }

    /// A resource that cannot be read: everything is refused, for its rules may forbid what nobody knows.
    pub(super) fn of_unreadable(key: &'s Key, unreadable: &'s Unreadable) -> Self {
        let nothing = Self::without_rules(key, &key.namespace, &key.name);
        let error = Problem::error(nothing.object.clone(), Reason::Unreadable, unreadable.error.as_str());
        Self {
            hostnames: &unreadable.hostnames,
            rules: Some(Vec::new()),
            is_direct: false,
            age: Some(Age::of(&unreadable.metadata, 0)),
            problems: vec![error.hint("is the CustomResourceDefinition of another version of mcwan?")],
            ..nothing
        }
    }

    /// An export that nobody wrote rules for.
    pub(in crate::translate) fn without_rules(key: &'s Key, namespace: &'s str, name: &'s str) -> Self {
        Self {
            key,
            object: ObjectRef::namespaced("ServiceImport", namespace, name),
            fields: &ServiceImport::FIELDS,
            namespace,
            name,
            serves: if is_from_elsewhere(key) { Serves::View } else { Serves::Service },
            hostnames: &[],
            ports: None,
            certificates: Vec::new(),
            rules: None,
            default_ports: Vec::new(),
            is_direct: true,
            attachments: Vec::new(),
            admissions: BTreeMap::new(),
            services: BTreeSet::new(),
            no_match: NoMatch::default(),
            data_plane: None,
            age: None,
            problems: Vec::new(),
        }
    }
}
