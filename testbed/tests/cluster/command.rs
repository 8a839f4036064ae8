//! Programs as people run them.

use std::process::Stdio;

use anyhow::{Context, Result};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::tools;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// What a program printed, and its exit status.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) log: String,
}

/// Runs a program to its end, with something on its standard input.
pub(crate) async fn run(command: &mut Command, input: &str) -> Result<Ran> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end without reading.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = child.wait_with_output().await?;
    let text = |bytes| String::from_utf8(bytes);
    Ok(Ran { status: output.status.code(), out: text(output.stdout)?, log: text(output.stderr)? })
}

/// Runs `mcwan` as administrator of a cluster.
pub(crate) async fn mcwan(cluster: &TestCluster, arguments: &[&str], input: &str) -> Result<Ran> {
    let mut command = Command::new(tools::controller()?);
    command.args(arguments).env("KUBECONFIG", cluster.admin_kubeconfig());
    run(&mut command, input).await
}
