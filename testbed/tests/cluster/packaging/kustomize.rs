//! The kustomize base, with the overlay of manifests/README.md.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{DIGEST, SYSTEM, columns, deployment, manifests, older, ours, value};

/// What it consists of.
const EVERYTHING: &str = "deployments,services,serviceaccounts,poddisruptionbudgets,clusterroles,clusterrolebindings,\
    namespaces,customresourcedefinitions";

/// The base of the overlay that the README shows: a checkout of this repository.
const CHECKOUT: &str = "../mcwan/manifests";

/// Writes the overlay that the README shows, over a base and with the images of a digest.
fn overlay(base: &Path, digest: &str) -> Result<TempDir> {
    let readme = fs::read_to_string(manifests().join("README.md"))?;
    let (_, rest) = readme.split_once("```yaml\n").context("the README shows an overlay")?;
    let (overlay, _) = rest.split_once("```").context("the overlay ends")?;
    assert!(overlay.contains(CHECKOUT) && overlay.contains(DIGEST), "{overlay}");
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
    let overlay = overlay.replace(CHECKOUT, &relative(base, folder.path())?).replace(DIGEST, digest);
    fs::write(folder.path().join("kustomization.yaml"), overlay)?;
    Ok(folder)
}

/// Where `path` is, seen from `folder`: kustomize takes no other.
fn relative(path: &Path, folder: &Path) -> Result<String> {
    let (path, folder) = (path.canonicalize()?, folder.canonicalize()?);
    let up = "../".repeat(folder.components().count() - 1);
    let path = path.to_str().context("the working tree has a name that is not text")?;
    Ok(format!("{up}{}", path.trim_start_matches('/')))
}

/// Installs it as the README does, over this working tree's base.
pub(super) async fn install(cluster: &TestCluster) -> Result<()> {
    install_over(cluster, &manifests(), DIGEST).await
}

async fn install_over(cluster: &TestCluster, base: &Path, digest: &str) -> Result<()> {
    let overlay = overlay(base, digest)?;
    let folder = overlay.path().to_str().context("a folder with a name that is not text")?;
    cluster.kubectl(&["apply", "--server-side", "--kustomize", folder]).await?;
    cluster.kubectl(&["wait", "--for=condition=Established", "customresourcedefinition", "--all"]).await?;
    Ok(())
}

/// Waits until both replicas of an image are admitted.
async fn until_two_pods(cluster: &TestCluster, image: &str) -> Result<()> {
    let images = ["get", "pods", "--namespace", SYSTEM, "--output=jsonpath={.items[*].spec.containers[*].image}"];
    until(Duration::from_mins(2), &format!("two pods of {image} are admitted"), async || {
        let images = cluster.kubectl(&images).await?;
        Ok(images.split_whitespace().filter(|one| *one == image).count() == 2)
    })
    .await
}

#[tokio::test]
async fn it_installs_and_upgrades() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))?;
    let older = older(&manifests(), folder.path(), "crds").await?;
    let before = DIGEST.replace('0', "1");
    install_over(&cluster, &older, &before).await.context("the older one")?;
    let container = ".spec.template.spec.containers[0]";
    let image = value(&cluster, "deployment/mcwan", &format!("{container}.image")).await?;
    assert_eq!(image, format!("registry.example.com/mcwan@{before}"));
    until_two_pods(&cluster, &image).await?;
    assert!(!columns(&cluster).await?.contains("Tunnel"));
    let installed = ours(&cluster, EVERYTHING).await?;

    install(&cluster).await.context("upgrade")?;
    let image = value(&cluster, "deployment/mcwan", &format!("{container}.image")).await?;
    assert_eq!(image, format!("registry.example.com/mcwan@{DIGEST}"));
    assert!(columns(&cluster).await?.contains("Tunnel"));
    assert_eq!(ours(&cluster, EVERYTHING).await?, installed);
    assert_eq!(ours(&cluster, "customresourcedefinitions").await?.len(), 7);
    let names = value(&cluster, "deployment/mcwan", &format!("{container}.env[*].name")).await?;
    for name in ["POD_NAME", "POD_NAMESPACE", "MCWAN_CLUSTER_ID", "MCWAN_MODULE", "MCWAN_DATA_PLANE"] {
        assert!(names.split(' ').any(|one| one == name), "{name} in {names}");
    }
    let which = "validatingadmissionpolicy/mcwan-registry-host";
    assert_eq!(value(&cluster, which, ".spec.variables[?(@.name==\"cluster\")].expression").await?, "'cluster-1'");
    deployment::check(&cluster).await?;

    let version = value(&cluster, "deployment/mcwan", ".metadata.generation").await?;
    install(&cluster).await.context("once more")?;
    assert_eq!(value(&cluster, "deployment/mcwan", ".metadata.generation").await?, version);
    Ok(())
}

#[tokio::test]
async fn not_told_which_cluster_it_is_it_publishes_nothing() -> Result<()> {
    const REFUSAL: &str = "cluster (not told which one it is: see manifests/README.md) writes";
    let cluster = TestCluster::start_with(&[]).await?;
    let base = manifests();
    cluster.kubectl(&["apply", "--server-side", "--kustomize", base.to_str().context("a path")?]).await?;
    cluster.kubectl(&["wait", "--for=condition=Established", "customresourcedefinition", "--all"]).await?;
    let client = cluster.client_for(SYSTEM, "mcwan").await?;
    let published = |kind: &str, name: &str, spec: Value| {
        let kind = GroupVersionKind::gvk("mc-wan.l7mp.io", "v1alpha1", kind);
        let labels = json!({"app.kubernetes.io/managed-by": "mcwan"});
        let object = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "spec": spec,
            "metadata": {"name": name, "labels": labels}});
        let api =
            Api::<DynamicObject>::namespaced_with(client.clone(), "mc-wan-registry", &ApiResource::from_gvk(&kind));
        async move {
            let object: DynamicObject = serde_json::from_value(object)?;
            Ok::<_, anyhow::Error>(
                api.create(&PostParams::default(), &object).await.err().map(|error| error.to_string()),
            )
        }
    };
    // What the API server has been told a moment ago, it does not enforce at once.
    let mut number = 0;
    until(Duration::from_mins(1), "the policy is in force", async || {
        number += 1;
        let answer = published("WANCluster", &format!("c{number}"), json!({})).await?;
        Ok(answer.is_some_and(|answer| answer.contains(REFUSAL)))
    })
    .await?;
    let export = json!({"cluster": "c", "namespace": "ns", "name": "pay", "exportedAt": "2026-11-20T08:00:00Z",
        "ports": [{"port": 80}]});
    let answer = published("ExportedService", "c.ns.pay", export).await?.context("an export is admitted")?;
    assert!(answer.contains(REFUSAL), "{answer}");
    Ok(())
}

#[tokio::test]
async fn it_uninstalls_and_leaves_nothing() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    install(&cluster).await?;
    assert_ne!(ours(&cluster, EVERYTHING).await?, [""; 0]);
    let overlay = overlay(&manifests(), DIGEST)?;
    let folder = overlay.path().to_str().context("a folder with a name that is not text")?;
    cluster.kubectl(&["delete", "--kustomize", folder]).await?;
    assert_eq!(ours(&cluster, EVERYTHING).await?, [""; 0]);
    Ok(())
}
