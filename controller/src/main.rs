//! The command `mcwan`.

// Nothing that a client or a configuration says ends the process.
#![warn(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// That of musl takes a third of the time in which a controller learns what there is.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    mcwan::cli::run(std::env::args_os())
}
