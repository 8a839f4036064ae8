//! What takes long to build, kept for every clone of this repository.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// A folder of the cache. Whoever makes something in it puts it there whole, by a rename; whatever is
/// there is complete.
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The folder for what is made of `ingredients`; another one where any of them changes.
    pub(super) fn new(name: &str, ingredients: &[&[u8]]) -> Result<Self> {
        let mut digest = Sha256::new();
        for ingredient in ingredients {
            digest.update(ingredient.len().to_le_bytes());
            digest.update(ingredient);
        }
        let key = hex::encode(&digest.finalize()[..8]);
        Ok(Self { folder: root()?.join(format!("{name}-{key}")) })
    }

    /// The path of `name`, which `make` makes at the path that it is given where it is missing.
    /// Other processes that want the same wait, and find it.
    pub(super) fn get(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(path);
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        // Held until we return, or end in any other way.
        let lock = self.folder.join(format!("{name}.lock"));
        let lock = File::create(&lock).with_context(|| format!("cannot make {}", lock.display()))?;
        lock.lock()?;
        if !path.exists() {
            let partial = self.folder.join(format!("{name}.partial"));
            remove(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
            make(&partial)?;
            fs::rename(&partial, &path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        Ok(path)
    }
}

/// Removes what somebody left who did not come to an end.
fn remove(path: &Path) -> std::io::Result<()> {
    let result = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match result {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// `MCWAN_CACHE`, or a folder of the user's cache.
fn root() -> Result<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("MCWAN_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("mcwan")))
        .or_else(|| Some(folder("HOME")?.join(".cache/mcwan")))
        .context("there is no place for a cache: set MCWAN_CACHE to a folder")
}
