//! Plays the examples and starts clusters for people.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::example::Example;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::{demo, tools};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Starts the real things: plays the examples, keeps a cluster.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play examples through a real Envoy and print what happened.
    Demo(Demo),
    /// Start a Kubernetes control plane and leave it running until Ctrl-C.
    Cluster,
}

#[derive(clap::Args)]
struct Demo {
    /// The examples to play: folders of `examples/`.
    #[arg(value_name = "EXAMPLE", default_value = "payment")]
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
    /// Play them on two clusters and the WAN between them.
    #[arg(long, conflicts_with = "steering")]
    wan: bool,
    /// How the module's decision reaches the route; of no matter where Envoy decides.
    #[arg(long, value_enum, default_value_t)]
    steering: Steering,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum DataPlane {
    #[default]
    Wasm,
    Native,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Steering {
    #[default]
    RouteHeader,
    ClusterHeader,
}

/// Everything runs on this one thread: Envoy lives as long as it does.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run(Cli::parse().command).await.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Interrupted, we still end by returning, so that every child and folder goes.
async fn run(command: Command) -> Result<ExitCode> {
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let task = async {
        match command {
            Command::Demo(options) => demo(options).await,
            Command::Cluster => cluster().await,
        }
    };
    tokio::select! {
        exit = task => exit,
        () = arrival(interrupt?) => Ok(ExitCode::from(130)),
        () = arrival(terminate?) => Ok(ExitCode::from(143)),
    }
}

async fn arrival(mut signal: Signal) {
    signal.recv().await;
}

async fn demo(options: Demo) -> Result<ExitCode> {
    let examples = if options.all { Example::names()? } else { options.examples };
    if options.wan {
        let data_plane = match options.data_plane {
            DataPlane::Wasm => "wasm",
            DataPlane::Native => "native",
        };
        let arguments = ["--data-plane", data_plane];
        let all_good = demo::wan::run(&examples, &arguments, options.keep).await?;
        return Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mode = match (options.data_plane, options.steering) {
        (DataPlane::Native, _) => Mode::Native,
        (DataPlane::Wasm, Steering::RouteHeader) => Mode::RouteHeader,
        (DataPlane::Wasm, Steering::ClusterHeader) => Mode::ClusterHeader,
    };
    let all_good = demo::run(&examples, mode, options.keep).await?;
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns only where the cluster cannot be started.
async fn cluster() -> Result<ExitCode> {
    eprintln!("starting etcd, the API server and the controllers ...");
    // Without ours, which come with the chart.
    let cluster = TestCluster::start_with(&[Crds::GatewayApi, Crds::Istio, Crds::McsV1Beta1]).await?;
    println!("A Kubernetes control plane runs at {}. In another terminal:", cluster.url());
    println!();
    println!("    export KUBECONFIG={}", cluster.admin_kubeconfig().display());
    println!("    {} get crds", tools::program("kubectl")?.display());
    println!();
    println!("The logs are beside the kubeconfig. Ctrl-C ends it and removes everything.");
    std::future::pending().await
}
