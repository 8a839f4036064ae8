//! The commands of manifests/README.md that remove what the controller wrote.

use std::fs;

use anyhow::{Context, Result};
use mcwan_core::emit::object::Kind;
use mcwan_testbed::cluster::{Crds, TestCluster};

use super::{golden, kustomize, manifests};

/// The `kubectl delete` commands that the README shows, as arguments of kubectl.
fn commands() -> Result<Vec<String>> {
    let readme = fs::read_to_string(manifests().join("README.md"))?;
    let (_, removal) = readme.split_once("## Removing it\n").context("the README says how to remove it")?;
    let removal = removal.replace("\\\n", "").replace("manifests/crds", &manifests().join("crds").to_string_lossy());
    let commands = removal.lines().filter_map(|line| line.strip_prefix("    kubectl "));
    Ok(commands.map(str::to_owned).collect())
}

#[tokio::test]
async fn the_commands_of_the_readme_leave_nothing() -> Result<()> {
    let cluster = TestCluster::start_with(&[Crds::GatewayApi, Crds::Istio]).await?;
    kustomize::install(&cluster).await?;
    cluster.kubectl(&["create", "namespace", "secure"]).await?;
    cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", golden()?.as_str()]).await?;
    let commands = commands()?;
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in &commands {
        let arguments: Vec<_> = command.split_whitespace().collect();
        cluster.kubectl(&arguments).await?;
    }
    // Its kind is not installed.
    let ours = [
        Kind::WanCluster,
        Kind::ExportedEndpoints,
        Kind::ExportedService,
        Kind::McsServiceImport,
        Kind::ClusterConnection,
    ];
    for kind in Kind::ALL.into_iter().filter(|kind| !ours.contains(kind)) {
        let resource = kind.api_resource();
        let kind = format!("{}.{}", resource.plural, resource.group);
        let labelled = ["--all-namespaces", "--selector=app.kubernetes.io/managed-by=mcwan", "--output=name"];
        let left = cluster.kubectl(&[["get", kind.trim_end_matches('.')].as_slice(), &labelled].concat()).await?;
        assert_eq!(left, "", "{kind}");
    }
    let left = cluster.kubectl(&["get", "namespaces,customresourcedefinitions", "--output=name"]).await?;
    assert!(!left.contains("mc-wan"), "{left}");
    Ok(())
}
