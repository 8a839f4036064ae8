//! Network namespaces are for root; where we are not, for the root of a user namespace.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

const ALLOW: &str = "clusters need network namespaces: run me as root, or allow user namespaces (`sysctl \
    user.max_user_namespaces`; Debian: `kernel.unprivileged_userns_clone=1`; Ubuntu: \
    `kernel.apparmor_restrict_unprivileged_userns=0`)";

/// Whether we are root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|myself| myself.uid() == 0)
}

/// Starts this program once more, as root of a user namespace; returns where we are root already.
///
/// # Errors
/// There are no user namespaces for us; the message says what to do.
pub(crate) fn become_root() -> Result<()> {
    if is_root() {
        return Ok(());
    }
    process::read(unshare().args(["unshare", "--net", "true"]), ALLOW).context(ALLOW)?;
    eprintln!("I am not root: I become root of a user namespace");
    Err(process::become_program(unshare().arg(std::env::current_exe()?).args(std::env::args_os().skip(1)), ALLOW))
}

/// `unshare` into a user namespace with a mount namespace.
fn unshare() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "--"]);
    unshare
}
