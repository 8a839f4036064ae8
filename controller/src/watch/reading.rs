//! An object as it comes in.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::DynamicResourceScope;
use kube::discovery::ApiResource;
use mcwan_core::observed::{Live, Owner, registry_writer};
use mcwan_core::snapshot::Key;
use mcwan_core::snapshot::input::is_read_back;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The annotation in which `kubectl apply` keeps a second copy of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object, reduced to what is kept of it while it is read: a page of a list never stands in memory as a whole.
/// `WRITTEN` says whether it is of a kind that we write: an object of another kind is somebody else's, whatever its
/// labels and field managers are. The type says so, as an item of a list may not name its kind.
#[derive(Clone, Debug)]
pub(super) struct Reading<const WRITTEN: bool> {
    /// The version alone: what kube's watcher asks for.
    metadata: ObjectMeta,
    pub(super) key: Key,
    live: Live,
    /// The cluster that wrote it into the registry.
    writer: Option<Box<str>>,
    /// Without what no part of us reads; none of what is ours, outside the registry, but for what the API server gives an
    /// address.
    object: Value,
}

impl<const WRITTEN: bool> Reading<WRITTEN> {
    fn of(mut object: Value) -> Self {
        let mut live = Live::of(&object);
        if !WRITTEN {
            live.owner = Owner::Foreign;
        }
        let writer = registry_writer(&object).map(Box::from);
        let text = |field| object.get("metadata")?.get(field)?.as_str();
        let key = Key::new(text("namespace").unwrap_or_default(), text("name").unwrap_or_default());
        let resource_version = text("resourceVersion").map(str::to_owned);
        if live.is_ours() && writer.is_none() && !is_read_back(&object) {
            object = Value::Null;
        } else {
            strip(&mut object);
        }
        Self { metadata: ObjectMeta { resource_version, ..ObjectMeta::default() }, key, live, writer, object }
    }

    /// When it was last changed.
    pub(super) fn version(&self) -> u64 {
        self.live.version
    }

    /// What of it is ours, and the object where it is not, where it is in the registry, as what is told there depends on what
    /// was, and where it has addresses.
    pub(super) fn seen_from(self, cluster: &str) -> (Live, Option<Value>) {
        let live = self.live.seen_from(cluster, self.writer.as_deref());
        let is_told = self.writer.is_some();
        let is_kept = is_told || !live.is_ours() || !self.object.is_null();
        (live, is_kept.then_some(self.object))
    }
}

/// Takes away what is large and nobody reads.
fn strip(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
}

impl<'de, const WRITTEN: bool> Deserialize<'de> for Reading<WRITTEN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::of)
    }
}

impl<const WRITTEN: bool> Resource for Reading<WRITTEN> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
