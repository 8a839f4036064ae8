//! The configuration of the filter at one gateway.

use std::borrow::Borrow;

use mcwan_policy::wire::{PluginConfig, UnknownHosts, VERSION};
use mcwan_policy::{ConfigError, RouteTable, limits};
use sha2::{Digest, Sha256};

use crate::problem::{Problem, Reason};
use crate::translate::Import;

/// A configuration as it ships, and what the filter will make of it.
#[derive(Debug)]
pub struct Plugin {
    /// The configuration.
    pub json: String,
    /// The table that the filter compiles from it; imports by their place in the list that it was made of.
    pub table: RouteTable,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// It cannot be written.
    #[error("the filter's config cannot be written")]
    Write(#[from] serde_json::Error),
    /// The filter would refuse it.
    #[error("the filter would refuse its config")]
    Compile(#[from] ConfigError),
}

impl Plugin {
    /// Writes and compiles the configuration of a gateway that serves these imports, the oldest first.
    pub fn new(imports: &[impl Borrow<Import>], unknown_hosts: UnknownHosts) -> Result<Self, PluginError> {
        Self::for_module(imports, unknown_hosts, "")
    }

    /// The same for a module: its revision is another one for another module, so that a gateway that has the revision
    /// has the module, too.
    pub fn for_module(
        imports: &[impl Borrow<Import>],
        unknown_hosts: UnknownHosts,
        module: &str,
    ) -> Result<Self, PluginError> {
        let wire: Vec<_> = imports.iter().map(|import| &import.borrow().wire).collect();
        let mut config = PluginConfig { version: VERSION, revision: None, unknown_hosts, imports: wire };
        config.revision = Some(revision(&serde_json::to_vec(&config)?, module));
        let json = serde_json::to_string(&config)?;
        let table = RouteTable::from_json(json.as_bytes())?;
        Ok(Self { json, table })
    }

    /// The hosts that an import claims in vain: an older one of the same gateway has them.
    pub fn host_conflicts(&self, imports: &[impl Borrow<Import>]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (index, import) in imports.iter().map(Borrow::borrow).enumerate() {
            for claim in self.table.claims(index) {
                let Some(owner) = claim.owner.filter(|owner| *owner != index).and_then(|owner| imports.get(owner))
                else {
                    continue;
                };
                let message = format!("host {} belongs to the older {}", claim.host, owner.borrow().object);
                problems.push(Problem::error(import.object.clone(), Reason::HostConflict, message));
            }
        }
        problems
    }
}

/// A number that tells configurations apart, and the modules that they are for.
fn revision(config: &[u8], module: &str) -> u64 {
    let digest = Sha256::new().chain_update(config).chain_update(module).finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)) % limits::REVISIONS
}
