//! The programs of tests: cargo builds them, and they are started without it, as it would wait for whatever builds by then.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::Extent;
use crate::controller::SIMULATION;
use crate::process::{self, START_WITH_CARGO, cargo};
use crate::stopwatch::Stopwatch;

/// What a crate has tests in, as an option of cargo: a library, programs, examples, and tests alone.
const TARGETS: [&str; 4] = ["--lib", "--bins", "--examples", "--tests"];

/// The crate whose tests start real programs.
const STARTS_PROGRAMS: &str = "testbed";

/// How many tests that start programs run at a time for each core: most of the time they wait.
const STARTING_TESTS: usize = 4;

/// How many tests on a WAN do: it is they that wait for a turn.
const WAN_TESTS: usize = 2;

/// The tests of clusters on a WAN.
const WAN: &str = "wan";

/// All programs of tests of the workspace.
pub(crate) struct TestPrograms(Vec<TestProgram>);

/// One of them.
struct TestProgram {
    name: String,
    path: PathBuf,
    /// The crate's, where tests look for their files.
    folder: PathBuf,
    kind: ProgramKind,
}

/// What the tests of a program do most of their time, in the order in which they run: the quickest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ProgramKind {
    /// They stand beside the code.
    Unit,
    /// They compute.
    Computing,
    /// They start real programs, and wait for them.
    Starting,
    /// They start whole clusters, which may lose no request.
    Wan,
}

impl TestPrograms {
    /// Builds them.
    pub(crate) fn build() -> Result<Self> {
        let mut build = cargo();
        build.args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]).args(TARGETS);
        let messages = process::read(build.stderr(Stdio::inherit()), START_WITH_CARGO)?;
        let mut programs =
            messages.lines().filter_map(|line| TestProgram::of(line).transpose()).collect::<Result<Vec<_>>>()?;
        programs.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
        Ok(Self(programs))
    }

    /// Runs all of them but the simulations, each kind as a stage, or each program.
    pub(crate) fn run_all(&self, stopwatch: &mut Stopwatch, extent: Extent) -> Result<()> {
        let (unit, others): (Vec<_>, Vec<_>) = self.0.iter().partition(|program| program.kind == ProgramKind::Unit);
        stopwatch.run("unit tests", || unit.iter().try_for_each(|program| program.run(extent)))?;
        others.iter().try_for_each(|program| stopwatch.run(&format!("tests: {}", program.name), || program.run(extent)))
    }
}

impl TestProgram {
    /// What a message of cargo's tells of, if it is one that is run ("External tools: JSON messages" in the Cargo book).
    fn of(message: &str) -> Result<Option<Self>> {
        let message: Value = serde_json::from_str(message).context("cargo tells of what it builds in no JSON")?;
        let (target, text) = (&message["target"], |value: &Value| value.as_str().map(str::to_owned));
        let Some(path) = text(&message["executable"]).filter(|_| message["profile"]["test"] == true) else {
            return Ok(None);
        };
        let name = text(&target["name"]).context("a target without a name")?;
        let manifest = text(&message["manifest_path"]).context("a package without a manifest")?;
        let folder = Path::new(&manifest).parent().context("a manifest in no folder")?.to_owned();
        let kind = match (&*name, target["kind"][0] == "test") {
            (SIMULATION, true) => return Ok(None),
            (WAN, true) => ProgramKind::Wan,
            (_, true) if folder.ends_with(STARTS_PROGRAMS) => ProgramKind::Starting,
            (_, true) => ProgramKind::Computing,
            (_, false) => ProgramKind::Unit,
        };
        Ok(Some(Self { name, path: path.into(), folder, kind }))
    }

    fn run(&self, extent: Extent) -> Result<()> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = cores
            * match self.kind {
                ProgramKind::Unit | ProgramKind::Computing => 1,
                ProgramKind::Starting => STARTING_TESTS,
                ProgramKind::Wan => WAN_TESTS,
            };
        let mut run = Command::new(&self.path);
        run.args(extent.flags()).args(["--test-threads", &threads.to_string()]).current_dir(&self.folder);
        process::run(&mut run, START_WITH_CARGO)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind_of(kind: &str, name: &str, is_test: bool) -> Option<ProgramKind> {
        let message = json!({"reason": "compiler-artifact", "manifest_path": "/mcwan/testbed/Cargo.toml",
            "target": {"kind": [kind], "name": name}, "profile": {"test": is_test}, "executable": "/target/program"});
        TestProgram::of(&message.to_string()).unwrap().map(|program| program.kind)
    }

    #[test]
    fn what_has_tests_is_run_and_simulations_elsewhere() {
        assert!(kind_of("test", "wan", true) == Some(ProgramKind::Wan));
        assert!(kind_of("test", "cluster", true) == Some(ProgramKind::Starting));
        assert!(kind_of("lib", "mcwan_testbed", true) == Some(ProgramKind::Unit));
        assert!(kind_of("bin", "mcwan-testbed", false).is_none(), "it is what tests start");
        assert!(kind_of("test", SIMULATION, true).is_none());
    }
}
