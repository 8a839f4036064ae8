//! What the workspace's other programs do: demo, tests, benchmarks, generated files.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Error, Result};

use crate::process::{self, cargo};
use crate::setup::WASM_TARGET;
use crate::{Benchmark, Demo, Extent, Output, spelling};

const START_WITH_CARGO: &str = "start me as `cargo xtask`";

/// Writes the definitions of our kinds.
pub(crate) fn generate_crds() -> Result<()> {
    process::prepare(&mut arguments(cargo(), "run --package mcwan --example crds"), START_WITH_CARGO)
}

/// Writes the objects that come of the examples.
pub(crate) fn generate_golden() -> Result<()> {
    process::prepare(&mut arguments(cargo(), "run --package mcwan --example golden"), START_WITH_CARGO)
}

/// Plays examples; returns only where the player cannot be started.
pub(crate) fn demo(demo: &Demo) -> Result<()> {
    if demo.wan {
        // The player starts it from beside itself.
        process::prepare(&mut arguments(cargo(), "build --package mcwan-testbed --bins"), START_WITH_CARGO)?;
    }
    let mut player = arguments(cargo(), "run --package mcwan-testbed --bin mcwan-testbed -- demo");
    player.args(["--data-plane", &spelling(&demo.data_plane)]);
    if demo.wan {
        player.arg("--wan");
    } else {
        player.args(["--steering", &spelling(&demo.steering)]);
    }
    player.args(demo.keep.then_some("--keep")).args(demo.all.then_some("--all")).args(&demo.examples);
    Err(process::become_program(&mut player, START_WITH_CARGO))
}

/// Keeps a control plane running; returns only where it cannot be started.
pub(crate) fn cluster() -> Error {
    let mut keeper = arguments(cargo(), "run --quiet --package mcwan-testbed --bin mcwan-testbed -- cluster");
    process::become_program(&mut keeper, START_WITH_CARGO)
}

/// Measures; returns only where that cannot be started.
pub(crate) fn bench(what: Benchmark, output: Output) -> Result<()> {
    let mut bench = match what {
        Benchmark::Module => arguments(cargo(), "bench --package mcwan-wasm-tests --bench numbers --"),
        Benchmark::Controller => arguments(cargo(), "bench --package mcwan-testbed --bench controller --"),
    };
    bench.args(["--output", &spelling(&output)]);
    Err(process::become_program(&mut bench, START_WITH_CARGO))
}

/// Everything that must hold before a change lands, the quickest first. Stops at the first failure.
pub(crate) fn test(extent: Extent) -> Result<()> {
    let tests = match extent {
        Extent::Usual => "test --workspace",
        Extent::Full => "test --workspace -- --include-ignored",
    };
    let stages = [
        ("format", arguments(cargo(), "fmt --all --check")),
        ("lints", arguments(cargo(), "clippy --workspace --all-targets -- -D warnings")),
        (
            "lints of what runs in Envoy",
            arguments(
                cargo(),
                &format!("clippy -p mcwan-policy -p mcwan-filter --target {WASM_TARGET} -- -D warnings"),
            ),
        ),
        ("documentation", {
            let mut doc = arguments(cargo(), "doc --workspace --no-deps");
            doc.env("RUSTDOCFLAGS", "-D warnings");
            doc
        }),
        ("images", arguments(Command::new(std::env::current_exe()?), "image")),
        ("tests", arguments(cargo(), tests)),
    ];
    for (name, mut command) in stages {
        eprintln!("test: {name}");
        let start = Instant::now();
        process::run(&mut command, START_WITH_CARGO).with_context(|| format!("{name} did not pass"))?;
        eprintln!("test: {name} passed in {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Adds arguments that hold no white space.
fn arguments(mut command: Command, arguments: &str) -> Command {
    command.args(arguments.split_whitespace());
    command
}
