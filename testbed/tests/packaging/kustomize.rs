//! The kustomize base, with the overlay of manifests/README.md.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::wait::until;
use tempfile::TempDir;

use super::{SYSTEM, manifests, ours, value};

/// Writes the overlay that the README shows, over this working tree's base.
pub(super) fn overlay() -> Result<TempDir> {
    let readme = fs::read_to_string(manifests().join("README.md"))?;
    let (_, rest) = readme.split_once("```yaml\n").context("the README shows an overlay")?;
    let (overlay, _) = rest.split_once("```").context("the overlay ends")?;
    let published = "https://github.com/l7mp/mc-wan//manifests?ref=main";
    assert!(overlay.contains(published), "{overlay}");
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
    let base = relative(&manifests(), folder.path())?;
    fs::write(folder.path().join("kustomization.yaml"), overlay.replace(published, &base))?;
    Ok(folder)
}

/// Where `path` is, seen from `folder`: kustomize takes no other.
fn relative(path: &Path, folder: &Path) -> Result<String> {
    let (path, folder) = (path.canonicalize()?, folder.canonicalize()?);
    let up = "../".repeat(folder.components().count() - 1);
    let path = path.to_str().context("the working tree has a name that is not text")?;
    Ok(format!("{up}{}", path.trim_start_matches('/')))
}

/// Installs it as the README does.
pub(super) async fn install(cluster: &TestCluster) -> Result<()> {
    let overlay = overlay()?;
    let folder = overlay.path().to_str().context("a folder with a name that is not text")?;
    cluster.kubectl(&["apply", "--server-side", "--kustomize", folder]).await?;
    cluster.kubectl(&["wait", "--for=condition=Established", "customresourcedefinition", "--all"]).await?;
    Ok(())
}

#[tokio::test]
async fn it_installs_and_settles() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    install(&cluster).await?;
    let pods =
        ["get", "pods", "--namespace", SYSTEM, "--output=jsonpath={.items[*].metadata.labels.pod-template-hash}"];
    until(Duration::from_mins(2), "both replicas are admitted", async || {
        Ok(cluster.kubectl(&pods).await?.split_whitespace().count() == 2)
    })
    .await?;
    let container = ".spec.template.spec.containers[0]";
    let image = value(&cluster, "deployment/mcwan", &format!("{container}.image")).await?;
    assert!(image.starts_with("registry.example.com/mcwan@sha256:"), "{image}");
    let names = value(&cluster, "deployment/mcwan", &format!("{container}.env[*].name")).await?;
    for name in ["POD_NAME", "POD_NAMESPACE", "MCWAN_CLUSTER_ID", "MCWAN_MODULE", "MCWAN_DATA_PLANE"] {
        assert!(names.split(' ').any(|one| one == name), "{name} in {names}");
    }
    assert_eq!(ours(&cluster, "customresourcedefinitions").await?.len(), 4);

    let version = value(&cluster, "deployment/mcwan", ".metadata.generation").await?;
    install(&cluster).await.context("once more")?;
    assert_eq!(value(&cluster, "deployment/mcwan", ".metadata.generation").await?, version);
    Ok(())
}

#[tokio::test]
async fn it_uninstalls_and_leaves_nothing() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let everything = "deployments,services,serviceaccounts,poddisruptionbudgets,clusterroles,clusterrolebindings,\
        namespaces,customresourcedefinitions";
    install(&cluster).await?;
    assert_ne!(ours(&cluster, everything).await?, [""; 0]);
    let overlay = overlay()?;
    let folder = overlay.path().to_str().context("a folder with a name that is not text")?;
    cluster.kubectl(&["delete", "--kustomize", folder]).await?;
    assert_eq!(ours(&cluster, everything).await?, [""; 0]);
    Ok(())
}
