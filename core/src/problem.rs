//! What is wrong with an object, for the person who wrote it.

mod field;
mod not_permitted;
mod reason;

pub use field::{FieldPath, Segment};
pub use not_permitted::NotPermitted;
pub use reason::{Effect, Reason};

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::Serialize;

/// So many faults that the filter and routes have with an import are told: each is compared with the others, and nobody reads
/// more.
pub(crate) const MOST_TOLD: usize = 1_000;

/// One thing that is wrong with one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether it must be put right.
    pub severity: Severity,
    /// The object.
    pub object: ObjectRef,
    /// The field; the root: the object as a whole.
    pub field: FieldPath,
    /// Why it is wrong, for machines.
    pub reason: Reason,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where it is that requests may not take a tier: by which policies.
    pub not_permitted: Vec<NotPermitted>,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Harmless as it is, but probably not what was meant.
    Warning,
    /// Something that was asked for is not done.
    Error,
}

/// Names an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: String,
    /// Its namespace; none for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Problem {
    /// An error of an object as a whole.
    pub fn error(object: ObjectRef, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            object,
            field: FieldPath::root(),
            reason,
            message: message.into(),
            hint: None,
            not_permitted: Vec::new(),
        }
    }

    /// A warning about an object as a whole.
    pub fn warning(object: ObjectRef, reason: Reason, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(object, reason, message) }
    }

    /// The same, of one field.
    #[must_use]
    pub fn at(self, field: impl Into<FieldPath>) -> Self {
        Self { field: field.into(), ..self }
    }

    /// The same, with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl ObjectRef {
    /// Names an object that is at hand.
    pub fn of<T: Resource<DynamicType = ()>>(object: &T) -> Self {
        let ObjectMeta { namespace, name, .. } = object.meta().clone();
        Self { kind: T::kind(&()).into_owned(), namespace, name: name.unwrap_or_default() }
    }

    /// An object of a namespace.
    pub fn namespaced(kind: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: Some(namespace.into()), name: name.into() }
    }

    /// An object of the cluster.
    pub fn cluster(kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: None, name: name.into() }
    }
}

/// `ServiceImport secure/payment`, `WANPolicy sd-wan-priority-high`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        formatter.write_str(&self.name)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}
