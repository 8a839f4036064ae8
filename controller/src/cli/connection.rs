//! The API server that a command asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// How long a command waits for the next piece of an answer. Nothing that it asks for is watched.
const READ: Duration = Duration::from_secs(30);

/// The API server that a command asks.
#[derive(Debug, Args)]
pub(super) struct Connection {
    /// The kubeconfig file; without it, that of kubectl
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Connection {
    /// Where it is, and who we are there. The default namespace is the context's.
    pub(super) async fn config(&self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = match &self.kubeconfig {
            Some(file) => return from_file(file, &options).await,
            None if self.context.is_some() => {
                Config::from_kubeconfig(&options).await.context("the kubeconfig cannot be used")
            }
            None => Config::infer().await.context("there is no cluster to ask: give --kubeconfig or set KUBECONFIG"),
        };
        config.map(with_bounds)
    }
}

/// What a kubeconfig file says.
pub(super) async fn from_file(file: &Path, options: &KubeConfigOptions) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(file);
    let kubeconfig = kubeconfig.with_context(|| format!("the kubeconfig {} cannot be used", file.display()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, options).await.context("the kubeconfig cannot be used")?;
    Ok(with_bounds(config))
}

/// What the text of a kubeconfig says.
pub(super) async fn from_text(text: &str) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::from_yaml(text).context("the kubeconfig cannot be read")?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.context("the kubeconfig cannot be used")?;
    Ok(with_bounds(config))
}

fn with_bounds(mut config: Config) -> Config {
    config.read_timeout = Some(READ);
    config
}

/// Ends once a file has another content than before; looks at it so often. While it cannot be read, it counts as it was.
pub(super) async fn until_changed(file: &Path, before: &[u8], period: Duration) {
    loop {
        tokio::time::sleep(period).await;
        if fs::read(file).is_ok_and(|content| content != before) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        fs::write(&file, "token: a").unwrap();
        let period = Duration::from_millis(1);
        let mut changed = std::pin::pin!(until_changed(&file, b"token: a", period));
        assert!(tokio::time::timeout(50 * period, &mut changed).await.is_err(), "it is as it was");
        fs::remove_file(&file).unwrap();
        assert!(tokio::time::timeout(50 * period, &mut changed).await.is_err(), "it may come again");
        fs::write(&file, "token: b").unwrap();
        changed.await;
    }
}
