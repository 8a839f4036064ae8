//! What is shipped, on a real API server and in a real OCI registry: the Helm chart, the kustomize base, the rights of
//! the controller, the images.

mod deployment;
mod helm;
mod images;
mod kustomize;
mod pod;
mod removal;
mod rights;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::TestCluster;
use tokio::process::Command;

/// The namespace of the controller.
const SYSTEM: &str = "mc-wan-system";

/// The digest of images in the README.
const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn manifests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("manifests")
}

/// The folder of what the controller emits for the examples.
fn golden() -> Result<String> {
    let folder = manifests().with_file_name("controller/tests/golden/kubernetes");
    Ok(folder.to_str().context("the working tree has a name that is not text")?.to_owned())
}

/// Copies `source` into `folder`, as it may have been a version ago: of the definitions in `definitions` one has a column
/// less. Gives the copy.
async fn older(source: &Path, folder: &Path, definitions: &str) -> Result<PathBuf> {
    let older = folder.join("older");
    run(Command::new("cp").args(["--recursive", "--dereference"]).arg(source).arg(&older)).await?;
    let file = older.join(definitions).join("wanpolicies.yaml");
    let now = fs::read_to_string(&file)?;
    let before = now.replace("    - jsonPath: .spec.tunnel\n      name: Tunnel\n      type: string\n", "");
    assert_ne!(before, now, "the column is there to be removed");
    fs::write(&file, before)?;
    Ok(older)
}

/// The columns of the definition that is older there.
async fn columns(cluster: &TestCluster) -> Result<String> {
    let printed = ".spec.versions[0].additionalPrinterColumns[*].name";
    value(cluster, "customresourcedefinition/wanpolicies.mc-wan.l7mp.io", printed).await
}

/// Runs a program to its end and returns what it prints.
async fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}", complaint.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// What is there of `kinds` in the controller's namespace and without one, as `KIND/NAME` in order, but for what
/// Kubernetes itself puts there.
async fn ours(cluster: &TestCluster, kinds: &str) -> Result<Vec<String>> {
    let all = cluster.kubectl(&["get", kinds, "--namespace", SYSTEM, "--output", "name"]).await?;
    let mut ours: Vec<_> = all.lines().filter(|name| name.contains("mc-wan") || name.contains("mcwan")).collect();
    ours.sort_unstable();
    Ok(ours.into_iter().map(str::to_owned).collect())
}

/// The one value at `path` of an object.
async fn value(cluster: &TestCluster, object: &str, path: &str) -> Result<String> {
    let output = format!("--output=jsonpath={{{path}}}");
    cluster.kubectl(&["get", object, "--namespace", SYSTEM, &output]).await
}
