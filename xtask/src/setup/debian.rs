//! The programs that Debian packages: by them the tests set up their networks, and ask what names mean there.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::root::is_root;

/// A program, an argument by which it ends at once, and its package.
const PROGRAMS: [(&str, &str, &str); 3] =
    [("ip", "-Version", "iproute2"), ("nft", "--version", "nftables"), ("dig", "-v", "bind9-dnsutils")];

/// Installs the packages of programs that are missing where we may, else says what to run.
pub(super) fn install() -> Result<()> {
    let is_missing = |program: &str, argument: &str| Command::new(program).arg(argument).output().is_err();
    let missing = PROGRAMS.iter().filter(|(program, argument, _)| is_missing(program, argument));
    let packages: Vec<_> = missing.map(|(_, _, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let names = packages.join(" ");
    let advice = format!("install {names} (Debian: apt-get install {names}, as root)");
    if !is_root() {
        bail!("programs are missing: {advice}");
    }
    eprintln!("setup: installing {names} by apt-get");
    process::prepare(Command::new("apt-get").args(["update", "--quiet"]), &advice)?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends"]).args(&packages);
    process::prepare(&mut install, &advice)
}
