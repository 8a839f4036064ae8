//! An object as it comes in.

use mcwan_core::observed::{Live, Owner, registry_writer};
use mcwan_core::snapshot::Key;
use mcwan_core::snapshot::input::is_read_back;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The annotation in which `kubectl apply` keeps a second copy of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object, reduced to what is kept of it while it is read: of a page of a list, the text alone is in memory as a whole.
/// `WRITTEN` says whether it is of a kind that we write: an object of another kind is somebody else's, whatever its
/// labels and field managers are. The type says so, as an item of a list may not name its kind.
#[derive(Clone, Debug)]
pub(super) struct Reading<const WRITTEN: bool> {
    pub(super) key: Key,
    /// Where a watch goes on.
    pub(super) resource_version: String,
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
        let resource_version = text("resourceVersion").unwrap_or_default().to_owned();
        if live.is_ours() && writer.is_none() && !is_read_back(&object) {
            object = Value::Null;
        } else {
            strip(&mut object);
        }
        Self { key, resource_version, live, writer, object }
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
    /// One that is nested too deeply must not keep the others of a page from being read, nor a watch from going on: so each is
    /// read by itself.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let object = serde_json::from_str(text.get()).or_else(|_| outline(text.get()));
        object.map(Self::of).map_err(D::Error::custom)
    }
}

/// What is in place of the `spec` of an object that cannot be read, so that it has not the form of its kind.
const TOO_DEEP: &str = "it is nested more than 128 levels deep";

/// Of an object that is nested deeper than `serde_json` reads, and an API server takes: which one it is.
fn outline(text: &str) -> serde_json::Result<Value> {
    let Outline { metadata, spec, status } = serde_json::from_str(text)?;
    let status: Option<Value> = status.and_then(|status| serde_json::from_str(status.get()).ok());
    let hosts = spec.and_then(|spec| serde_json::from_str(spec.get()).ok()).and_then(|Hosts { hostnames }| hostnames);
    let spec = hosts.map_or_else(|| TOO_DEEP.into(), |hostnames| json!({"hostnames": hostnames, "http": TOO_DEEP}));
    Ok(json!({"metadata": metadata, "spec": spec, "status": status}))
}

/// All else is passed over, however deep it is.
#[derive(Deserialize)]
struct Outline {
    metadata: Identity,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

/// The hosts of a `ServiceImport`, which it keeps.
#[derive(Deserialize)]
struct Hosts {
    hostnames: Option<Vec<String>>,
}

/// The fields of an object's metadata that tell it from others.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<String>,
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use mcwan_core::snapshot::change::{Input, InputKind};
    use mcwan_core::snapshot::input;

    use super::*;

    /// A `ServiceImport` whose `retry` is nested so deeply.
    fn import(name: &str, depth: usize) -> String {
        let retry = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        format!(
            r#"{{"metadata": {{"name": "{name}", "namespace": "secure", "resourceVersion": "7", "managedFields": {retry}}},
                "spec": {{"hostnames": ["pay.example.com"], "http": {{"rules": [{{"retry": {retry}}}]}}}}, "status": {{"conditions": []}}}}"#
        )
    }

    fn told(reading: Reading<false>) -> (Key, u64, Option<Input>) {
        let (key, version) = (reading.key.clone(), reading.version());
        let (_, object) = reading.seen_from("cluster-2");
        (key, version, object.and_then(|object| input::read(InputKind::ServiceImport, &object).ok()))
    }

    #[test]
    fn one_that_is_too_deep_keeps_no_other_from_being_read() {
        let list = format!(r#"{{"metadata": {{}}, "items": [{}, {}]}}"#, import("deep", 5_000), import("sound", 1));
        let list: ObjectList<Reading<false>> = serde_json::from_str(&list).unwrap();
        let [deep, sound] = list.items.try_into().unwrap();
        let (key, version, input) = told(deep);
        assert_eq!((key, version), (Key::new("secure", "deep"), 7));
        let Some(Input::UnreadableImport(unreadable)) = input else { panic!("{input:?}") };
        assert!(unreadable.error.contains(TOO_DEEP), "{}", unreadable.error);
        assert_eq!(unreadable.hostnames, ["pay.example.com"], "it keeps them");
        assert!(matches!(told(sound).2, Some(Input::ServiceImport(_))));
        let event = format!(r#"{{"type": "MODIFIED", "object": {}}}"#, import("deep", 126));
        let event: WatchEvent<Reading<false>> = serde_json::from_str(&event).unwrap();
        let WatchEvent::Modified(deep) = event else { panic!("{event:?}") };
        assert!(matches!(told(deep).2, Some(Input::UnreadableImport(_))));
    }
}
