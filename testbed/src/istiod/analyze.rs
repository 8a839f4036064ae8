//! What `istioctl analyze` finds in a cluster.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tokio::process::Command;

use crate::cluster::TestCluster;
use crate::tools;

/// Something that it finds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Finding {
    /// Which of Istio's messages it is, such as `IST0107`.
    pub code: String,
    /// How bad it is.
    pub level: Level,
    /// The object that it is about: `KIND NAMESPACE/NAME`, `KIND NAME` without a namespace.
    pub origin: String,
    /// What is the matter.
    pub message: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Level {
    /// It is good to know.
    Info,
    /// It may not be what is meant.
    Warning,
    /// It does not work.
    Error,
}

/// Analyzes all namespaces of a cluster.
///
/// # Errors
/// `istioctl` is missing, fails, or prints what is not known here.
pub async fn analyze(cluster: &TestCluster) -> Result<Vec<Finding>> {
    let mut istioctl = Command::new(tools::program("istioctl")?);
    istioctl.args(["analyze", "--all-namespaces", "--output", "json", "--kubeconfig"]);
    istioctl.arg(cluster.admin_kubeconfig()).stdin(Stdio::null()).kill_on_drop(true);
    let output = istioctl.output().await.context("cannot start istioctl")?;
    let (printed, complaint) = (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr));
    // Its exit status says whether there are errors among its findings.
    ensure!(printed.trim_start().starts_with('['), "istioctl finds nothing to analyze: {}", complaint.trim());
    serde_json::from_str(&printed).with_context(|| format!("istioctl prints {printed}"))
}
