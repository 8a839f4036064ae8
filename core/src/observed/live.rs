//! What is kept of an object of the API server.

use serde_json::Value;

use super::digest::Digest;
use crate::emit::kubernetes::{CLUSTER_LABEL, MANAGED_BY_LABEL, MANAGER};

/// An object of the API server, but for its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// When it was last changed: of two states of an object the one with the higher version is the later (KEP-5504).
    /// 0 if it is not a number.
    pub version: u64,
    /// Tells it from others of the same name, earlier and later.
    pub uid: Box<str>,
    /// Who wrote it.
    pub owner: Owner,
    /// Whether it is about to go.
    pub deleting: bool,
}

/// Who wrote an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This controller, and what of it. It has our label, and our field manager has applied it. (The label
    /// alone says little: istiod and the controller of endpoint slices copy labels of our Gateways and Services to what
    /// they make of them.)
    Ours(Digest),
    /// Somebody else.
    Foreign,
}

impl Live {
    /// Reads an object as the API server gives it, `managedFields` included. What another cluster's controller wrote
    /// into the registry looks like ours: see [`Live::seen_from`].
    pub fn of(object: &Value) -> Self {
        let text = |field| metadata(object, field).and_then(Value::as_str).unwrap_or_default();
        let is_labelled = label(object, MANAGED_BY_LABEL) == Some(MANAGER);
        let content = if is_labelled { Digest::of_live(object) } else { None };
        Self {
            version: text("resourceVersion").parse().unwrap_or_default(),
            uid: text("uid").into(),
            owner: content.map_or(Owner::Foreign, Owner::Ours),
            deleting: metadata(object, "deletionTimestamp").is_some(),
        }
    }

    /// Whether this controller wrote it.
    pub fn is_ours(&self) -> bool {
        matches!(self.owner, Owner::Ours(_))
    }

    /// The same for one of the clusters: an object of the registry is ours only if `writer`, its [`registry_writer`], is
    /// this cluster.
    #[must_use]
    pub fn seen_from(self, cluster: &str, writer: Option<&str>) -> Self {
        if writer.is_none_or(|writer| writer == cluster) { self } else { Self { owner: Owner::Foreign, ..self } }
    }
}

/// The cluster that wrote an object of the registry.
pub fn registry_writer(object: &Value) -> Option<&str> {
    label(object, CLUSTER_LABEL)
}

fn metadata<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(field)
}

fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    metadata(object, "labels")?.get(name)?.as_str()
}
