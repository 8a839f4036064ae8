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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn other_ingredients_have_another_folder() {
        let folder = |name, ingredients: &[&[u8]]| Cache::new(name, ingredients).unwrap().folder;
        let some = folder("go", &[b"a", b"bc"]);
        assert_eq!(some, folder("go", &[b"a", b"bc"]));
        assert_ne!(some, folder("go", &[b"ab", b"c"]));
        assert_ne!(some, folder("helm", &[b"a", b"bc"]));
    }

    #[test]
    fn what_many_want_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().join("go") };
        let times = AtomicU32::new(0);
        let make = |path: &Path| {
            times.fetch_add(1, Ordering::Relaxed);
            Ok(fs::write(path, "etcd")?)
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(fs::read(cache.get("etcd", make).unwrap()).unwrap(), b"etcd"));
            }
        });
        assert_eq!(times.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_was_made_by_half_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().to_owned() };
        let failure = cache.get("crds", |path| {
            fs::create_dir(path)?;
            fs::write(path.join("old"), "")?;
            anyhow::bail!("the network is gone")
        });
        failure.unwrap_err();
        let crds = cache.get("crds", |path| Ok(fs::create_dir(path)?)).unwrap();
        assert_eq!(fs::read_dir(crds).unwrap().count(), 0);
    }
}
