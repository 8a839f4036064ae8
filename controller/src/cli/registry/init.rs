//! `mcwan registry init`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use mcwan_core::emit::yaml;

use super::{Hub, Word};
use crate::registry::{Applied, manifests};

/// Prepare an API server for the registry
///
/// Makes the namespace mc-wan-registry, the kinds of what clusters publish there, the rights of a cluster, the admission
/// policy that keeps each to what is its own, and the quota that bounds what all publish. May be run again, to upgrade these. What came with mcwan itself,
/// where that is installed on the same API server, is left to it.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Init {
    /// Print the objects as YAML, and ask nobody
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    hub: Hub,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan registry init
  mcwan registry init --dry-run > registry.yaml";

impl Init {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        let manifests = manifests()?;
        if self.dry_run {
            let documents: Result<Vec<_>, _> =
                manifests.iter().map(|manifest| yaml::document(manifest.body())).collect();
            io::stdout().lock().write_all(documents?.join("---\n").as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let server = self.hub.server(&self.hub.config().await?)?;
        for manifest in &manifests {
            let outcome = server.apply(manifest).await?;
            // Whoever listened may have gone; what is begun is brought to its end.
            let _ = writeln!(io::stdout(), "{} {}", manifest.object(), Word(&outcome));
            if let Applied::Left { to } = outcome {
                let _ = writeln!(
                    anstream::stderr(),
                    "warning: {} is not as this mcwan knows it, and not ours to change: upgrade what {to} installed",
                    manifest.object()
                );
            }
        }
        for kind in manifests.iter().filter(|manifest| manifest.defines_a_kind()) {
            server.wait_until_served(kind).await?;
        }
        hint()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What comes next.
fn hint() -> io::Result<()> {
    let mut log = anstream::stderr().lock();
    writeln!(log, "the registry is there; let each cluster join: mcwan registry join CLUSTER > CLUSTER.kubeconfig")
}
