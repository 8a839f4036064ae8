//! The conformance suite of the Multi-Cluster Services API (kubernetes-sigs/mcs-api v0.5.2, `conformance`), carried over: its
//! objects, its deadlines. Its first cluster is cluster 1; both are on one network. What it runs in pods, clients do.
//! What looks at the same objects is one case here.

mod connections;
mod imports;
mod names;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::future::{FutureExt, LocalBoxFuture};
use futures_util::stream::{self, TryStreamExt};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::await_condition;
use mcwan_testbed::wait::until;
use mcwan_testbed::wan::{TestWan, WanClient};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::objects::{mk_namespace, mk_pods};

/// How long objects may take, and the conditions in them.
const OBJECTS: Duration = Duration::from_secs(20);

/// How long slices may take, and what is known by them.
const SLICES: Duration = Duration::from_mins(1);

/// How long what must not come is waited for.
const STAYS: Duration = Duration::from_secs(5);

/// Times of creation have no fractions of a second: the first export is older only when one has passed.
const NEXT_SECOND: Duration = Duration::from_millis(1_100);

/// How long after a look in vain there is another: cases that wait leave the machine to those that work.
const NEXT_LOOK: Duration = Duration::from_millis(250);

/// As many cases at once as half of a machine takes well within the deadlines.
const AT_ONCE: usize = 4;

/// What every case exports.
const NAME: &str = "hello";

/// The port of the service, on TCP and UDP.
const PORT: u16 = 42;

/// All cases hold.
pub(crate) async fn the_suite_holds(wan: &TestWan, clients: &[WanClient; 2]) -> Result<()> {
    let suite = Suite { wan, clients };
    let cases = imports::cases(&suite).into_iter().chain(names::cases(&suite)).chain(connections::cases(&suite));
    stream::iter(cases.map(Ok)).try_for_each_concurrent(AT_ONCE, |case| case).await
}

struct Suite<'w> {
    wan: &'w TestWan,
    clients: &'w [WanClient; 2],
}

/// A case, in a namespace of its own.
struct Case<'w> {
    suite: &'w Suite<'w>,
    namespace: String,
}

