//! Other programs: how they are started, and what is said when they are missing or fail.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use anyhow::{Context, Error, Result, anyhow, bail};

/// What to do where cargo is missing.
pub(crate) const START_WITH_CARGO: &str = "start me as `cargo xtask`";

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// What to do where what [`patient_cargo`] needs is missing.
pub(crate) const INSTALL_CHRT: &str = "install util-linux";

/// The same, for what runs only while a core is idle: it waits as soon as anything else wants one, which `nice` alone leaves
/// waiting for a while.
pub(crate) fn patient_cargo() -> Command {
    let cargo = cargo();
    let mut patient = Command::new("chrt");
    patient.args(["--idle", "0"]).arg(cargo.get_program());
    patient
}

/// Runs a program to its end, all its output going to standard error: it is about the way, not the
/// result. `install` says how to get it.
pub(crate) fn prepare(command: &mut Command, install: &str) -> Result<()> {
    run(command.stdout(std::io::stderr()), install)
}

/// Runs a program to its end, its output going where ours goes. `install` says how to get it.
pub(crate) fn run(command: &mut Command, install: &str) -> Result<()> {
    let status = command.status().map_err(|error| missing(command, error, install))?;
    if !status.success() {
        bail!("{} failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a program to its end and returns what it printed on its standard output.
pub(crate) fn read(command: &mut Command, install: &str) -> Result<String> {
    let Output { status, stdout, stderr } = command.output().map_err(|error| missing(command, error, install))?;
    if !status.success() {
        bail!("{} failed ({status}): {}", line(command), String::from_utf8_lossy(&stderr).trim());
    }
    String::from_utf8(stdout).with_context(|| format!("{} printed what is not text", line(command)))
}

/// Becomes the program, so that its exit status is ours and every signal reaches it. Returns only
/// where that fails.
pub(crate) fn become_program(command: &mut Command, install: &str) -> Error {
    let error = command.exec();
    missing(command, error, install)
}

fn missing(command: &Command, error: std::io::Error, install: &str) -> Error {
    if error.kind() == ErrorKind::NotFound {
        anyhow!("`{}` is missing: {install}", command.get_program().display())
    } else {
        Error::new(error).context(format!("cannot start {}", line(command)))
    }
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}
