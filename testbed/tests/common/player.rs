//! The demo as a process.

use std::process::{Child, Command, Output};

/// The demo as a person starts it.
pub(crate) fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcwan-testbed"));
    command.arg("demo");
    command
}

/// What it printed, and what it logged.
pub(crate) fn printed(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A demo that keeps running; killed if a test fails.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
