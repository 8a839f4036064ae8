//! Builds that come out the same in every folder and on every machine with the same toolchain.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The folders of this machine that compilers see, and what each is called in what they build.
pub(crate) struct Reproducible {
    folders: [(PathBuf, &'static str); 3],
}

impl Reproducible {
    /// For a build into `target_dir`.
    pub(crate) fn new(target_dir: &Path) -> Result<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in no folder")?;
        // The last that fits holds: the target folder may be inside of the workspace.
        Ok(Self {
            folders: [
                (workspace.to_owned(), "/mcwan"),
                (cargo_home()?, "/cargo"),
                (env::current_dir()?.join(target_dir), "/target"),
            ],
        })
    }

    /// Makes cargo's compilers, Rust's and C's, write the names in place of the folders.
    pub(crate) fn apply<'a>(&self, cargo: &'a mut Command) -> &'a mut Command {
        // The flags of a user or a CI would make a difference, too.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", self.flags("--remap-path-prefix", "\x1f"));
        cargo.env("CFLAGS", self.flags("-ffile-prefix-map", " "))
    }

    /// Refuses what was built if it names a folder of this machine.
    pub(crate) fn check(&self, built: &[u8]) -> Result<()> {
        for (folder, _) in &self.folders {
            let bytes = folder.as_os_str().as_encoded_bytes();
            ensure!(!built.windows(bytes.len()).any(|window| window == bytes), "it names {}", folder.display());
        }
        Ok(())
    }

    fn flags(&self, flag: &str, separator: &str) -> OsString {
        let mut flags = OsString::new();
        for (folder, name) in &self.folders {
            flags.push(if flags.is_empty() { "" } else { separator });
            flags.push(format!("{flag}="));
            flags.push(folder);
            flags.push(format!("={name}"));
        }
        flags
    }
}

/// Where cargo keeps the sources of dependencies.
fn cargo_home() -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| env::home_dir().map(|home| home.join(".cargo"))).context("neither CARGO_HOME nor HOME is set")
}
