//! Tables of what a cluster does, and what the API server says to it.

use anyhow::{Result, ensure};

use super::member::Member;

pub(super) const APPLY: &str = "apply --server-side -f -";
pub(super) const CREATE: &str = "create -f -";
/// As the controller does.
pub(super) const MANAGER: &str = "apply --server-side --force-conflicts --field-manager=mcwan -f -";

/// What is done as cluster c1, and what the API server says: nothing, if it lets it be.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) task: String,
    pub(super) manifest: String,
    pub(super) refusal: Option<&'static str>,
}

pub(super) fn admitted(what: &'static str, task: &str, manifest: impl Into<String>) -> Row {
    Row { what, task: task.to_owned(), manifest: manifest.into(), refusal: None }
}

pub(super) fn refused(refusal: &'static str, what: &'static str, task: &str, manifest: impl Into<String>) -> Row {
    Row { what, task: task.to_owned(), manifest: manifest.into(), refusal: Some(refusal) }
}

/// The same manifest with more in its metadata.
pub(super) fn with(manifest: &str, field: &str) -> String {
    manifest.replace("metadata: {", &format!("metadata: {{{field}, "))
}

/// The same manifest, with the labels of what a cluster's controller writes.
pub(super) fn of_controller(manifest: &str, cluster: &str) -> String {
    with(manifest, &format!("labels: {{app.kubernetes.io/managed-by: mcwan, mc-wan.l7mp.io/cluster: {cluster}}}"))
}

pub(super) fn owner(kind: &str, name: &str, uid: &str) -> String {
    let version = if kind == "WANCluster" { "mc-wan.l7mp.io/v1alpha1" } else { "v1" };
    format!("ownerReferences: [{{apiVersion: {version}, kind: {kind}, name: {name}, uid: {uid}}}]")
}

pub(super) fn patch(object: &str, patch: &str) -> String {
    format!("patch {object} --type=merge --patch={patch}")
}

/// Does everything, and compares.
pub(super) async fn play(c1: &Member, rows: Vec<Row>) -> Result<()> {
    for Row { what, task, manifest, refusal } in rows {
        let ran = c1.kubectl(&task, &manifest).await?;
        match refusal {
            None => ensure!(ran.status == Some(0), "{what}: {ran:?}"),
            Some(refusal) => {
                ensure!(ran.status == Some(1), "{what} is not refused: {ran:?}");
                ensure!(ran.log.contains(refusal), "{what}: {}", ran.log);
            }
        }
    }
    Ok(())
}
