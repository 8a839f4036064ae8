//! The command `mcwan`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcwan::cli::run(std::env::args_os())
}
