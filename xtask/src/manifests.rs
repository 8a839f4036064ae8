//! `manifests/mcwan.yaml`, which is what the Helm chart renders: there is no second copy to keep.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// Writes the file anew.
pub(crate) fn generate(tools: &Path) -> Result<()> {
    let file = folder().join("mcwan.yaml");
    fs::write(&file, render(tools)?).with_context(|| format!("cannot write {}", file.display()))
}

/// What the file holds: the chart without the definitions, which stand beside it, and without what
/// every cluster must say for itself. The image is a name for kustomize to replace.
fn render(tools: &Path) -> Result<String> {
    let mut helm = Command::new(tools.join("bin/helm"));
    helm.args(["template", "mcwan"]).arg(folder().join("chart"));
    helm.args(["--namespace", "mc-wan-system", "--set", "image=mcwan,crds.install=false", "--skip-schema-validation"]);
    let manifests = process::read(&mut helm, "run `cargo xtask setup`")?;
    Ok(format!("# Made by `cargo xtask generate` from manifests/chart.\n{manifests}"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("manifests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_file_is_up_to_date() -> Result<()> {
        let committed = fs::read_to_string(folder().join("mcwan.yaml")).unwrap_or_default();
        assert!(committed == render(&crate::tools()?)?, "mcwan.yaml is out of date: run `cargo xtask generate`");
        Ok(())
    }
}
