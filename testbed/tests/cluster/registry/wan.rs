//! Two clusters, and a registry in the first.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::controller::{Controller, Settings};
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use super::objects::{mk, mk_tier};
use super::site::{PATIENCE, Site};

/// How long a cluster may be silent here.
pub(crate) const LEASE: Duration = Duration::from_secs(8);

/// Two clusters in which the controller is installed and nothing runs, and a registry in the first.
pub(crate) struct Wan {
    pub(crate) one: Site,
    pub(crate) two: Site,
    oci: OciRegistry,
    module: String,
    /// The kubeconfigs of the clusters that have joined.
    joined: TempDir,
}

impl Wan {
    pub(crate) async fn start() -> Result<Self> {
        let (one, two) = tokio::try_join!(site("cluster-1"), site("cluster-2"))?;
        let mut oci = OciRegistry::new()?;
        oci.start().await?;
        let module = format!("oci://{}", oci.push(&tools::image("module")?, "mcwan-filter").await?);
        let wan = Self { one, two, oci, module, joined: tempfile::tempdir()? };
        mcwan(&wan.one, ["registry", "init"]).await?;
        for id in [wan.one.id, wan.two.id] {
            wan.join(id).await?;
        }
        Ok(wan)
    }

    /// Lets a cluster join; gives its kubeconfig of the registry.
    pub(crate) async fn join(&self, id: &str) -> Result<PathBuf> {
        let kubeconfig = mcwan(&self.one, ["registry", "join", id]).await?;
        fs::write(self.kubeconfig(id), kubeconfig)?;
        Ok(self.kubeconfig(id))
    }

    /// How a cluster that has joined reaches the registry.
    pub(crate) fn kubeconfig(&self, id: &str) -> PathBuf {
        self.joined.path().join(format!("{id}.kubeconfig"))
    }

    /// Starts the controller of a cluster and waits until it is ready.
    pub(crate) async fn controller(&self, site: &Site) -> Result<Controller> {
        self.started(site, true).await
    }

    /// The same, where it will not be ready soon.
    pub(crate) async fn begun(&self, site: &Site) -> Result<Controller> {
        self.started(site, false).await
    }

    async fn started(&self, site: &Site, ready: bool) -> Result<Controller> {
        let (oci, lease) = (self.oci.address().to_string(), LEASE.as_secs().to_string());
        let registry = self.kubeconfig(site.id);
        let registry = registry.to_str().context("a folder whose name is not text")?;
        let settings = Settings {
            replica: "a",
            cluster_id: site.id,
            module: &self.module,
            arguments: &[
                ["--insecure-registry", &oci],
                ["--registry-kubeconfig", registry],
                ["--cluster-lease-seconds", &lease],
                ["--lease-seconds", "5"],
                ["--target-lead-ms", "100"],
                // Nothing here may wait for it.
                ["--target-grace-seconds", "3600"],
            ]
            .concat(),
        };
        if ready {
            Controller::start(&site.cluster, &settings).await
        } else {
            Controller::begin(&site.cluster, &settings).await
        }
    }
}

/// Starts a cluster with the controller's rights, a tier and the namespace `secure`.
async fn site(id: &'static str) -> Result<Site> {
    let cluster = TestCluster::start().await?;
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests");
    cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--kustomize", manifests]).await?;
    let site = Site::new(cluster, id);
    for namespace in ["secure", "marker"] {
        site.put(&mk("Namespace", "", namespace, json!({}))).await?;
    }
    site.put(&mk_tier()).await?;
    Ok(site)
}

/// Runs `mcwan` as administrator of a cluster; gives what it answers.
pub(crate) async fn mcwan(site: &Site, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String> {
    let mut command = Command::new(tools::controller()?);
    command.args(arguments).env("KUBECONFIG", site.cluster.admin_kubeconfig()).kill_on_drop(true);
    let output = command.output().await.context("cannot start mcwan")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code().is_some_and(|code| code < 2), "{command:?}: {log}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Waits until a controller says this of itself.
pub(crate) async fn until_metric(controller: &Controller, name: &str, expected: f64) -> Result<()> {
    let mut last = None;
    let what = format!("{name} is {expected}");
    let waited = until(PATIENCE, &what, async || {
        // It may not listen yet.
        last = controller.metric(name).await.ok().flatten();
        Ok(last == Some(expected))
    });
    waited.await.with_context(|| format!("it is {last:?}"))
}
