//! A cluster with the controller's rights, the module in an OCI registry, and replicas of the controller.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::controller::{Controller, Settings};
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;

/// How long anything may take, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// What the controller needs to run.
pub(crate) struct Scene {
    pub(crate) cluster: TestCluster,
    pub(crate) registry: OciRegistry,
    /// Where the module is.
    pub(crate) module: String,
}

impl Scene {
    /// Starts a cluster in which the controller is installed and nothing runs.
    pub(crate) async fn start() -> Result<Self> {
        let cluster = TestCluster::start().await?;
        cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--kustomize", manifests()?]).await?;
        let mut registry = OciRegistry::new()?;
        registry.start().await?;
        let module = format!("oci://{}", registry.push(&tools::image("module")?, "mcwan-filter").await?);
        Ok(Self { cluster, registry, module })
    }

    /// Starts a replica of the controller, with more arguments.
    pub(crate) async fn replica(&self, replica: &str, arguments: &[&str]) -> Result<Controller> {
        let registry = self.registry.address().to_string();
        let common = ["--insecure-registry", &registry, "--target-lead-ms", "100", "--target-grace-seconds", "2"];
        let settings = Settings {
            program: Path::new(env!("CARGO_BIN_EXE_mcwan-under-test")),
            replica,
            cluster_id: "cluster-2",
            module: &self.module,
            arguments: &[&common[..], arguments].concat(),
        };
        Controller::start(&self.cluster, &settings).await
    }

    /// Applies the manifests of an example, in namespaces that are made first.
    pub(crate) async fn apply_example(&self, example: &str) -> Result<()> {
        let file = root().join("examples").join(example).join("manifests.yaml");
        let manifests = std::fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
        self.cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: secure}}").await?;
        self.cluster.apply(&manifests).await
    }

    /// What kubectl prints.
    pub(crate) async fn get(&self, arguments: &str) -> Result<String> {
        self.cluster.kubectl(&[&["get"], &*arguments.split_whitespace().collect::<Vec<_>>()].concat()).await
    }

    /// Waits until kubectl prints this.
    pub(crate) async fn until_get(&self, arguments: &str, expected: &str) -> Result<()> {
        let mut last = String::new();
        let what = format!("`kubectl get {arguments}` prints {expected}");
        let wait = until(PATIENCE, &what, async || {
            last = self.get(arguments).await.unwrap_or_else(|error| error.to_string());
            Ok(last.trim() == expected)
        });
        let result = wait.await;
        result.with_context(|| format!("it prints {last}"))
    }

    /// Waits until a condition of an object has this status and reason: `Programmed=True/Programmed`.
    pub(crate) async fn until_condition(&self, object: &str, expected: &str) -> Result<()> {
        let condition = expected.split('=').next().unwrap_or_default();
        let filter = format!("{{.status.conditions[?(@.type==\"{condition}\")]");
        let output = format!("{object} -o jsonpath={filter}.type}}={filter}.status}}/{filter}.reason}}");
        self.until_get(&output, expected).await
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifests() -> Result<&'static str> {
    Ok(concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests"))
}
