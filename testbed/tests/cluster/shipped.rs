//! The module as it ships, in an OCI registry.

use anyhow::Result;
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;

/// The module in a registry that lives as long as this.
pub(crate) struct Shipped {
    url: String,
    /// What a controller is told of the registry.
    insecure: [String; 2],
    _registry: OciRegistry,
}

impl Shipped {
    /// Starts a registry and pushes the module.
    pub(crate) async fn start() -> Result<Self> {
        let mut registry = OciRegistry::new()?;
        registry.start().await?;
        let url = format!("oci://{}", registry.push(&tools::image("module")?, "mcwan-filter").await?);
        let insecure = ["--insecure-registry".to_owned(), registry.address().to_string()];
        Ok(Self { url, insecure, _registry: registry })
    }

    /// What the module is pulled by.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The arguments of a controller that has it from here, and more.
    pub(crate) fn arguments<'s>(&'s self, more: &[&'s str]) -> Vec<&'s str> {
        self.insecure.iter().map(String::as_str).chain(more.iter().copied()).collect()
    }
}
