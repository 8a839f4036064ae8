//! The API server that a command asks.

use std::path::PathBuf;

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
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file)
                    .with_context(|| format!("the kubeconfig {} cannot be used", file.display()))?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await.context("the kubeconfig cannot be used")
            }
            None if self.context.is_some() => {
                Config::from_kubeconfig(&options).await.context("the kubeconfig cannot be used")
            }
            None => Config::infer().await.context("there is no cluster to ask: give --kubeconfig or set KUBECONFIG"),
        }
    }
}
