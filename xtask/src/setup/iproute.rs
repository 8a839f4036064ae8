//! `ip`, by which the tests set up their network namespaces.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::root::is_root;

const INSTALL: &str = "install iproute2 (Debian: apt-get install iproute2, as root)";

/// Installs iproute2 where `ip` is missing and we may, else says what to run.
pub(super) fn install() -> Result<()> {
    let present = process::read(Command::new("ip").arg("-Version"), INSTALL);
    if present.is_ok() || !is_root() {
        return present.map(drop);
    }
    eprintln!("setup: installing iproute2 by apt-get");
    process::prepare(Command::new("apt-get").args(["update", "--quiet"]), INSTALL)?;
    process::prepare(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends", "iproute2"]), INSTALL)
}
