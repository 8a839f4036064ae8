//! Two clusters, and a registry in the first.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::controller::Controller;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use tempfile::TempDir;
use tokio::process::Command;

use super::objects::TIER;
use crate::objects::mk_tier;
use crate::shipped::Shipped;
use crate::site::{PATIENCE, Site};

/// How long a cluster may be silent here.
pub(crate) const LEASE: Duration = Duration::from_secs(8);

/// Two clusters in which the controller is installed and nothing runs, and a registry in the first.
pub(crate) struct Wan {
    pub(crate) one: Site,
    pub(crate) two: Site,
    module: Shipped,
    /// The kubeconfigs of the clusters that have joined.
    joined: TempDir,
}

impl Wan {
    pub(crate) async fn start() -> Result<Self> {
        let (one, two, module) = tokio::try_join!(site("cluster-1"), site("cluster-2"), Shipped::start())?;
        let wan = Self { one, two, module, joined: tempfile::tempdir()? };
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
        let arguments = self.arguments(site)?;
        site.controller(&self.module, "a", &arguments.each_ref().map(String::as_str)).await
    }

    /// The same, where it will not be ready soon.
    pub(crate) async fn begun(&self, site: &Site) -> Result<Controller> {
        let arguments = self.arguments(site)?;
        site.begun(&self.module, "a", &arguments.each_ref().map(String::as_str)).await
    }

    fn arguments(&self, site: &Site) -> Result<[String; 10]> {
        let registry = self.kubeconfig(site.id);
        let registry = registry.to_str().context("a folder whose name is not text")?;
        let lease = LEASE.as_secs().to_string();
        Ok([
            "--registry-kubeconfig",
            registry,
            "--cluster-lease-seconds",
            &lease,
            "--lease-seconds",
            "5",
            "--target-lead-ms",
            "100",
            // Nothing here may wait for it.
            "--target-grace-seconds",
            "3600",
        ]
        .map(str::to_owned))
    }
}

/// Starts a cluster with the tier.
async fn site(id: &'static str) -> Result<Site> {
    let site = Site::start(id, &Crds::ALL).await?;
    site.put(&mk_tier(TIER.0, TIER.1)).await?;
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
