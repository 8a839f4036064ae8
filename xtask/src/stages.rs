//! What the workspace's other programs do: demo, tests, benchmarks, generated files.

use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Error, Result};

use crate::process::{self, INSTALL_CHRT, START_WITH_CARGO, cargo};
use crate::setup::WASM_TARGET;
use crate::stopwatch::Stopwatch;
use crate::test_programs::TestPrograms;
use crate::{Benchmark, Demo, Extent, Output, controller, image, spelling};

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
        Benchmark::Mcs => arguments(cargo(), "bench --package mcwan-testbed --bench mcs --"),
        Benchmark::Connections => arguments(cargo(), "bench --package mcwan-testbed --bench connections --"),
        Benchmark::Sla => arguments(cargo(), "bench --package mcwan-testbed --bench sla --"),
        Benchmark::Controller => arguments(cargo(), "bench --package mcwan-testbed --bench controller --"),
    };
    bench.args(["--output", &spelling(&output)]);
    Err(process::become_program(&mut bench, START_WITH_CARGO))
}

/// Everything that must hold before a change lands. Stops at the first failure, once what runs beside it has ended, and tells
/// how long each stage took.
pub(crate) fn test(tools: &Path, extent: Extent) -> Result<()> {
    let mut stopwatch = Stopwatch::default();
    let result = all_stages(&mut stopwatch, tools, extent);
    eprint!("{stopwatch}");
    result
}

fn all_stages(stopwatch: &mut Stopwatch, tools: &Path, extent: Extent) -> Result<()> {
    stopwatch.run("format", || run("fmt --all --check"))?;
    // No stage keeps all cores busy: the crates at the end of a build wait for each other, and tests for what they have started.
    thread::scope(|scope| {
        let images = scope.spawn(|| image::run(tools, &[]));
        let programs = stopwatch.run("build of the tests", TestPrograms::build)?;
        stopwatch.run("documented examples", || run("test --workspace --doc"))?;
        let lints = scope.spawn(lints);
        stopwatch.run("images, after what they were built beside", || joined(images))?;
        let beside = scope.spawn(|| {
            joined(lints)?;
            controller::simulate(tools, extent.flags()).context("simulation did not pass")
        });
        programs.run_all(stopwatch, extent)?;
        stopwatch.run("lints and simulation, after what they ran beside", || joined(beside))
    })
}

/// They have what tests leave of the cores, and yield to them at once: a second without a core may lose a request on a WAN.
fn lints() -> Result<()> {
    let lint = |name: &str, line: &str| {
        let mut lint = arguments(process::patient_cargo(), line);
        process::run(lint.env("RUSTDOCFLAGS", "-D warnings"), INSTALL_CHRT)
            .with_context(|| format!("{name} did not pass"))?;
        eprintln!("test: {name} passed");
        Ok(())
    };
    lint("lints", "clippy --quiet --workspace --all-targets -- -D warnings")?;
    let in_envoy = format!("clippy --quiet -p mcwan-policy -p mcwan-filter --target {WASM_TARGET} -- -D warnings");
    lint("lints of what runs in Envoy", &in_envoy)?;
    lint("documentation", "doc --quiet --workspace --no-deps")
}

/// What has become of a thread.
fn joined(thread: ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs cargo with arguments that hold no white space.
fn run(line: &str) -> Result<()> {
    process::run(&mut arguments(cargo(), line), START_WITH_CARGO)
}

/// Adds arguments that hold no white space.
fn arguments(mut command: Command, arguments: &str) -> Command {
    command.args(arguments.split_whitespace());
    command
}
