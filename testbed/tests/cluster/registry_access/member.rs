//! A cluster that has joined a registry, and how.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::tools;
use tempfile::TempDir;
use tokio::process::Command;

use crate::command::{Ran, mcwan, run};

/// The namespace of the registry, as an option of kubectl.
pub(crate) const REGISTRY: &str = "--namespace=mc-wan-registry";

/// A cluster that has joined: its kubeconfig and kubectl with it.
pub(crate) struct Member {
    folder: TempDir,
    pub(crate) name: String,
    /// What `mcwan registry join` said beside the kubeconfig.
    pub(crate) hints: String,
}

/// Runs `mcwan registry` as administrator.
pub(crate) async fn registry(cluster: &TestCluster, arguments: &[&str]) -> Result<Ran> {
    mcwan(cluster, &[&["registry"], arguments].concat(), "").await
}

/// The same, where it must succeed.
pub(crate) async fn done(cluster: &TestCluster, arguments: &[&str]) -> Result<Ran> {
    let ran = registry(cluster, arguments).await?;
    ensure!(ran.status == Some(0), "mcwan registry {}: {ran:?}", arguments.join(" "));
    Ok(ran)
}

impl Member {
    /// Joins.
    pub(crate) async fn join(cluster: &TestCluster, name: &str) -> Result<Self> {
        Self::join_with(cluster, name, &[]).await
    }

    /// Joins, and is told more.
    pub(crate) async fn join_with(cluster: &TestCluster, name: &str, arguments: &[&str]) -> Result<Self> {
        let ran = done(cluster, &[&["join", name], arguments].concat()).await?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(format!("{name}.kubeconfig")), ran.out)?;
        Ok(Self { folder, name: name.to_owned(), hints: ran.log })
    }

    /// The cluster whose own API server this is, which need not join: its controller.
    pub(crate) async fn host(cluster: &TestCluster, name: &str, namespace: &str) -> Result<Self> {
        let host = Self { folder: tempfile::tempdir()?, name: name.to_owned(), hints: String::new() };
        fs::copy(cluster.kubeconfig(namespace, "mcwan").await?, host.kubeconfig())?;
        let ran = host.kubectl(&format!("config set-context --current {REGISTRY}"), "").await?;
        ensure!(ran.status == Some(0), "{ran:?}");
        Ok(host)
    }

    /// The folder that the kubeconfig is in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join(format!("{}.kubeconfig", self.name))
    }

    /// Runs kubectl with the printed kubeconfig alone.
    pub(crate) async fn kubectl(&self, arguments: &str, input: &str) -> Result<Ran> {
        let mut kubectl = Command::new(tools::program("kubectl")?);
        kubectl.arg("--kubeconfig").arg(self.kubeconfig());
        kubectl.arg("--cache-dir").arg(self.folder.path().join("cache")).args(arguments.split_whitespace());
        run(&mut kubectl, input).await
    }

    /// Publishes itself and its exports of namespace `secure`.
    pub(crate) async fn publish(&self, exports: &[&str]) -> Result<()> {
        let name = &self.name;
        let mut manifests = wan_cluster(name);
        for export in exports {
            manifests += &export_of(&format!("{name}.secure.{export}"), name, export);
        }
        manifests += &lease(name);
        let ran = self.kubectl("apply --server-side -f -", &manifests).await?;
        ensure!(ran.status == Some(0), "{ran:?}");
        Ok(())
    }
}

pub(crate) fn wan_cluster(name: &str) -> String {
    format!(
        "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: WANCluster\nmetadata: {{name: {name}}}\n\
         spec: {{tiers: [{{name: high, port: 31111}}]}}\n"
    )
}

/// An export, whose name and cluster need not agree.
pub(crate) fn export_of(name: &str, cluster: &str, service: &str) -> String {
    format!(
        "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ExportedService\nmetadata: {{name: {name}}}\nspec: {{cluster: \
         {cluster}, namespace: secure, name: {service}, exportedAt: '2026-11-20T08:00:00Z', ports: [{{port: 8080}}]}}\n"
    )
}

/// Pods of an export, whose name and cluster need not agree.
pub(crate) fn pods_of(name: &str, cluster: &str) -> String {
    format!(
        "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ExportedEndpoints\nmetadata: {{name: {name}}}\nspec: {{cluster: \
         {cluster}, namespace: secure, name: payment, addressType: IPv4, endpoints: [{{address: 10.0.0.7}}]}}\n"
    )
}

pub(crate) fn lease(name: &str) -> String {
    format!(
        "---\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: {name}}}\n\
         spec: {{holderIdentity: {name}, leaseDurationSeconds: 30}}\n"
    )
}
