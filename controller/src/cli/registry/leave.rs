//! `mcwan registry leave`.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use mcwan_core::api::REGISTRY_NAMESPACE;

use super::Hub;
use crate::registry::{ClusterName, ObjectName, RegistryError, Server, client_with};

/// Take the credentials of a cluster back
///
/// They work no longer; then what the cluster published is deleted, so that the others import nothing from it any more.
/// What it imports from them stays as it is until its controller has another registry.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Leave {
    /// The name of the cluster
    #[arg(value_name = "CLUSTER")]
    cluster: ClusterName,
    #[command(flatten)]
    hub: Hub,
}

const AFTER_HELP: &str = "\
Example:
  mcwan registry leave cluster-2

Exit status: 0 if the cluster has left, 1 if there was nothing of it.";

impl Leave {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        let cluster = &self.cluster;
        let config = self.hub.config().await?;
        let server = self.hub.server(&config)?;
        let token = server.token(cluster).await?;
        let mut deleted = 0;
        for object in [ObjectName::rights(cluster), ObjectName::account(cluster), ObjectName::token(cluster)] {
            deleted += delete(&server, &object).await?;
        }
        // Else what is deleted now could be there again.
        if let Some(token) = token {
            server.wait_until_refused(cluster, &client_with(&token, &config)?).await?;
        }
        for (kind, count) in server.delete_exports(cluster).await? {
            if count > 0 {
                say(format_args!("{count} {}.{} deleted", kind.plural, kind.group));
            }
            deleted += count;
        }
        for object in [ObjectName::wan_cluster(cluster), ObjectName::lease(cluster)] {
            deleted += delete(&server, &object).await?;
        }
        if deleted == 0 {
            writeln!(
                anstream::stderr(),
                "there is nothing of {cluster}; who has joined: kubectl get rolebindings -n {REGISTRY_NAMESPACE}"
            )?;
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Deletes an object, says so, and counts it.
async fn delete(server: &Server, object: &ObjectName) -> Result<usize, RegistryError> {
    let is_deleted = server.delete(object).await?;
    if is_deleted {
        say(format_args!("{object} deleted"));
    }
    Ok(usize::from(is_deleted))
}

/// Whoever listened may have gone; what is begun is brought to its end.
fn say(what: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{what}");
}
