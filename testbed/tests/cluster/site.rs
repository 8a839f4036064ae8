//! One cluster, and what is there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::Error;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use mcwan_core::emit::object::Kind;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use super::objects::{api_version, mk};

/// How long anything may take, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// One cluster. Objects are named as `KIND NAMESPACE/NAME`.
pub(crate) struct Site {
    pub(crate) cluster: TestCluster,
    /// Its name in the registry.
    pub(crate) id: &'static str,
    /// How often the marker has been changed.
    marks: AtomicUsize,
}

impl Site {
    /// A cluster, by its name in the registry.
    pub(crate) fn new(cluster: TestCluster, id: &'static str) -> Self {
        Self { cluster, id, marks: AtomicUsize::new(0) }
    }

    /// Applies an object.
    pub(crate) async fn put(&self, object: &Value) -> Result<()> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let id = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let (api, name) = self.find(&id);
        let applied = api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await;
        applied.with_context(|| format!("{}: cannot apply {object}", self.id))?;
        Ok(())
    }

    /// What is there of an object.
    pub(crate) async fn get(&self, id: &str) -> Result<Option<Value>> {
        let (api, name) = self.find(id);
        Ok(api.get_opt(name).await?.map(serde_json::to_value).transpose()?)
    }

    /// Merges a change into the status of an object.
    pub(crate) async fn edit_status(&self, id: &str, change: &Value) -> Result<()> {
        let (api, name) = self.find(id);
        let edited = api.patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await;
        edited.with_context(|| format!("{}: cannot edit the status of {id}", self.id))?;
        Ok(())
    }

    /// Deletes an object, and does not wait until it is gone.
    pub(crate) async fn delete(&self, id: &str) -> Result<()> {
        let (api, name) = self.find(id);
        api.delete(name, &DeleteParams::default()).await.with_context(|| format!("{}: cannot delete {id}", self.id))?;
        Ok(())
    }

    /// Waits until an object is there, or is not.
    pub(crate) async fn until_there(&self, id: &str, there: bool) -> Result<()> {
        let what = format!("{}: {id} is {}", self.id, if there { "there" } else { "gone" });
        until(PATIENCE, &what, async || Ok(self.get(id).await?.is_some() == there)).await
    }

    /// Waits until what a pointer leads to is as expected; null if nothing is there.
    pub(crate) async fn until_field(&self, id: &str, pointer: &str, expected: &Value) -> Result<()> {
        self.until(id, &format!("{pointer} is {expected}"), |object| object.pointer(pointer) == Some(expected)).await
    }

    /// Waits until a condition is there with this reason, or, without one, is not there.
    pub(crate) async fn until_condition(&self, id: &str, condition: &str, reason: Option<&str>) -> Result<()> {
        let what = format!("condition {condition} has the reason {reason:?}");
        self.until(id, &what, |object| {
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
            let mut known = conditions.into_iter().flatten().filter(|known| known["type"] == condition);
            known.next().and_then(|known| known["reason"].as_str()) == reason
        })
        .await
    }

    /// Waits until something is so with an object that is there.
    pub(crate) async fn until(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<()> {
        let mut last = None;
        let what = format!("{}: {id}: {what}", self.id);
        let waited = until(PATIENCE, &what, async || {
            last = self.get(id).await?;
            Ok(last.as_ref().is_some_and(&is_so))
        });
        waited.await.with_context(|| format!("it is {:#}", last.unwrap_or_default()))
    }

    /// Waits until the controller has dealt with everything that happened before: what comes later waits its turn.
    /// Twice, as the first may be dealt with in one round with what is before it.
    pub(crate) async fn settled(&self) -> Result<()> {
        for _ in 0..2 {
            let mark = self.marks.fetch_add(1, Ordering::Relaxed);
            let spec = json!({"hostnames": [format!("marker-{mark}.example")], "http": {"rules": []}});
            self.put(&mk("ServiceImport", "marker", "marker", json!({"spec": spec}))).await?;
            self.until("ServiceImport marker/marker", "it is accepted", |marker| {
                let conditions = marker.pointer("/status/conditions").and_then(Value::as_array);
                let mut conditions = conditions.into_iter().flatten();
                let generation = &marker["metadata"]["generation"];
                conditions.any(|one| one["type"] == "Accepted" && one["observedGeneration"] == *generation)
            })
            .await?;
        }
        Ok(())
    }

    /// Fails if the controller has made, changed or deleted something of a kind that it makes in this cluster.
    pub(crate) async fn ensure_emitted(&self, before: &BTreeMap<String, String>, message: &str) -> Result<()> {
        let now = self.emitted().await?;
        let ids = before.keys().chain(now.keys().filter(|id| !before.contains_key(*id)));
        let changed: Vec<_> = ids.filter(|id| before.get(*id) != now.get(*id)).collect();
        ensure!(changed.is_empty(), "{message}: changed are {changed:?}");
        Ok(())
    }

    /// The versions of what the controller has made in this cluster, whatever the registry holds.
    pub(crate) async fn emitted(&self) -> Result<BTreeMap<String, String>> {
        let mut versions = BTreeMap::new();
        for kind in Kind::ALL.into_iter().filter(|kind| ![Kind::WanCluster, Kind::ExportedService].contains(kind)) {
            let api: Api<DynamicObject> = Api::all_with(self.cluster.client(), &kind.api_resource());
            let ours = ListParams::default().labels("app.kubernetes.io/managed-by=mcwan");
            let listed = match api.list(&ours).await {
                Err(Error::Api(status)) if status.code == 404 => continue,
                listed => listed?,
            };
            for object in listed.items {
                let key = [object.metadata.namespace, object.metadata.name].map(Option::unwrap_or_default).join("/");
                let version = [object.metadata.uid, object.metadata.resource_version].map(Option::unwrap_or_default);
                versions.insert(format!("{} {key}", kind.name()), version.join("@"));
            }
        }
        Ok(versions)
    }

    /// Where an object is, and its name.
    fn find<'i>(&self, id: &'i str) -> (Api<DynamicObject>, &'i str) {
        let (kind, key) = id.split_once(' ').unwrap_or((id, ""));
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let version = api_version(kind);
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api = match namespace {
            "" => Api::all_with(self.cluster.client(), &resource),
            namespace => Api::namespaced_with(self.cluster.client(), namespace, &resource),
        };
        (api, name)
    }
}
