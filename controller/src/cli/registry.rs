//! `mcwan registry`.

mod init;
mod join;
mod leave;

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use kube::{Client, Config};

use super::connection::Connection;
use crate::registry::{Applied, Server};

/// Say which clusters take part
///
/// The registry is a namespace of some API server, one of a cluster's or one of its own. Each cluster publishes there
/// what it exports, and reads what the others do. `init` prepares the API server; `join` makes the credentials of one
/// cluster, who can read everything there and write what is its own; `leave` takes them back.
///
/// Without any of this, a cluster's own API server is its registry, and it is alone there.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Registry {
    #[command(subcommand)]
    task: Task,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan registry init --context hub
  mcwan registry join cluster-2 --context hub > cluster-2.kubeconfig
  mcwan registry leave cluster-2 --context hub";

#[derive(Debug, Subcommand)]
enum Task {
    Init(init::Init),
    Join(join::Join),
    Leave(leave::Leave),
}

impl Registry {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        match &self.task {
            Task::Init(init) => init.answer().await,
            Task::Join(join) => join.answer().await,
            Task::Leave(leave) => leave.answer().await,
        }
    }
}

/// The API server that holds the registry.
#[derive(Debug, Args)]
struct Hub {
    #[command(flatten)]
    connection: Connection,
    /// Seconds that the API server gets to put into force what is written
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,
}

impl Hub {
    async fn config(&self) -> anyhow::Result<Config> {
        self.connection.config().await
    }

    fn server(&self, config: &Config) -> anyhow::Result<Server> {
        Ok(Server::new(Client::try_from(config.clone())?, Duration::from_secs(self.timeout)))
    }
}

/// What became of an object, in kubectl's words.
struct Word<'o>(&'o Applied);

impl fmt::Display for Word<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Applied::Created => formatter.write_str("created"),
            Applied::Configured => formatter.write_str("configured"),
            Applied::Unchanged => formatter.write_str("unchanged"),
            Applied::Left { to } => write!(formatter, "left as {to} made it"),
        }
    }
}
