//! The controller as it ships.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{INSTALL_CHRT, START_WITH_CARGO};
use crate::reproducible::Reproducible;
use crate::{process, setup};

/// The tests of `core` and of `policy` that are compiled with what ships.
pub(crate) const SIMULATION: &str = "simulation";

/// How what ships is compiled: for this machine's architecture, as one static file.
struct Release {
    target: String,
    target_dir: PathBuf,
    reproducible: Reproducible,
}

impl Release {
    fn new(tools: &Path) -> Result<Self> {
        let target = format!("{ARCH}-unknown-linux-musl");
        setup::rust_target(&target)?;
        let target_dir = tools.join("build");
        let reproducible = Reproducible::new(&target_dir)?;
        Ok(Self { target, target_dir, reproducible })
    }

    fn with(&self, mut cargo: Command, command: &str) -> Command {
        cargo.args([command, "--release", "--target", &self.target]);
        cargo.arg("--target-dir").arg(&self.target_dir);
        // The C in it needs nothing of the C library but what every one has: the host's compiler will do.
        cargo.env(format!("CC_{}", self.target.replace('-', "_")), "cc");
        self.reproducible.apply(&mut cargo);
        cargo
    }
}

/// Builds the controller and writes it to `mcwan` in `tools`. Returns that file. The tests start it, too; `mcwan.d` beside
/// it, as cargo writes it, tells them what it was built of.
pub(crate) fn build(tools: &Path) -> Result<PathBuf> {
    let release = Release::new(tools)?;
    eprintln!("build: the controller, for {}", release.target);
    let mut cargo = release.with(process::cargo(), "build");
    process::prepare(cargo.args(["--package", "mcwan", "--bin", "mcwan"]), START_WITH_CARGO)?;
    let built = release.target_dir.join(&release.target).join("release/mcwan");
    let content = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    release.reproducible.check(&content).with_context(|| format!("{} differs by machine", built.display()))?;
    let shipped = tools.join("mcwan");
    put(&built.with_extension("d"), &shipped.with_extension("d"))?;
    put(&built, &shipped)?;
    Ok(shipped)
}

/// Runs the simulations of the rollout and of judges on what the controller is made of, as it ships: that is compiled already,
/// and fast. It runs where a core is idle.
pub(crate) fn simulate(tools: &Path, flags: &[&str]) -> Result<()> {
    let release = Release::new(tools)?;
    let mut cargo = release.with(process::patient_cargo(), "test");
    // Without the controller's package it would be another choice of features, and so another build.
    cargo.args(["--package", "mcwan", "--package", "mcwan-core", "--package", "mcwan-policy"]);
    cargo.args(["--test", SIMULATION, "--"]).args(flags);
    process::run(&mut cargo, INSTALL_CHRT)
}

/// Copies a file in one step: a program that runs is replaced, not written over.
fn put(source: &Path, place: &Path) -> Result<()> {
    let new = place.with_extension(format!("new.{}", std::process::id()));
    fs::copy(source, &new)
        .and_then(|_| fs::rename(&new, place))
        .with_context(|| format!("cannot copy {} to {}", source.display(), place.display()))
}
