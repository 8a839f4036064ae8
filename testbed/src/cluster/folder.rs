//! A temporary folder that goes however the process ends.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Waits until its input ends, which it does when we do, even by `kill -9`. Processes that die
/// with us may still write while it removes, so it tries again.
const UNDERTAKER: &str =
    r#"trap '' HUP INT TERM; cat > /dev/null; for pause in 0 1 5; do sleep $pause; rm -rf -- "$1" && exit; done"#;

/// A temporary folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    undertaker: Child,
}

impl Folder {
    /// Makes a folder that only we may enter.
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("mcwan-").tempdir().context("cannot make a folder")?;
        let undertaker = Command::new("sh")
            .args(["-c", UNDERTAKER, "undertaker"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start `sh`")?;
        Ok(Self { path: folder.keep(), undertaker })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Waiting closes its input first.
        let _ = self.undertaker.wait();
    }
}
