//! What everything logs.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::child::log_tail;

/// Who sets this to a folder finds all logs there afterwards, in a folder of their own.
const KEEP: &str = "MCWAN_KEEP_LOGS";

/// How deep logs are looked for: `cluster-1/pods/POD.log`.
const DEPTH: usize = 3;

/// The logs in a folder. They are kept, where somebody wants them, when this is dropped.
#[derive(Debug)]
pub(super) struct Logs {
    folder: PathBuf,
}

impl Logs {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The last lines of each.
    pub(super) fn tails(&self) -> String {
        let mut tails = String::new();
        for log in self.all() {
            let name = log.strip_prefix(&self.folder).unwrap_or(&log);
            // Writing into a string does not fail.
            let _ = writeln!(tails, "--- {}\n{}", name.display(), log_tail(&log));
        }
        tails
    }

    fn all(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect(&self.folder, DEPTH, &mut found);
        found.sort();
        found
    }

    fn keep(&self, target: &Path) -> std::io::Result<()> {
        let target = target.join(self.folder.file_name().unwrap_or_default());
        for log in self.all() {
            let copy = target.join(log.strip_prefix(&self.folder).unwrap_or(&log));
            fs::create_dir_all(copy.parent().unwrap_or(&target))?;
            fs::copy(&log, &copy)?;
        }
        Ok(())
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        if let Some(target) = std::env::var_os(KEEP).filter(|target| !target.is_empty())
            && let Err(error) = self.keep(Path::new(&target))
        {
            eprintln!("the logs cannot be kept in {}: {error}", target.display());
        }
    }
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension() == Some(OsStr::new("log")) {
            found.push(path);
        } else if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, depth - 1, found);
        }
    }
}
