//! A cluster with the controller's rights, the module in an OCI registry, and replicas of the controller.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Error;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::controller::{Controller, Settings};
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use super::objects::{api_version, mk_import};
use super::state::{Emitted, Versions, emitted};

/// How long anything may take, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The import of the payment example.
const PAYMENT: &str = "ServiceImport secure/payment";

/// An import of a namespace of its own that the controller has something to say about.
const MARKER: &str = "ServiceImport marker/marker";

/// What the controller needs to run.
pub(crate) struct Scene {
    pub(crate) cluster: TestCluster,
    registry: OciRegistry,
    /// Where the module is.
    module: String,
    /// How often the marker has been changed.
    marks: AtomicUsize,
}

impl Scene {
    /// Starts a cluster in which the controller is installed and nothing runs.
    pub(crate) async fn start() -> Result<Self> {
        Self::start_with(&Crds::ALL).await
    }

    /// Starts one that serves these custom resources only.
    pub(crate) async fn start_with(crds: &[Crds]) -> Result<Self> {
        let cluster = TestCluster::start_with(crds).await?;
        let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests");
        cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--kustomize", manifests]).await?;
        let namespace = |name| format!("---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}\n");
        cluster.apply(&["secure", "marker"].map(namespace).concat()).await?;
        let mut registry = OciRegistry::new()?;
        registry.start().await?;
        let module = format!("oci://{}", registry.push(&tools::image("module")?, "mcwan-filter").await?);
        Ok(Self { cluster, registry, module, marks: AtomicUsize::new(0) })
    }

    /// Starts a replica of the controller and waits until it is ready.
    pub(crate) async fn replica(&self, replica: &str) -> Result<Controller> {
        self.replica_with(replica, 15, true).await
    }

    /// Starts a replica, with a lease of so many seconds; waits until it is ready, or does not.
    pub(crate) async fn replica_with(&self, replica: &str, lease: u32, ready: bool) -> Result<Controller> {
        self.replica_told(replica, &["--lease-seconds", &lease.to_string()], ready).await
    }

    /// Starts a replica with more arguments; waits until it is ready, or does not.
    pub(crate) async fn replica_told(&self, replica: &str, arguments: &[&str], ready: bool) -> Result<Controller> {
        let registry = self.registry.address().to_string();
        let timing = ["--target-lead-ms", "100", "--target-grace-seconds", "1"];
        let settings = Settings {
            replica,
            cluster_id: "cluster-2",
            module: &self.module,
            arguments: &[&["--insecure-registry", &registry][..], &timing, arguments].concat(),
        };
        if ready {
            Controller::start(&self.cluster, &settings).await
        } else {
            Controller::begin(&self.cluster, &settings).await
        }
    }

    /// Ends a replica that is done with everything.
    pub(crate) async fn end(&self, controller: Controller) -> Result<()> {
        self.settled().await?;
        controller.stop().await
    }

    /// Applies the payment example, the rules first: so they never have a target that they lose again, which would
    /// stay for a while.
    pub(crate) async fn apply_payment(&self) -> Result<()> {
        for object in payment()?.iter().rev() {
            self.put(object).await?;
        }
        Ok(())
    }

