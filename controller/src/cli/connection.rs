//! The API server that a command asks.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

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
        match &self.kubeconfig {
            Some(file) => from_file(file, &options).await,
            None if self.context.is_some() => {
                Config::from_kubeconfig(&options).await.context("the kubeconfig cannot be used")
            }
            None => Config::infer().await.context("there is no cluster to ask: give --kubeconfig or set KUBECONFIG"),
        }
    }
}

/// What a kubeconfig file says.
pub(super) async fn from_file(file: &Path, options: &KubeConfigOptions) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(file);
    let kubeconfig = kubeconfig.with_context(|| format!("the kubeconfig {} cannot be used", file.display()))?;
    Config::from_custom_kubeconfig(kubeconfig, options).await.context("the kubeconfig cannot be used")
}

/// What the text of a kubeconfig says.
pub(super) async fn from_text(text: &str) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::from_yaml(text).context("the kubeconfig cannot be read")?;
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(kubeconfig, &options).await.context("the kubeconfig cannot be used")
}
