//! A cluster in which the controller is installed, and what is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Error;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::controller::{Controller, Settings};
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::objects::{api_version, mk_import, mk_namespace};
use crate::shipped::Shipped;

/// How long anything may take, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// An import of a namespace of its own that the controller has something to say about.
const MARKER: &str = "ServiceImport marker/marker";

/// A cluster in which the controller is installed. Objects are named as `KIND NAMESPACE/NAME`, those of the cluster as
/// `KIND NAME`.
pub(crate) struct Scene {
    pub(crate) cluster: TestCluster,
    /// Its name in the registry.
    pub(crate) id: &'static str,
    /// What each replica of the controller is told.
    pub(crate) arguments: Vec<String>,
    module: Arc<Shipped>,
    /// How often the marker has been changed.
    marks: AtomicUsize,
}

impl Scene {
    /// Starts a cluster in which the controller is installed and nothing runs.
    pub(crate) async fn start() -> Result<Self> {
        Self::start_with(&Crds::ALL).await
    }

    /// Starts one that serves these custom resources only. No gateway runs here that anything should wait for.
    pub(crate) async fn start_with(crds: &[Crds]) -> Result<Self> {
        let module = Arc::new(Shipped::start().await?);
        Self::named("cluster-2", crds, module, &["--target-lead-ms", "100", "--target-grace-seconds", "1"]).await
    }

    /// Starts one with this name in the registry, where replicas have this module and are told so much.
    pub(crate) async fn named(
        id: &'static str,
        crds: &[Crds],
        module: Arc<Shipped>,
        arguments: &[&str],
    ) -> Result<Self> {
        let cluster = TestCluster::start_with(crds).await?;
        cluster.install_mcwan(id).await?;
        let arguments = module.arguments(arguments).into_iter().map(str::to_owned).collect();
        let scene = Self { cluster, id, arguments, module, marks: AtomicUsize::new(0) };
        for namespace in ["secure", "marker"] {
            scene.put(&mk_namespace(namespace)).await?;
        }
        Ok(scene)
    }

    /// Starts a replica of the controller and waits until it is ready.
    pub(crate) async fn replica(&self, replica: &str) -> Result<Controller> {
        self.replica_with(replica, &[]).await
    }

    /// Starts a replica with more arguments and waits until it is ready.
    pub(crate) async fn replica_with(&self, replica: &str, more: &[&str]) -> Result<Controller> {
        Controller::start(&self.cluster, &self.settings(replica, &self.arguments(more))).await
    }

    /// The same for one that will not be ready soon.
    pub(crate) async fn begun(&self, replica: &str, more: &[&str]) -> Result<Controller> {
        Controller::begin(&self.cluster, &self.settings(replica, &self.arguments(more))).await
    }

