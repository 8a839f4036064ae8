//! What is kept of an object of the API server.

use serde_json::Value;

use super::digest::Digest;
use super::fields::without_additions;
use crate::api::REGISTRY_NAMESPACE;
use crate::emit::kubernetes::{CLUSTER_LABEL, IMPORT_LABEL, MANAGED_BY_LABEL, MANAGER, NAMESPACE_LABEL, live_revision};
use crate::snapshot::Key;

/// An object of the API server, but for its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// When it was last changed: of two states of an object the one with the higher version is the later (KEP-5504).
    /// 0 if it is not a number.
    pub version: u64,
    /// Tells it from others of the same name, earlier and later.
    pub uid: Box<str>,
    /// Who wrote it.
    pub owner: Owner,
    /// Whether others have added to what is ours.
    pub has_additions: bool,
    /// Whether it is about to go.
    pub deleting: bool,
    /// Of a route: whether istiod has heard of it as it is now.
    pub istiod: Istiod,
    /// Of a filter: the revision of its configuration.
    pub revision: Option<u64>,
    /// Of a Gateway: the listeners that name what istiod cannot have, which are certificates.
    pub unresolved: Box<[Box<str>]>,
    /// The import that it is for, if it is for one.
    pub import: Option<Box<Key>>,
}

/// What istiod has heard of a route; the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Istiod {
    /// It says nothing of it, or it is no route.
    #[default]
    Silent,
    /// It speaks of an earlier state of it.
    Behind,
    /// It speaks of its state as it is now.
    UpToDate,
}

/// Who wrote an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// This controller, and what of it. It has our label, and our field manager has applied it. (The label
    /// alone says little: istiod and the controller of endpoint slices copy labels of our Gateways and Services to what
    /// they make of them.)
    Ours(Digest),
    /// Somebody else.
    #[default]
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
            has_additions: content.is_some() && without_additions(object).is_some(),
            deleting: metadata(object, "deletionTimestamp").is_some(),
            istiod: Istiod::of(object),
            revision: live_revision(object),
            unresolved: unresolved(object),
            import: import(object).map(Box::new),
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

impl Istiod {
    fn of(object: &Value) -> Self {
        let generation = metadata(object, "generation").and_then(Value::as_i64).unwrap_or_default();
        let parents = object.pointer("/status/parents").and_then(Value::as_array).into_iter().flatten();
        let conditions = parents.filter_map(|parent| parent["conditions"].as_array()).flatten();
        match conditions.filter_map(|condition| condition["observedGeneration"].as_i64()).max() {
            None => Self::Silent,
            Some(observed) if observed < generation => Self::Behind,
            Some(_) => Self::UpToDate,
        }
    }
}

/// The listeners of a Gateway whose condition says that they refer to what is not there.
fn unresolved(object: &Value) -> Box<[Box<str>]> {
    let listeners = object.pointer("/status/listeners").and_then(Value::as_array).into_iter().flatten();
    let is_it = |listener: &&Value| {
        let mut conditions = listener["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| condition["type"] == "ResolvedRefs" && condition["status"] == "False")
    };
    listeners.filter(is_it).filter_map(|listener| listener["name"].as_str()).map(Box::from).collect()
}

/// The import that an object is labelled to be for.
fn import(object: &Value) -> Option<Key> {
    let name = label(object, IMPORT_LABEL)?;
    let namespace = label(object, NAMESPACE_LABEL).or_else(|| metadata(object, "namespace")?.as_str())?;
    Some(Key::new(namespace, name))
}

/// The cluster that wrote an object of the registry, which is called `CLUSTER` or `CLUSTER.NAMESPACE.NAME`: its label says so, and
/// where somebody has taken that away its name.
pub fn registry_writer(object: &Value) -> Option<&str> {
    let is_there = || metadata(object, "namespace").is_some_and(|namespace| *namespace == REGISTRY_NAMESPACE);
    let by_name = || metadata(object, "name")?.as_str()?.split('.').next();
    label(object, CLUSTER_LABEL).or_else(|| if is_there() { by_name() } else { None })
}

fn metadata<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(field)
}

fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    metadata(object, "labels")?.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_listener_without_its_certificate_is_known_by_its_condition() {
        let listener = |name: &str, kind: &str, status: &str| json!({"name": name, "conditions": [{"type": kind, "status": status}]});
        let listeners = [
            listener("tls-a", "ResolvedRefs", "False"),
            listener("tls-b", "ResolvedRefs", "True"),
            listener("tls-c", "Programmed", "False"),
            json!({"name": "tls-d", "conditions": null}),
        ];
        let live = Live::of(&json!({"status": {"listeners": listeners}}));
        assert_eq!(live.unresolved, ["tls-a".into()].into());
        assert_eq!(Live::of(&json!({})).unresolved, [].into(), "of no Gateway");
    }

    #[test]
    fn an_object_of_the_registry_is_that_of_the_cluster_that_it_names() {
        let object = |namespace, cluster: Option<&str>| {
            let metadata =
                json!({"name": "c2.secure.payment", "namespace": namespace, "labels": {MANAGED_BY_LABEL: MANAGER}});
            let mut object = json!({"metadata": metadata});
            if let Some(cluster) = cluster {
                object["metadata"]["labels"][CLUSTER_LABEL] = cluster.into();
            }
            object
        };
        for (object, expected) in [
            (object("mc-wan-registry", Some("c1")), Some("c1")),
            (object("mc-wan-registry", None), Some("c2")),
            (object("secure", None), None),
        ] {
            assert_eq!(registry_writer(&object), expected, "{object}");
        }
        let ours = Live { owner: Owner::Ours(Digest::of_desired(&json!({}))), ..Live::of(&json!({})) };
        let is_ours = |writer| ours.clone().seen_from("c1", writer).is_ours();
        assert!(is_ours(Some("c1")) && is_ours(None), "what is in no registry, its label alone tells");
        assert!(!is_ours(Some("c2")), "another's");
    }
}
