//! `mcwan completions`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

const AFTER_HELP: &str = "\
Examples:
  source <(mcwan completions bash)
  mcwan completions zsh > ~/.zfunc/_mcwan
  mcwan completions fish > ~/.config/fish/completions/mcwan.fish";

impl Completions {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        // The generator panics where it cannot write, so it does not get to see the real output.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "mcwan", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
