//! How soon a cluster knows what happens to the pods of another, and what that costs.
//!
//! The pods run nowhere: what a kubelet would say of them, the benchmark says.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, CustomResourceExt};
use mcwan_core::api::ExportedEndpoints;
use mcwan_numbers::Number;
use mcwan_testbed::wait::until;
use mcwan_testbed::wan::{PATIENCE, Plan, TestWan};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::milliseconds;

const NAMESPACE: &str = "bench";
const PORT: u16 = 5_432;
/// How many requests the API server is sent at once.
const CONCURRENCY: usize = 8;
/// How often a pod becomes ready, or unready. After each, what keeps a slice from being written again is over.
const FLIPS: usize = 100;
const PAUSE: Duration = Duration::from_millis(1_200);
/// How many pods are rolled out.
const PODS: usize = 1_000;
/// How many services are exported, one after the other.
const EXPORTS: usize = 100;

pub(crate) async fn numbers() -> Result<Vec<Number>> {
    let wan = TestWan::start(Plan::default().arguments(&["--network", "lan"])).await?;
    let [one, two] = [wan.cluster(1).client(), wan.cluster(2).client()];
    for client in [&one, &two] {
        create::<Namespace>(&Api::all(client.clone()), json!({"metadata": {"name": NAMESPACE}})).await?;
    }
    create::<Node>(&Api::all(one.clone()), json!({"metadata": {"name": NAMESPACE}})).await?;
    let bench = Bench { wan, one, two };
    let mut numbers = bench.flips().await?;
    numbers.extend(bench.rollout().await?);
    numbers.extend(bench.names().await?);
    Ok(numbers)
}

struct Bench {
    wan: TestWan,
    one: Client,
    two: Client,
}

impl Bench {
    /// A pod becomes unready, and ready again.
    async fn flips(&self) -> Result<Vec<Number>> {
        self.start("few", 3).await?;
        self.export("few").await?;
        let api: Api<EndpointSlice> = Api::namespaced(self.two.clone(), NAMESPACE);
        let mut slices = pin!(watcher(api, imported("few")).applied_objects());
        let mut is_ready = true;
        let mut latencies = Vec::new();
        for flip in 0..=FLIPS + 1 {
            let start = Instant::now();
            if flip > 0 {
                is_ready = !is_ready;
                self.report("few", 0, is_ready).await?;
            }
            let ready = if is_ready { 3 } else { 2 };
            let told = async {
                loop {
                    let slice = slices.try_next().await?.context("the watch goes on")?;
                    let conditions =
                        slice.endpoints.iter().flatten().filter_map(|endpoint| endpoint.conditions.as_ref());
                    if conditions.filter(|conditions| conditions.ready == Some(true)).count() == ready {
                        return Ok::<_, anyhow::Error>(());
                    }
                }
            };
            timeout(PATIENCE, told).await.context("cluster 2 is not told")??;
            // The first comes while the start may still keep the slice from being written.
            if flip > 1 {
                latencies.push(milliseconds(start));
            }
            sleep(PAUSE).await;
        }
        let name = "a pod unready, or ready, to the slice in another cluster, p50 of 100";
        let p50 = Number::limited(name, percentile(&mut latencies, 50), "ms", 100.0);
        let p99 = Number::limited("the same, p99", percentile(&mut latencies, 99), "ms", 500.0);
        Ok(vec![p50, p99])
    }

    /// Very many pods become ready, one after the other.
    async fn rollout(&self) -> Result<Vec<Number>> {
        self.start("many", PODS).await?;
        self.export("many").await?;
        let registry: Api<DynamicObject> =
            Api::namespaced_with(self.one.clone(), "mc-wan-registry", &ExportedEndpoints::api_resource());
        let slices: Api<EndpointSlice> = Api::namespaced(self.two.clone(), NAMESPACE);
        until(PATIENCE, "cluster 2 has all pods", async || {
            let listed = slices.list(&kube::api::ListParams::default().labels(&label("many"))).await?;
            Ok(listed.iter().map(|slice| slice.endpoints.iter().flatten().count()).sum::<usize>() == PODS)
        })
        .await?;
        let start = Instant::now();
        let rollout = async {
            stream::iter(0..PODS)
                .map(|pod| async move {
                    self.report("many", pod, false).await?;
                    self.report("many", pod, true).await
                })
                .buffer_unordered(CONCURRENCY)
                .try_collect::<Vec<()>>()
                .await?;
            // What is written last comes after what keeps it from being written sooner.
            sleep(2 * PAUSE).await;
            Ok::<_, anyhow::Error>(())
        };
        let (mut told, mut taken) = (BTreeMap::new(), BTreeMap::new());
        let count_told = count(watcher(registry, watcher::Config::default()), &mut told);
        let count_taken = count(watcher(slices, imported("many")), &mut taken);
        tokio::select! {
            result = rollout => result?,
            result = count_told => result?,
            result = count_taken => result?,
        }
        let seconds = start.elapsed().as_secs_f64();
        let rate = |writes: usize| float(writes) / seconds;
        let most = taken.values().copied().max().unwrap_or_default();
        ensure!(most > 0, "the rollout was not told");
        eprintln!("bench: {PODS} pods in {seconds:.1} s, {} slices in cluster 2", taken.len());
        Ok(vec![
            Number::limited("rollout of 1,000 pods: writes of the registry", rate(told.values().sum()), "1/s", 10.0),
            Number::limited("the same: writes of the slice that is written most", rate(most - 1), "1/s", 1.0),
        ])
    }

