//! Builds the controller as it ships.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::reproducible::Reproducible;
use crate::{process, setup};

/// Builds the controller for this machine's architecture, as one static file, and writes it to `mcwan` in `tools`.
/// Returns that file. The tests start it, too; `mcwan.d` beside it, as cargo writes it, tells them what it was built of.
pub(crate) fn build(tools: &Path) -> Result<PathBuf> {
    let target = format!("{ARCH}-unknown-linux-musl");
    setup::rust_target(&target)?;
    let target_dir = tools.join("build");
    eprintln!("build: the controller, for {target}");
    let mut cargo = process::cargo();
    cargo.args(["build", "--package", "mcwan", "--bin", "mcwan", "--release", "--target", &target]);
    cargo.arg("--target-dir").arg(&target_dir);
    // The C in it needs nothing of the C library but what every one has: the host's compiler will do.
    cargo.env(format!("CC_{}", target.replace('-', "_")), "cc");
    let reproducible = Reproducible::new(&target_dir)?;
    process::prepare(reproducible.apply(&mut cargo), "start me as `cargo xtask`")?;
    let built = target_dir.join(target).join("release/mcwan");
    let content = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    reproducible.check(&content).with_context(|| format!("{} differs by machine", built.display()))?;
    let shipped = tools.join("mcwan");
    put(&built.with_extension("d"), &shipped.with_extension("d"))?;
    put(&built, &shipped)?;
    Ok(shipped)
}

/// Copies a file in one step: a program that runs is replaced, not written over.
fn put(source: &Path, place: &Path) -> Result<()> {
    let new = place.with_extension(format!("new.{}", std::process::id()));
    fs::copy(source, &new)
        .and_then(|_| fs::rename(&new, place))
        .with_context(|| format!("cannot copy {} to {}", source.display(), place.display()))
}
