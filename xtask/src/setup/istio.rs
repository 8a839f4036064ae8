//! Istio's own files that its programs read, as its Go module holds them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::go::Go;
use super::{links, programs};

/// The go.mod that pins it.
const MODULE: &str = "kubernetes";

const ISTIO: &str = "istio.io/istio";

/// What an istio-agent makes Envoy's bootstrap configuration of, in Istio's module.
const BOOTSTRAP: &str = "tools/packaging/common/envoy_bootstrap.json";

/// Makes `istio` in `tools` point to a folder with `envoy_bootstrap.json`.
pub(super) fn install(tools: &Path, go: &Go) -> Result<()> {
    let cache = programs::cache("istio", MODULE, &[BOOTSTRAP])?;
    let folder = cache.get("files", |output| {
        let source = go.source(&programs::folder(MODULE), ISTIO)?.join(BOOTSTRAP);
        fs::create_dir_all(output)?;
        fs::copy(&source, output.join("envoy_bootstrap.json"))
            .with_context(|| format!("cannot copy {}", source.display()))?;
        Ok(())
    })?;
    links::point(&tools.join("istio"), &folder)
}