    /// Services are exported, one after the other, until DNS knows them.
    async fn names(&self) -> Result<Vec<Number>> {
        let client = self.wan.client(2).await?;
        let mut latencies = Vec::new();
        for number in 0..EXPORTS {
            let name = format!("named-{number}");
            self.serve(&name, "few", None).await?;
            let start = Instant::now();
            self.export(&name).await?;
            let host = format!("{name}.{NAMESPACE}.svc.clusterset.local");
            until(PATIENCE, "the name is known", async || Ok(!client.resolve(&host, "A").await?.is_empty())).await?;
            latencies.push(milliseconds(start) / 1_000.0);
        }
        let p99 = percentile(&mut latencies, 99);
        Ok(vec![Number::limited("a ServiceExport to the address in another cluster, p99 of 100", p99, "s", 5.0)])
    }

    /// Makes pods that are ready, and a headless Service for them.
    async fn start(&self, name: &str, pods: usize) -> Result<()> {
        let api: Api<Pod> = Api::namespaced(self.one.clone(), NAMESPACE);
        let make = async |number: usize| {
            let pod = json!({"metadata": {"name": format!("{name}-{number}"), "labels": {"app": name}},
                "spec": {"nodeName": NAMESPACE, "containers": [{"name": "none", "image": "example.com/none"}]}});
            create(&api, pod).await?;
            self.report(name, number, true).await
        };
        stream::iter(0..pods).map(make).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
        self.serve(name, name, Some("None")).await
    }

    /// Says of a pod, as its kubelet would, whether it is ready.
    async fn report(&self, name: &str, number: usize, is_ready: bool) -> Result<()> {
        let api: Api<Pod> = Api::namespaced(self.one.clone(), NAMESPACE);
        let address = format!("10.200.{}.{}", number / 250, number % 250 + 1);
        let ready = if is_ready { "True" } else { "False" };
        let status = json!({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": ready}]}});
        api.patch_status(&format!("{name}-{number}"), &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    async fn serve(&self, name: &str, pods: &str, address: Option<&str>) -> Result<()> {
        let service = json!({"metadata": {"name": name}, "spec": {"clusterIP": address, "selector": {"app": pods},
            "ports": [{"name": "tcp-db", "port": PORT}]}});
        create::<Service>(&Api::namespaced(self.one.clone(), NAMESPACE), service).await
    }

    async fn export(&self, name: &str) -> Result<()> {
        let kind = GroupVersionKind::gvk("multicluster.x-k8s.io", "v1beta1", "ServiceExport");
        let api: Api<DynamicObject> = Api::namespaced_with(self.one.clone(), NAMESPACE, &ApiResource::from_gvk(&kind));
        let export = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}});
        create(&api, export).await
    }
}

async fn create<K>(api: &Api<K>, object: Value) -> Result<()>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

/// Counts how often each object is written from now on, for ever.
async fn count<K>(
    events: impl futures_util::Stream<Item = Result<watcher::Event<K>, watcher::Error>>,
    writes: &mut BTreeMap<String, usize>,
) -> Result<()>
where
    K: kube::ResourceExt,
{
    let mut events = pin!(events);
    while let Some(event) = events.try_next().await? {
        if let watcher::Event::Apply(object) = event {
            *writes.entry(object.name_any()).or_default() += 1;
        }
    }
    Ok(())
}

/// The slices that the API has of a service.
fn imported(service: &str) -> watcher::Config {
    watcher::Config::default().labels(&label(service))
}

fn label(service: &str) -> String {
    format!("multicluster.kubernetes.io/service-name={service}")
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * percent / 100).or(values.last()).copied().unwrap_or(f64::NAN)
}

fn float(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}