    /// Applies an object.
    pub(crate) async fn put(&self, object: &Value) -> Result<()> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let api = self.api(text("/apiVersion"), text("/kind"), text("/metadata/namespace"));
        let name = text("/metadata/name");
        let applied = api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await;
        applied.with_context(|| format!("cannot apply {object}"))?;
        Ok(())
    }

    /// What is there of `KIND NAMESPACE/NAME`.
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
        edited.with_context(|| format!("cannot edit {id}"))?;
        Ok(())
    }

    /// Merges a change into the status of an object.
    pub(crate) async fn edit_status(&self, id: &str, change: &Value) -> Result<()> {
        let (api, name) = self.find(id);
        let edited = api.patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await;
        edited.with_context(|| format!("cannot edit the status of {id}"))?;
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
        api.delete(name, &DeleteParams::default()).await.with_context(|| format!("cannot delete {id}"))?;
        Ok(())
    }

    /// Waits until an object is there.
    pub(crate) async fn until_there(&self, id: &str) -> Result<()> {
        until(PATIENCE, &format!("{id} is there"), async || Ok(self.get(id).await?.is_some())).await
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, id: &str) -> Result<()> {
        until(PATIENCE, &format!("{id} is gone"), async || Ok(self.get(id).await?.is_none())).await
    }

    /// Waits until a condition of an object, of its newest form, has this status and reason: `Accepted=True/Accepted`.
    /// Gives its message.
    pub(crate) async fn until_condition(&self, id: &str, expected: &str) -> Result<String> {
        self.until_said(id, expected, "").await
    }

    /// Waits until everything that an import is made of by now is there. Here, no gateway runs that could do it.
    pub(crate) async fn until_delivered(&self, import: &str) -> Result<()> {
        self.settled().await?;
        self.until_said(import, "Programmed=False/Pending", "no pod of Gateway").await?;
        Ok(())
    }

    /// Waits until everything that the payment example is made of is there, with both of its tiers.
    pub(crate) async fn until_payment_delivered(&self) -> Result<()> {
        until(PATIENCE, "both tiers are everywhere", async || {
            for id in ["HTTPRoute secure/payment.8080", "WasmPlugin secure/mcwan"] {
                let text = self.get(id).await?.unwrap_or_default()["spec"].to_string();
                if !["sd-wan-priority-high", "sd-wan-priority-low"].iter().all(|tier| text.contains(tier)) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await?;
        self.until_delivered(PAYMENT).await
    }

    /// Waits until a condition has this status and reason, and a message with this in it. Gives the message.
    pub(crate) async fn until_said(&self, id: &str, expected: &str, part: &str) -> Result<String> {
        let (condition, _) = expected.split_once('=').context("want `TYPE=STATUS/REASON`")?;
        let (mut found, mut message) = (String::new(), String::new());
        let what = format!("{id} has {expected}: … {part}");
        let waited = until(PATIENCE, &what, async || {
            let object = self.get(id).await?.unwrap_or_default();
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
            let known = conditions.into_iter().flatten().find(|known| known["type"] == condition);
            let text = |field: &str| known.and_then(|known| known[field].as_str()).unwrap_or_default();
            found = format!("{condition}={}/{}", text("status"), text("reason"));
            text("message").clone_into(&mut message);
            let generation = known.map(|known| &known["observedGeneration"]);
            let is_newest = generation == object.pointer("/metadata/generation");
            Ok(found == expected && message.contains(part) && is_newest)
        });
        waited.await.with_context(|| format!("it has {found}: {message}"))?;
        Ok(message)
    }

    /// Waits until what was emitted is as expected.
    pub(crate) async fn until_emitted(&self, what: &str, expected: &Emitted) -> Result<()> {
        let mut last = Emitted::new();
        let waited = until(PATIENCE, what, async || {
            last = self.emitted().await?;
            Ok(last == *expected)
        });
        waited.await.with_context(|| {
            let ids = expected.keys().chain(last.keys().filter(|id| !expected.contains_key(*id)));
            let differing = ids.filter(|id| expected.get(*id) != last.get(*id));
            let lines = differing.map(|id| format!("{id}: {:?} where {:?} is due", last.get(id), expected.get(id)));
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    /// What our field manager has applied.
    pub(crate) async fn emitted(&self) -> Result<Emitted> {
        emitted(&self.cluster.client()).await
    }

    /// The versions of everything.
    pub(crate) async fn versions(&self) -> Result<Versions> {
        Versions::of(&self.cluster.client()).await
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
        (self.api(api_version(kind), kind, namespace), name)
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

/// The objects of the payment example.
pub(crate) fn payment() -> Result<Vec<Value>> {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/payment/manifests.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    let documents = text.split("\n---\n").map(serde_saphyr::from_str);
    Ok(documents.collect::<Result<_, _>>()?)
}
