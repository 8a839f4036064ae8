//! What `cargo xtask` installs and builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Error, Result, bail, ensure};

/// The pinned Envoy.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn envoy() -> Result<PathBuf> {
    tool("envoy", "setup")
}

/// The filter module as it ships.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn module() -> Result<PathBuf> {
    tool("mcwan-filter.wasm", "build")
}

/// Our controller as it ships, which nobody may have changed since it was built.
///
/// # Errors
/// It is missing, or older than its source; the message says what to run.
pub fn controller() -> Result<PathBuf> {
    // Asked once: who goes on to edit while tests run goes on with what they began with.
    static FOUND: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| find_controller().map_err(|error| format!("{error:#}")));
    FOUND.clone().map_err(Error::msg)
}

fn find_controller() -> Result<PathBuf> {
    let program = tool("mcwan", "image")?;
    let sources = program.with_extension("d");
    let sources = fs::read_to_string(&sources).with_context(|| format!("cannot read {}", sources.display()))?;
    match newer(&program, &sources)? {
        None => Ok(program),
        Some(source) => bail!("{} is newer than {}: run `cargo xtask image`", source.display(), program.display()),
    }
}

/// A source that is newer than what was built of it, or gone. `sources` says which there are, as cargo writes it for
/// make: `BUILT: SOURCE SOURCE`, a space in a name being `\ `.
fn newer(built: &Path, sources: &str) -> Result<Option<PathBuf>> {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let built = time(built).with_context(|| format!("cannot look at {}", built.display()))?;
    let (_, sources) = sources.split_once(": ").context("it is not known what the controller was built of")?;
    let sources = sources.trim().replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|source| PathBuf::from(source.replace('\0', " ")));
    Ok(sources.find(|source| !time(source).is_ok_and(|time| time <= built)))
}

/// A program that is built from a Go module: `etcd`, `kube-apiserver`, `kubectl` and the like.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn program(name: &str) -> Result<PathBuf> {
    tool(&format!("bin/{name}"), "setup")
}

/// The folder of other projects' custom resource definitions: `gateway-api`, `istio` and the like.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn crds(name: &str) -> Result<PathBuf> {
    tool(&format!("crds/{name}"), "setup")
}

/// A file of Istio's that its programs read.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn istio(name: &str) -> Result<PathBuf> {
    tool(&format!("istio/{name}"), "setup")
}

/// The folder of an image that is shipped, an OCI image layout: `module` or `controller`.
///
/// # Errors
/// It is missing; the message says what to run.
pub fn image(name: &str) -> Result<PathBuf> {
    tool(&format!("images/{name}"), "image")
}

fn tool(name: &str, task: &str) -> Result<PathBuf> {
    let folder = std::env::var_os("MCWAN_TOOLS")
        .with_context(|| format!("MCWAN_TOOLS is not set: run me by cargo, after `cargo xtask {task}`"))?;
    let path = PathBuf::from(folder).join(name);
    ensure!(path.exists(), "{} is missing: run `cargo xtask {task}`", path.display());
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_program_is_known_to_be_older_than_its_source() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (now, minute) = (SystemTime::now(), Duration::from_mins(1));
        let path = |name: &str| folder.path().join(name);
        let built = path("built");
        let table = [
            ("main.rs", now - minute, None),
            ("a name.rs", now - minute, None),
            ("same.rs", now, None),
            ("main.rs", now + minute, Some("main.rs")),
            ("a name.rs", now + minute, Some("a name.rs")),
        ];
        for (name, time, expected) in table {
            File::create(&built)?.set_modified(now)?;
            File::create(path("lib.rs"))?.set_modified(now - minute)?;
            File::create(path(name))?.set_modified(time)?;
            let [lib, source] = ["lib.rs", name].map(|name| path(name).display().to_string().replace(' ', "\\ "));
            let found = newer(&built, &format!("{}: {lib} {source}\n", built.display()))?;
            assert_eq!(found, expected.map(path), "{name}");
        }
        fs::remove_file(path("lib.rs"))?;
        let found = newer(&built, &format!("built: {}\n", path("lib.rs").display()))?;
        assert_eq!(found, Some(path("lib.rs")), "it is gone");
        Ok(())
    }
}