    fn arguments<'s>(&'s self, more: &[&'s str]) -> Vec<&'s str> {
        self.arguments.iter().map(String::as_str).chain(more.iter().copied()).collect()
    }

    fn settings<'s>(&'s self, replica: &'s str, arguments: &'s [&'s str]) -> Settings<'s> {
        Settings { replica, cluster_id: self.id, module: self.module.url(), arguments }
    }

    /// Applies an object.
    pub(crate) async fn put(&self, object: &Value) -> Result<()> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let api = self.api(text("/apiVersion"), text("/kind"), text("/metadata/namespace"));
        let name = text("/metadata/name");
        let applied = api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await;
        applied.with_context(|| format!("{}: cannot apply {object}", self.id))?;
        Ok(())
    }

    /// What is there of an object.
    pub(crate) async fn get(&self, id: &str) -> Result<Option<Value>> {
        let (api, name) = self.find(id);
        let found = api.get_opt(name).await.or_else(|error| match error {
            Error::Api(status) if status.code == 404 => Ok(None),
            error => Err(error),
        })?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// Merges a change into an object.
    pub(crate) async fn edit(&self, id: &str, change: &Value) -> Result<()> {
        let (api, name) = self.find(id);
        let edited = api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await;
        edited.with_context(|| format!("{}: cannot edit {id}", self.id))?;
        Ok(())
    }

    /// Merges a change into the status of an object.
    pub(crate) async fn edit_status(&self, id: &str, change: &Value) -> Result<()> {
        let (api, name) = self.find(id);
        let edited = api.patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await;
        edited.with_context(|| format!("{}: cannot edit the status of {id}", self.id))?;
        Ok(())
    }

    /// Applies conditions as somebody else.
    pub(crate) async fn say(&self, id: &str, conditions: &Value) -> Result<()> {
        let (api, name) = self.find(id);
        let kind = id.split(' ').next().unwrap_or_default();
        let status = json!({"apiVersion": api_version(kind), "kind": kind, "status": {"conditions": conditions}});
        api.patch_status(name, &PatchParams::apply("somebody"), &Patch::Apply(status)).await?;
        Ok(())
    }

    /// Deletes an object, and does not wait until it is gone.
    pub(crate) async fn delete(&self, id: &str) -> Result<()> {
        let (api, name) = self.find(id);
        api.delete(name, &DeleteParams::default()).await.with_context(|| format!("{}: cannot delete {id}", self.id))?;
        Ok(())
    }

    /// Waits until an object is there.
    pub(crate) async fn until_there(&self, id: &str) -> Result<()> {
        self.until(id, "it is there", |_| true).await
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, id: &str) -> Result<()> {
        let what = format!("{}: {id} is gone", self.id);
        until(PATIENCE, &what, async || Ok(self.get(id).await?.is_none())).await
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

    /// Waits until what a pointer leads to is as expected; null if nothing is there.
    pub(crate) async fn until_field(&self, id: &str, pointer: &str, expected: &Value) -> Result<()> {
        let what = format!("{pointer} is {expected}");
        self.until(id, &what, |object| object.pointer(pointer).unwrap_or_default() == expected).await
    }

    /// Waits until a condition is there with this reason, or, without one, is not there.
    pub(crate) async fn until_reason(&self, id: &str, condition: &str, reason: Option<&str>) -> Result<()> {
        let what = format!("condition {condition} has the reason {reason:?}");
        self.until(id, &what, |object| text_of(find_condition(object, condition), "reason") == reason).await
    }

    /// Waits until a condition of an object, of its newest form, has this status and reason: `Accepted=True/Accepted`.
    /// Gives its message.
    pub(crate) async fn until_condition(&self, id: &str, expected: &str) -> Result<String> {
        self.until_said(id, expected, "").await
    }

    /// Waits until a condition has this status and reason, and a message with this in it. Gives the message.
    pub(crate) async fn until_said(&self, id: &str, expected: &str, part: &str) -> Result<String> {
        let (condition, _) = expected.split_once('=').context("want `TYPE=STATUS/REASON`")?;
        let (mut found, mut message) = (String::new(), String::new());
        let what = format!("{}: {id} has {expected}: … {part}", self.id);
        let waited = until(PATIENCE, &what, async || {
            let object = self.get(id).await?.unwrap_or_default();
            let known = find_condition(&object, condition);
            let text = |field| text_of(known, field).unwrap_or_default();
            found = format!("{condition}={}/{}", text("status"), text("reason"));
            text("message").clone_into(&mut message);
            Ok(found == expected && message.contains(part) && is_of_newest(known, &object))
        });
        waited.await.with_context(|| format!("it has {found}: {message}"))?;
        Ok(message)
    }

    /// Waits until the controller has dealt with everything that happened before: what comes later waits its turn.
    /// Twice, as the first may be dealt with in one round with what is before it.
    pub(crate) async fn settled(&self) -> Result<()> {
        for _ in 0..2 {
            let mark = self.marks.fetch_add(1, Ordering::Relaxed);
            let mut marker = mk_import("marker", "marker", &json!([]));
            marker["spec"]["hostnames"] = json!([format!("marker-{mark}.example")]);
            self.put(&marker).await?;
            self.until_condition(MARKER, "Accepted=True/Accepted").await?;
        }
        Ok(())
    }

    /// Where `KIND NAMESPACE/NAME` is, and its name.
    pub(crate) fn find<'i>(&self, id: &'i str) -> (Api<DynamicObject>, &'i str) {
        let (kind, key) = id.split_once(' ').unwrap_or((id, ""));
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let kind_name = kind.split('.').next().unwrap_or(kind);
        (self.api(api_version(kind), kind_name, namespace), name)
    }

    /// Where objects of a kind are.
    fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            "" => Api::all_with(self.cluster.client(), &resource),
            namespace => Api::namespaced_with(self.cluster.client(), namespace, &resource),
        }
    }
}

/// A condition of an object, by its type.
fn find_condition<'o>(object: &'o Value, condition: &str) -> Option<&'o Value> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|known| known["type"] == condition)
}

fn text_of<'c>(condition: Option<&'c Value>, field: &str) -> Option<&'c str> {
    condition?[field].as_str()
}

/// Whether a condition is about the object as it is now.
fn is_of_newest(condition: Option<&Value>, object: &Value) -> bool {
    condition.map(|known| &known["observedGeneration"]) == object.pointer("/metadata/generation")
}
