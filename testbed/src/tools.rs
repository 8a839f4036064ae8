//! What `cargo xtask` installs and builds.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// The pinned Envoy.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn envoy() -> Result<PathBuf> {
    tool("envoy", "setup")
}

/// The filter module as it ships.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn module() -> Result<PathBuf> {
    tool("mcwan-filter.wasm", "build")
}

/// A program that is built from a Go module: `etcd`, `kube-apiserver`, `kubectl` and the like.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn program(name: &str) -> Result<PathBuf> {
    tool(&format!("bin/{name}"), "setup")
}

/// The folder of other projects' custom resource definitions: `gateway-api`, `istio` and the like.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn crds(name: &str) -> Result<PathBuf> {
    tool(&format!("crds/{name}"), "setup")
}

/// A file of Istio's that its programs read.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn istio(name: &str) -> Result<PathBuf> {
    tool(&format!("istio/{name}"), "setup")
}

/// The folder of an image that is shipped, an OCI image layout: `module` or `controller`.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn image(name: &str) -> Result<PathBuf> {
    tool(&format!("images/{name}"), "image")
}

fn tool(name: &str, task: &str) -> Result<PathBuf> {
    let folder = std::env::var_os("MCWAN_TOOLS")
        .with_context(|| format!("MCWAN_TOOLS is not set: run me by cargo, after `cargo xtask {task}`"))?;
    let path = PathBuf::from(folder).join(name);
    ensure!(path.exists(), "{} is missing: run `cargo xtask {task}`", path.display());
    Ok(path)
}
