//! The controller itself, on a real API server that shares the machine's cores with it.

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::discovery::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, CustomResourceExt};
use mcwan_core::api::{ExportedService, ServiceImport};
use mcwan_core::emit::object::Kind;
use mcwan_numbers::Number;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::controller::{Controller, Settings};
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::{RUNS, float, load};

/// The name of the cluster.
const CLUSTER: &str = "cluster-2";
/// How many objects are created at once.
const CONCURRENCY: usize = 16;
/// How long anything may take. For each Service that clients call, the API server goes through all cluster IPs that it has given
/// (Kubernetes 1.36, `ipallocator.Allocator.Used`), so the time for all of them grows with their square.
const PATIENCE: Duration = Duration::from_mins(30);
/// How often one import is changed.
const CHANGES: usize = 200;
/// The same of an import whose neighbour's route is refused: for longer than the rollout waits for that.
const CHANGES_BESIDE: usize = 100;

/// The numbers of the running controller.
pub(crate) async fn numbers(imports: usize) -> Result<Vec<Number>> {
    let cluster = TestCluster::start().await?;
    cluster.install_mcwan(CLUSTER).await?;
    let mut registry = OciRegistry::new()?;
    registry.start().await?;
    let module = format!("oci://{}", registry.push(&tools::image("module")?, "mcwan-filter").await?);
    let scene = Scene { cluster, insecure: registry.address().to_string(), module, imports };
    scene.fill().await?;

    let start = Instant::now();
    let controller = scene.controller().await?;
    scene.steady(&controller).await?;
    let first = start.elapsed();
    let applied = applied(&controller).await?;
    eprintln!("bench: {applied} objects applied first, in {first:.1?}: {}", breakdown(&controller).await?);
    let mut numbers = vec![
        Number::at_least("first apply of everything", f64::from(applied) / first.as_secs_f64(), "applies/s", 400.0),
        Number::free("first apply of everything, in all", first.as_secs_f64(), "s"),
    ];
    controller.stop().await?;

    let (mut restarts, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        let controller = scene.controller().await?;
        scene.steady(&controller).await?;
        restarts.push(start.elapsed().as_secs_f64());
        memory.push(peak_memory(&controller)?);
        eprintln!("bench: steady again after {:.1?}", start.elapsed());
        ensure!(self::applied(&controller).await? == 0, "a restart writes nothing");
        controller.stop().await?;
    }
    numbers.push(Number::best_of("restart over applied state to steady", &restarts, "s", 10.0));
    numbers.push(Number::worst_of("restart over applied state, peak memory", &memory, "MiB", 300.0));

    let controller = scene.controller().await?;
    scene.steady(&controller).await?;
    let before = cpu_seconds(&controller)?;
    let latencies = scene.change_imports(CHANGES, |change| change * 97 % scene.imports).await?;
    let own = (cpu_seconds(&controller)? - before) * 1_000.0 / float(CHANGES);
    eprintln!("bench: a change takes {own:.1} ms of CPU in the controller, its status included");
    numbers.push(Number::limited(
        "a changed rule to its WasmPlugin, p50 of 200",
        percentile(&latencies, 50),
        "ms",
        50.0,
    ));
    numbers.push(Number::limited(
        "a changed rule to its WasmPlugin, p99 of 200",
        percentile(&latencies, 99),
        "ms",
        120.0,
    ));

    scene.refuse_a_route().await?;
    let beside = |change: usize| (change % (scene.imports / crate::NAMESPACES - 1) + 1) * crate::NAMESPACES;
    let latencies = scene.change_imports(CHANGES_BESIDE, beside).await?;
    let name = "the same beside an import whose route is refused, p99 of 100";
    numbers.push(Number::limited(name, percentile(&latencies, 99), "ms", 1_000.0));
    controller.stop().await?;
    Ok(numbers)
}

struct Scene {
    cluster: TestCluster,
    /// The OCI registry.
    insecure: String,
    module: String,
    imports: usize,
}

impl Scene {
    /// Creates what users and the other cluster want.
    async fn fill(&self) -> Result<()> {
        let client = self.cluster.client();
        let yaml = |objects: Vec<Value>| objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
        self.cluster.apply(&yaml(load::surroundings())).await?;
        self.cluster.apply(&yaml(load::namespaces())).await?;
        let start = Instant::now();
        for (resource, objects) in [
            (ExportedService::api_resource(), load::exported_services(self.imports)),
            (ServiceImport::api_resource(), load::service_imports(self.imports)),
        ] {
            let create = async |object: Value| -> Result<()> {
                let object: DynamicObject = serde_json::from_value(object)?;
                let namespace = object.metadata.namespace.clone().context("everything is in a namespace")?;
                let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
                api.create(&PostParams::default(), &object).await?;
                Ok(())
            };
            stream::iter(objects).map(create).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
        }
        eprintln!("bench: {} imports and their exports created in {:.1?}", self.imports, start.elapsed());
        Ok(())
    }

