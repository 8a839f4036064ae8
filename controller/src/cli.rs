//! The command line.

mod age;
mod cluster;
mod clusters;
mod completions;
mod connection;
mod controller;
mod diff;
mod explain;
mod gateway;
mod input;
mod lease;
mod output;
mod registry;
mod render;
mod report;
mod status;
mod table;
mod validate;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "mcwan", version, about = ABOUT, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const ABOUT: &str = "Which request to an imported service takes which tier of the WAN";

const LONG_ABOUT: &str = "\
Which request to an imported service takes which tier of the WAN.

validate, explain and render read Kubernetes resources from files: mcwan's own (WANPolicy, ServiceImport, \
ExportedService, ExportedEndpoints, WANCluster, ClusterConnectionPolicy), the HTTPRoutes, GRPCRoutes and OpenShift's Routes that \
give rules, the Services, EndpointSlices and ReferenceGrants that rules refer to, and for exports \
ServiceExports and the Pods of gateways. status and diff ask a cluster, as kubectl does, and so does clusters, unless it is \
given files; controller keeps a cluster as its resources say. registry says which clusters take part.";

const AFTER_HELP: &str = "\
Exit status: 0 if all is well, 1 if the answer is no (something is wrong with the files, a config cannot be made), \
2 for wrong usage. Of diff: 1 if something would change, 2 if that cannot be told.";

#[derive(Debug, Subcommand)]
enum Command {
    Validate(validate::Validate),
    Render(render::Render),
    Explain(explain::Explain),
    Status(status::Status),
    Clusters(clusters::Clusters),
    Diff(diff::Diff),
    Controller(Box<controller::Controller>),
    Registry(registry::Registry),
    Completions(completions::Completions),
}

/// The exit status of a command that has no answer, where 0 and 1 are answers.
const UNKNOWN: u8 = 2;
/// The exit status where the reader has seen enough, as in `mcwan render … | head`: that of programs that SIGPIPE ends.
const UNREAD: u8 = 141;

/// Runs the command line: the arguments, the program's name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    // Of a comparison, 1 says that something differs.
    let failed = if matches!(cli.command, Command::Diff(_)) { ExitCode::from(UNKNOWN) } else { ExitCode::FAILURE };
    let result = match cli.command {
        Command::Validate(validate) => validate.run(),
        Command::Render(render) => render.run(),
        Command::Explain(explain) => explain.run(),
        Command::Status(status) => cluster::block_on(status.answer()),
        Command::Clusters(clusters) => cluster::block_on(clusters.answer()),
        Command::Diff(diff) => cluster::block_on(diff.answer()),
        Command::Controller(controller) => controller.run(),
        Command::Registry(registry) => cluster::block_on(registry.answer()),
        Command::Completions(completions) => completions.run(),
    };
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::from(UNREAD),
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(error) => usage(&error),
            Err(error) => {
                anstream::eprintln!("{}error:{} {error:#}", report::ERROR, report::ERROR.render_reset());
                failed
            }
        },
    }
}

/// Prints what clap has to say: help and version with status 0, wrong usage with status 2.
fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell if this cannot be printed.
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Whether nobody reads any more.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
