//! Plays the examples for people.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use mcwan_testbed::demo;
use mcwan_testbed::example::Example;
use mcwan_testbed::mode::Mode;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Starts the real things and plays the examples.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play examples through a real Envoy and print what happened.
    Demo(Demo),
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
    let Command::Demo(options) = Cli::parse().command;
    demo(options).await.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

async fn demo(options: Demo) -> Result<ExitCode> {
    let mode = match (options.data_plane, options.steering) {
        (DataPlane::Native, _) => Mode::Native,
        (DataPlane::Wasm, Steering::RouteHeader) => Mode::RouteHeader,
        (DataPlane::Wasm, Steering::ClusterHeader) => Mode::ClusterHeader,
    };
    let examples = if options.all { Example::names()? } else { options.examples };
    // Interrupted, we still end by returning, so that every child and folder goes.
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    tokio::select! {
        all_good = demo::run(&examples, mode, options.keep) => {
            Ok(if all_good? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        () = arrival(interrupt?) => Ok(ExitCode::from(130)),
        () = arrival(terminate?) => Ok(ExitCode::from(143)),
    }
}

async fn arrival(mut signal: Signal) {
    signal.recv().await;
}
