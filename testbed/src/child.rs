//! Programs as child processes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::wait::until;

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

/// As [`log_into`], after what is there already.
pub(crate) fn log_onto(command: &mut Command, log: &Path) -> Result<()> {
    let file = File::options().create(true).append(true).open(log);
    let file = file.with_context(|| format!("cannot make {}", log.display()))?;
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

    /// Waits until `condition` holds, as long as the program runs. `what` says what that means.
    ///
    /// # Errors
    /// The program ends, the condition fails or does not hold before the deadline; the message ends
    /// with the log's last lines.
    pub async fn until(
        &mut self,
        deadline: Duration,
        what: &str,
        mut condition: impl AsyncFnMut() -> Result<bool>,
    ) -> Result<()> {
        let wait = until(deadline, what, async || {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended ({status})", self.name);
            }
            condition().await
        });
        wait.await.map_err(|error| anyhow!("{error:#}\n{}", log_tail(&self.log)))
    }
}

impl Process {
    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// It cannot be asked for.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// It does not end before the deadline; the message ends with the log's last lines.
    pub async fn ended(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let mut status = None;
        let wait = until(deadline, "it ends", async || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        });
        wait.await.map_err(|error| anyhow!("{}: {error:#}\n{}", self.name, log_tail(&self.log)))?;
        status.with_context(|| format!("cannot ask for {}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
