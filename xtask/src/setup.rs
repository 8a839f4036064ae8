//! Installs what the build and the tests need and what cargo does not bring.

mod cache;
mod crds;
mod debian;
mod envoy;
mod go;
mod istio;
mod links;
mod programs;
mod python;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use go::Go;

/// The target that the filter is built for.
pub(crate) const WASM_TARGET: &str = "wasm32-wasip1";

/// Installs into `tools` what the filter and Envoy need and lack; says so only where there is something
/// to do.
pub(crate) fn data_plane(tools: &Path) -> Result<()> {
    fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    setpriv()?;
    rust_target(WASM_TARGET)?;
    envoy::install(tools)
}

/// Installs into `tools` what Kubernetes clusters need and lack; says so only where there is something
/// to do.
pub(crate) fn cluster(tools: &Path) -> Result<()> {
    fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    setpriv()?;
    debian::install()?;
    let go = Go::new(tools);
    programs::install(tools, &go)?;
    crds::install(tools, &go)?;
    istio::install(tools, &go)
}

/// The tests start their children by it, so that none outlives them.
fn setpriv() -> Result<()> {
    process::read(Command::new("setpriv").arg("--version"), "install util-linux (Linux only)")?;
    Ok(())
}

/// Adds a target to the Rust toolchain, where it is missing.
pub(crate) fn rust_target(target: &str) -> Result<()> {
    let libraries = process::read(
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]),
        "install Rust with rustup",
    )?;
    if Path::new(libraries.trim()).exists() {
        return Ok(());
    }
    eprintln!("setup: adding the Rust target {target}");
    process::prepare(
        Command::new("rustup").args(["target", "add", target]),
        &format!("install rustup, or the standard library of {target} where your Rust came from"),
    )
}
