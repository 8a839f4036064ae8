//! Programs as child processes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// How much of the log an error shows.
const LOG_LINES: usize = 20;

/// A program that the kernel kills when the *thread* that starts it ends.
pub fn mortal(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Lets a program log into a file, both what it prints and what it complains about.
pub(crate) fn log_into(command: &mut Command, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot make {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    Ok(())
}

/// The last lines of a log, or nothing where there is none.
pub(crate) fn log_tail(log: &Path) -> String {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

/// A running program with its log. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Takes care of a child. `name` is for errors, `log` is what the child writes.
    pub(crate) fn new(name: &str, child: Child, log: PathBuf) -> Self {
        Self { name: name.to_owned(), child, log }
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The file that it logs into.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// It has ended; the message ends with the log's last lines.
    pub fn check(&mut self) -> Result<()> {
        match self.exit_status()? {
            Some(status) => bail!("{} ended ({status})\n{}", self.name, log_tail(&self.log)),
            None => Ok(()),
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask for {}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
