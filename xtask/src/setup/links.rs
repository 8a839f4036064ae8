//! Symbolic links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

/// Lets `link` point to `target`, in one step: who follows it meanwhile finds the old or the new.
pub(super) fn point(link: &Path, target: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|present| present == target) {
        return Ok(());
    }
    let new = link.with_extension(format!("new.{}", std::process::id()));
    symlink(target, &new)
        .and_then(|()| fs::rename(&new, link))
        .with_context(|| format!("cannot make the link {}", link.display()))
}
