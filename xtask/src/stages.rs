//! What the workspace's other programs do: demo, tests, benchmarks, generated files.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Error, Result};
use serde_json::Value;

use crate::process::{self, START_WITH_CARGO, cargo};
use crate::setup::WASM_TARGET;
use crate::stopwatch::Stopwatch;
use crate::{Benchmark, Demo, Extent, Output, controller, image, spelling};

/// The tests of clusters on a WAN.
const WAN: &str = "wan";

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

/// Everything that must hold before a change lands, the quickest first. Stops at the first failure, once what runs beside it
/// has ended, and tells how long each stage took.
pub(crate) fn test(tools: &Path, extent: Extent) -> Result<()> {
    let mut stopwatch = Stopwatch::default();
    let result = all_stages(&mut stopwatch, tools, extent);
    eprint!("{stopwatch}");
    result
}

fn all_stages(stopwatch: &mut Stopwatch, tools: &Path, extent: Extent) -> Result<()> {
    stopwatch.run("format", || run("fmt --all --check"))?;
    // Of each, the crates at the end wait for each other and leave a core idle; the images have folders of their own.
    thread::scope(|scope| {
        let images = scope.spawn(|| image::run(tools, &[]));
        stopwatch.run("lints", || run("clippy --workspace --all-targets -- -D warnings"))?;
        stopwatch.run("lints of what runs in Envoy", || {
            run(&format!("clippy -p mcwan-policy -p mcwan-filter --target {WASM_TARGET} -- -D warnings"))
        })?;
        stopwatch.run("documentation", || {
            let mut doc = arguments(cargo(), "doc --workspace --no-deps");
            process::run(doc.env("RUSTDOCFLAGS", "-D warnings"), START_WITH_CARGO)
        })?;
        stopwatch.run("build of the tests", || run("test --workspace --no-run"))?;
        stopwatch.run("images, after what they were built beside", || joined(images))
    })?;
    let more = match extent {
        Extent::Usual => "--",
        Extent::Full => "-- --include-ignored",
    };
    stopwatch.run("unit tests", || run(&format!("test --workspace --lib --bins --examples {more}")))?;
    stopwatch.run("documented examples", || run(&format!("test --workspace --doc {more}")))?;
    integration_tests(stopwatch, tools, more)
}

/// Beside the tests that start programs, the simulation has what these leave of the cores. It yields to them at once: a second
/// without a core may lose a request on a WAN.
fn integration_tests(stopwatch: &mut Stopwatch, tools: &Path, more: &str) -> Result<()> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let test = |stopwatch: &mut Stopwatch, name: &str, threads: usize| {
        // All packages, as another choice of them would be another choice of features, and so another build.
        let test = format!("test --workspace --test {name} {more} --test-threads {threads}");
        stopwatch.run(&format!("tests: {name}"), || run(&test))
    };
    let IntegrationTests { computing, starting } = IntegrationTests::find()?;
    for name in computing {
        test(stopwatch, &name, cores)?;
    }
    thread::scope(|scope| {
        let simulation = scope.spawn(|| controller::simulate(tools, &more.split(' ').collect::<Vec<_>>()));
        for name in starting {
            test(stopwatch, &name, 2 * cores)?;
        }
        test(stopwatch, WAN, 2 * cores)?;
        stopwatch.run("tests: simulation, after what it ran beside", || joined(simulation))
    })
}

/// The programs of integration tests by what they do most of their time, without those that have a place of their own.
#[derive(Default)]
struct IntegrationTests {
    computing: BTreeSet<String>,
    /// They start real programs, and wait for them.
    starting: BTreeSet<String>,
}

impl IntegrationTests {
    fn find() -> Result<Self> {
        let mut metadata = arguments(cargo(), "metadata --no-deps --format-version 1");
        let metadata: Value = serde_json::from_str(&process::read(&mut metadata, START_WITH_CARGO)?)?;
        let mut all = Self::default();
        for package in metadata["packages"].as_array().context("cargo tells of no packages")? {
            let of_kind = if package["name"] == "mcwan-testbed" { &mut all.starting } else { &mut all.computing };
            let targets = package["targets"].as_array().context("cargo tells of no targets")?;
            for target in targets.iter().filter(|target| target["kind"][0] == "test") {
                let name = target["name"].as_str().context("a target without a name")?;
                if ![controller::SIMULATION, WAN].contains(&name) {
                    of_kind.insert(name.to_owned());
                }
            }
        }
        Ok(all)
    }
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