impl<'w> Suite<'w> {
    /// A case under a name.
    fn case<F>(&'w self, name: &'static str, case: impl FnOnce(Case<'w>) -> F + 'w) -> LocalBoxFuture<'w, Result<()>>
    where
        F: Future<Output = Result<()>> + 'w,
    {
        let run = async move {
            let namespace = format!("conformance-{name}");
            let object: Namespace = serde_json::from_value(mk_namespace(&namespace))?;
            let apis = [1, 2].map(|cluster| Api::<Namespace>::all(self.wan.cluster(cluster).client()));
            for api in &apis {
                api.create(&PostParams::default(), &object).await?;
            }
            case(Case { suite: self, namespace: namespace.clone() }).await.with_context(|| format!("case {name}"))?;
            for api in &apis {
                api.delete(&namespace, &DeleteParams::default()).await?;
            }
            Ok(())
        };
        run.boxed_local()
    }
}

impl Case<'_> {
    fn api(&self, cluster: u8, version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.suite.wan.cluster(cluster).client(), &self.namespace, &resource)
    }

    /// Applies an object.
    async fn put(&self, cluster: u8, object: Value) -> Result<()> {
        let [version, kind, name] = ["/apiVersion", "/kind", "/metadata/name"]
            .map(|at| object.pointer(at).and_then(Value::as_str).unwrap_or_default());
        let patch = PatchParams::apply("conformance").force();
        self.api(cluster, version, kind).patch(name, &patch, &Patch::Apply(&object)).await?;
        Ok(())
    }

    /// Runs so many pods, and a Service for them with some fields that are other ones.
    async fn start(&self, cluster: u8, pods: u32, fields: Value) -> Result<()> {
        if pods > 0 {
            let ports = json!([{"containerPort": PORT}, {"containerPort": PORT, "protocol": "UDP"}]);
            self.put(cluster, mk_pods(&self.namespace, NAME, pods, &ports)).await?;
        }
        self.put(cluster, mk_hello(fields)).await
    }

    async fn export(&self, cluster: u8, spec: Value) -> Result<()> {
        let export = json!({"apiVersion": MCS, "kind": "ServiceExport", "metadata": {"name": NAME}, "spec": spec});
        self.put(cluster, export).await
    }

    /// Exports in cluster 1, waits until it is imported there, and exports in cluster 2, later.
    async fn export_one_by_one(&self, specs: [Value; 2]) -> Result<()> {
        let [first, second] = specs;
        self.export(1, first).await?;
        self.import(1, |_| true).await?;
        sleep(NEXT_SECOND).await;
        self.export(2, second).await
    }

    async fn unexport(&self, cluster: u8) -> Result<()> {
        self.api(cluster, MCS, "ServiceExport").delete(NAME, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The `ServiceImport` in a cluster, as soon as it is as it is meant.
    async fn import(&self, cluster: u8, is_meant: impl Fn(&Value) -> bool) -> Result<Value> {
        self.object(cluster, "ServiceImport", is_meant).await
    }

    /// An object of the API in a cluster, as soon as it is as it is meant.
    async fn object(&self, cluster: u8, kind: &str, is_meant: impl Fn(&Value) -> bool) -> Result<Value> {
        let whole = |object: &DynamicObject| serde_json::to_value(object).unwrap_or_default();
        let is_meant = |object: Option<&DynamicObject>| object.is_some_and(|object| is_meant(&whole(object)));
        let wait = await_condition(self.api(cluster, MCS, kind), NAME, is_meant);
        let found = timeout(OBJECTS, wait).await.with_context(|| format!("no {kind} in cluster {cluster} in time"))?;
        Ok(whole(&found?.context("it is gone")?))
    }

    /// Waits until no cluster has a `ServiceImport`.
    async fn until_gone(&self) -> Result<()> {
        for cluster in [1, 2] {
            let gone =
                await_condition(self.api(cluster, MCS, "ServiceImport"), NAME, |object: Option<&_>| object.is_none());
            timeout(OBJECTS, gone).await.with_context(|| format!("cluster {cluster} keeps it"))??;
        }
        Ok(())
    }

    /// No cluster gets a `ServiceImport` that is like this.
    async fn stays_without_import(&self, is_bad: impl Fn(&Value) -> bool) -> Result<()> {
        sleep(STAYS).await;
        for cluster in [1, 2] {
            let import = self.api(cluster, MCS, "ServiceImport").get_opt(NAME).await?;
            ensure!(import.is_none_or(|import| !is_bad(&import.data)), "cluster {cluster} has one");
        }
        Ok(())
    }

    /// Waits until an export has a condition that is so.
    async fn until_condition(&self, cluster: u8, condition: &str, status: &str) -> Result<Value> {
        let of = |export: &Value| {
            let all = export.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
            all.into_iter().find(|found| found["type"] == condition && found["status"] == status).cloned()
        };
        let export = self.object(cluster, "ServiceExport", |export| of(export).is_some()).await;
        let export = export.with_context(|| format!("want {condition}={status}"))?;
        of(&export).context("no condition")
    }

    /// The slices in a cluster by which the API tells of the service.
    async fn slices(&self, cluster: u8) -> Result<Vec<DynamicObject>> {
        let parameters = ListParams::default().labels(&format!("multicluster.kubernetes.io/service-name={NAME}"));
        Ok(self.api(cluster, "discovery.k8s.io/v1", "EndpointSlice").list(&parameters).await?.items)
    }

    /// What the service is called in every cluster.
    fn host(&self) -> String {
        format!("{NAME}.{}.svc.clusterset.local", self.namespace)
    }

    /// Waits until something holds that nobody tells of.
    async fn until(&self, what: &str, mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let looks = async || {
            let holds = condition().await?;
            if !holds {
                sleep(NEXT_LOOK).await;
            }
            Ok(holds)
        };
        until(SLICES, what, looks).await
    }
}

/// The version of the API that the suite speaks.
const MCS: &str = "multicluster.x-k8s.io/v1beta1";

/// The Service that every case begins with, with some fields that are other ones; null: without the field.
fn mk_hello(fields: Value) -> Value {
    let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": {
        "selector": {"app": NAME},
        "ports": [mk_port("tcp", PORT, "TCP"), mk_port("udp", PORT, "UDP")],
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}},
        "ipFamilyPolicy": "PreferDualStack",
    }});
    if let (Some(spec), Value::Object(fields)) = (service["spec"].as_object_mut(), fields) {
        spec.extend(fields);
        spec.retain(|_, value| !value.is_null());
    }
    service
}

/// A port that leads to the one that pods have.
fn mk_port(name: &str, port: u16, protocol: &str) -> Value {
    json!({"name": name, "port": port, "protocol": protocol, "targetPort": PORT})
}

/// What a headless Service has in its place.
fn mk_headless() -> Value {
    json!({"clusterIP": "None", "sessionAffinity": null, "sessionAffinityConfig": null})
}
