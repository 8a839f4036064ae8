//! The registry, as the clusters share it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use super::member::WanCluster;
use crate::tools;

/// What a cluster logs in to the registry with.
const KUBECONFIG: &str = "registry.kubeconfig";

/// Prepares the API server of a cluster for the registry, by `mcwan registry init`.
pub(super) async fn init(holder: &WanCluster) -> Result<()> {
    run(holder, ["init"]).await?;
    Ok(())
}

/// Lets a cluster join with these labels, by `mcwan registry join`. Gives the kubeconfig with its credentials.
pub(super) async fn join<'l>(
    holder: &WanCluster,
    member: &WanCluster,
    labels: impl IntoIterator<Item = &'l str>,
) -> Result<PathBuf> {
    let (id, server) = (member.id(), holder.inner_url());
    let labels = labels.into_iter().flat_map(|label| ["--label", label]);
    let kubeconfig = run(holder, ["join", &*id, "--server", &*server].into_iter().chain(labels)).await?;
    let path = member.folder().join(KUBECONFIG);
    std::fs::write(&path, kubeconfig).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Runs `mcwan registry` as the holder's administrator; returns what it prints.
async fn run<A: AsRef<OsStr>>(holder: &WanCluster, arguments: impl IntoIterator<Item = A>) -> Result<String> {
    let mut mcwan = Command::new(tools::controller()?);
    mcwan.arg("registry").args(arguments).env("KUBECONFIG", holder.admin_kubeconfig());
    let output = mcwan.stdin(Stdio::null()).kill_on_drop(true).output().await.context("cannot start mcwan")?;
    ensure!(output.status.success(), "mcwan registry failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}
