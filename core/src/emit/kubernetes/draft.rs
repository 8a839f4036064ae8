//! What all objects of mcwan have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use crate::emit::object::{Kind, Object, ObjectId};
use crate::json::{put, put_at};
use crate::snapshot::Key;

use super::{CLUSTER_LABEL, EXPORT_LABEL, IMPORT_LABEL, MANAGED_BY_LABEL, MANAGER, NAMESPACE_LABEL};

/// An object that has no content yet.
pub(super) struct Draft {
    id: ObjectId,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
    owner: Option<Value>,
}

impl Draft {
    pub(super) fn new(kind: Kind, namespace: &str, name: impl AsRef<str>) -> Self {
        let id = ObjectId { kind, key: Key::new(namespace, name.as_ref()) };
        let draft = Self { id, labels: Map::new(), annotations: Map::new(), owner: None };
        draft.label(MANAGED_BY_LABEL, MANAGER)
    }

    pub(super) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.into());
        self
    }

    /// Says which import this is for.
    pub(super) fn of_import(self, Key { namespace, name }: &Key) -> Self {
        self.label(IMPORT_LABEL, name).of_namespace(namespace)
    }

    /// Says which export this is for.
    pub(super) fn of_export(self, namespace: &str, name: &str) -> Self {
        self.label(EXPORT_LABEL, name).of_namespace(namespace)
    }

    /// Says which cluster this tells of.
    pub(super) fn of_cluster(self, cluster: &str) -> Self {
        self.label(CLUSTER_LABEL, cluster)
    }

    /// Names the namespace of what this is for, where it is another one.
    fn of_namespace(self, namespace: &str) -> Self {
        if *self.id.key.namespace == *namespace { self } else { self.label(NAMESPACE_LABEL, namespace) }
    }

    pub(super) fn owned_by(mut self, owner: Option<&OwnerReference>) -> Self {
        self.owner = owner.map(|owner| json!(owner));
        self
    }

    /// Gives it its content, which is a `spec` and no more.
    pub(super) fn with_spec(self, spec: Value) -> Object {
        let mut content = Value::Null;
        put_at(&mut content, &["spec"], spec);
        self.with(content)
    }

    /// Gives it its content: the fields beside `metadata`.
    pub(super) fn with(self, content: Value) -> Object {
        let Self { id, labels, annotations, owner } = self;
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), (*id.key.name).into());
        metadata.insert("namespace".to_owned(), (*id.key.namespace).into());
        metadata.insert("labels".to_owned(), labels.into());
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), annotations.into());
        }
        if let Some(owner) = owner {
            metadata.insert("ownerReferences".to_owned(), vec![owner].into());
        }
        let mut body = content;
        put(&mut body, "apiVersion", id.kind.api_version());
        put(&mut body, "kind", id.kind.name());
        put(&mut body, "metadata", metadata);
        Object { id, body }
    }
}
