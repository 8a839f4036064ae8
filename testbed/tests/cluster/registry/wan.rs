//! Two clusters, and a registry in the first.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use tempfile::TempDir;

use super::objects::TIER;
use crate::command;
use crate::objects::mk_tier;
use crate::scene::{PATIENCE, Scene};
use crate::shipped::Shipped;

/// How long a cluster may be silent here.
pub(crate) const LEASE: Duration = Duration::from_secs(8);

/// Two clusters in which the controller is installed and nothing runs, and a registry in the first.
pub(crate) struct Wan {
    pub(crate) one: Scene,
    pub(crate) two: Scene,
    /// The kubeconfigs of the clusters that have joined.
    joined: TempDir,
}

impl Wan {
    pub(crate) async fn start() -> Result<Self> {
        let module = Arc::new(Shipped::start().await?);
        let (one, two) = tokio::try_join!(member("cluster-1", &module), member("cluster-2", &module))?;
        let mut wan = Self { one, two, joined: tempfile::tempdir()? };
        mcwan(&wan.one, &["registry", "init"]).await?;
        for id in ["cluster-1", "cluster-2"] {
            let kubeconfig = wan.join(id).await?;
            let kubeconfig = kubeconfig.to_str().context("a folder whose name is not text")?.to_owned();
            let member = if id == wan.one.id { &mut wan.one } else { &mut wan.two };
            member.arguments.extend(["--registry-kubeconfig".to_owned(), kubeconfig]);
        }
        Ok(wan)
    }

    /// Lets a cluster join; gives its kubeconfig of the registry.
    pub(crate) async fn join(&self, id: &str) -> Result<PathBuf> {
        let kubeconfig = mcwan(&self.one, &["registry", "join", id]).await?;
        fs::write(self.kubeconfig(id), kubeconfig)?;
        Ok(self.kubeconfig(id))
    }

    /// How a cluster that has joined reaches the registry.
    pub(crate) fn kubeconfig(&self, id: &str) -> PathBuf {
        self.joined.path().join(format!("{id}.kubeconfig"))
    }
}

/// Starts a cluster with the tier.
async fn member(id: &'static str, module: &Arc<Shipped>) -> Result<Scene> {
    let lease = LEASE.as_secs().to_string();
    // Nothing here may wait for the grace.
    let grace = ["--target-lead-ms", "100", "--target-grace-seconds", "3600"];
    let arguments = [&grace[..], &["--lease-seconds", "5", "--cluster-lease-seconds", &lease]].concat();
    let scene = Scene::named(id, &Crds::ALL, Arc::clone(module), &arguments).await?;
    scene.put(&mk_tier(TIER.0, TIER.1)).await?;
    Ok(scene)
}

/// Runs `mcwan` as administrator of a cluster; gives what it answers.
pub(crate) async fn mcwan(scene: &Scene, arguments: &[&str]) -> Result<String> {
    let ran = command::mcwan(&scene.cluster, arguments, "").await?;
    ensure!(ran.status.is_some_and(|code| code < 2), "mcwan {}: {ran:?}", arguments.join(" "));
    Ok(ran.out)
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