    async fn controller(&self) -> Result<Controller> {
        let settings = Settings {
            replica: "bench",
            cluster_id: CLUSTER,
            module: &self.module,
            arguments: &["--insecure-registry", &self.insecure],
        };
        Controller::begin(&self.cluster, &settings).await
    }

    /// Waits until the controller has nothing left to do.
    async fn steady(&self, controller: &Controller) -> Result<()> {
        until(PATIENCE, "every import is accepted and nothing is left to do", async || {
            let accepted = controller.metric(r#"mcwan_imports{condition="Accepted",status="True"}"#).await;
            Ok(accepted.is_ok_and(|accepted| accepted == Some(float(self.imports))))
        })
        .await
    }

    /// Lets the API server refuse the route of the first import, and gives that a target which needs it.
    async fn refuse_a_route(&self) -> Result<()> {
        let client = self.cluster.client();
        let (namespace, name) = load::name(0);
        let policy: Vec<_> = load::refusal(&namespace, &name).iter().map(Value::to_string).collect();
        self.cluster.apply(&policy.join("\n---\n")).await?;
        let routes = api(&client, &namespace, &Kind::HttpRoute.api_resource());
        let touch = Patch::Merge(json!({"metadata": {"annotations": {"example.com/touched": "yes"}}}));
        let only_ask = PatchParams { dry_run: true, ..PatchParams::default() };
        until(PATIENCE, "changes of the route are refused", async || {
            Ok(routes.patch(&format!("{name}.8080"), &only_ask, &touch).await.is_err())
        })
        .await?;
        let imports = api(&client, &namespace, &ServiceImport::api_resource());
        imports.patch(&name, &PatchParams::default(), &Patch::Merge(load::with_another_target())).await?;
        until(PATIENCE, "the import says that its route is refused", async || {
            Ok(imports.get(&name).await?.data["status"].to_string().contains("ValidatingAdmissionPolicy"))
        })
        .await
    }

    /// Changes rules of imports, one after the other, and measures the milliseconds until the `WasmPlugin` of their
    /// namespace has them. Gives them in their order.
    async fn change_imports(&self, changes: usize, import: impl Fn(usize) -> usize) -> Result<Vec<f64>> {
        let client = self.cluster.client();
        let plugins: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client.clone(), &Kind::WasmPlugin.api_resource());
        let mut plugins = pin!(watcher(plugins, watcher::Config::default()).applied_objects());
        let mut known = 0;
        while known < crate::NAMESPACES {
            plugins.try_next().await?.context("the watch goes on")?;
            known += 1;
        }
        let mut latencies = Vec::new();
        for change in 1..=changes {
            let number = import(change);
            let (namespace, name) = load::name(number);
            let imports: Api<DynamicObject> = api(&client, &namespace, &ServiceImport::api_resource());
            let patch = Patch::Merge(load::service_import(number, changes + change));
            let start = Instant::now();
            imports.patch(&name, &PatchParams::default(), &patch).await?;
            loop {
                let plugin = plugins.try_next().await?.context("the watch goes on")?;
                if plugin.metadata.namespace.as_deref() == Some(&*namespace) {
                    break;
                }
            }
            latencies.push(start.elapsed().as_secs_f64() * 1_000.0);
            // The next change finds a controller that is done with this one.
            until(PATIENCE, "the change is told in the status", async || {
                let import = imports.get(&name).await?;
                let observed = import.data.pointer("/status/conditions/0/observedGeneration");
                Ok(observed.and_then(Value::as_i64) == import.metadata.generation)
            })
            .await?;
        }
        latencies.sort_by(f64::total_cmp);
        Ok(latencies)
    }
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

fn api(client: &kube::Client, namespace: &str, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, resource)
}

/// How many objects the controller has written.
async fn applied(controller: &Controller) -> Result<u32> {
    let mut sum = 0.0;
    for kind in Kind::ALL {
        let name = format!("mcwan_objects_applied_total{{kind=\"{}\"}}", kind.name());
        sum += controller.metric(&name).await?.unwrap_or_default();
    }
    // Whole, and far less than 2^32.
    format!("{sum}").parse().context("a count is whole")
}

/// Where the time went.
async fn breakdown(controller: &Controller) -> Result<String> {
    let rounds = controller.metric("mcwan_reconcile_duration_seconds_count").await?.unwrap_or_default();
    let spent = controller.metric("mcwan_reconcile_duration_seconds_sum").await?.unwrap_or_default();
    let own = cpu_seconds(controller)?;
    Ok(format!(
        "{rounds} rounds of {spent:.1} s in all, {own:.1} s of CPU in the controller, the rest in the API server"
    ))
}

/// The most memory that the controller has had, in MiB.
fn peak_memory(controller: &Controller) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", controller.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("Linux tells the peak")?;
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kibibytes / 1_024.0)
}

/// The seconds that the controller has kept cores busy.
fn cpu_seconds(controller: &Controller) -> Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0; // of /proc on Linux
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", controller.pid()))?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("the name ends")?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).context("too few fields")?.parse::<f64>().context("a count of ticks");
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}
