//! `mcwan explain`.

mod draws;
mod levels;
mod requests;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mcwan_core::explain::{Asked, Explainer};

use super::gateway::{Gateway, UnknownHosts};
use super::input::Files;
use super::output::{self, Output};
use crate::steering_secret;
use draws::Draws;
use levels::Supposed;

/// Say what becomes of a request, and why
///
/// Which import has its host, which rule takes it, where it goes and what is rewritten; and for each rule that does not
/// take it why not. It is decided by the code that the filter runs. Where a rule has several backends, one is drawn.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Explain {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    request: Single,
    /// Explain a file of requests, or - for standard input, in place of one: a line is
    /// {"method": …, "scheme": …, "host": …, "port": …, "path": …, "headers": [[name, value], …]}, of which only
    /// `host` must be there
    #[arg(long, value_name = "FILE.jsonl", conflicts_with = "Single")]
    requests: Option<PathBuf>,
    #[command(flatten)]
    gateway: Gateway,
    /// What happens to a request whose host belongs to no import
    #[arg(long, value_enum, default_value_t)]
    unknown_hosts: UnknownHosts,
    /// Suppose that the paths to a cluster over a tier do not keep their promise, or do not answer; may be repeated.
    /// All others are taken to keep it
    #[arg(long = "level", value_name = "TIER@CLUSTER=out|down")]
    levels: Vec<Supposed>,
    /// A number that makes choices by weight repeatable
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// For people or for programs: one decision a line
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

/// One request.
#[derive(Debug, Args)]
#[group(id = "Single", multiple = true)]
struct Single {
    /// The method
    #[arg(long, default_value = "GET")]
    method: String,
    /// The scheme
    #[arg(long, default_value = "http")]
    scheme: String,
    /// The host as the client sends it, with or without a port
    #[arg(long, required_unless_present = "requests")]
    host: Option<String>,
    /// The port of the listener; without it, the gateway's only one, else the host's, else the scheme's
    #[arg(long)]
    port: Option<u16>,
    /// The path, with its query
    #[arg(long, default_value = "/")]
    path: String,
    /// A header line; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan explain payment.yaml --host payment.secure --path /payment
  mcwan explain manifests/ --method POST --host pay.example.com --path '/a?b=c' -H 'cookie: user=test'
  mcwan explain manifests/ --host payment.secure --level gold@cluster-1=out --level gold@cluster-2=down
  mcwan explain manifests/ --requests requests.jsonl -o json --seed 1 | jq -c '[.rule, .target]'

The exit status is 0 for a request that is refused, too: that is what was asked.";

impl Explain {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let Self { files, request, requests, gateway, unknown_hosts, levels, seed, output } = self;
        let input = files.read(
            &gateway.options(steering_secret::random()?),
            |import| gateway.serves(import),
            unknown_hosts.into(),
        )?;
        let mut log = anstream::stderr().lock();
        input.findings(Vec::new()).print(&mut log)?;
        if !input.gathered.is_complete() {
            writeln!(log, "nothing is explained: the objects that cannot be read might matter")?;
            return Ok(ExitCode::FAILURE);
        }
        let asked = match requests {
            Some(file) => requests::read(&file)?,
            None => vec![request.asked()],
        };
        let mut draws = Draws::new(seed)?;
        let levels = levels::of(input.plugin.table.paths(), &levels)?;
        let explainer = Explainer::new(&input.translation, &input.plugin).at(&levels);
        let mut out = anstream::stdout().lock();
        for (index, asked) in asked.iter().enumerate() {
            let (outcome, considered) = explainer.explain(asked, draws.next());
            match output {
                Output::Json => output::json_line(&mut out, &outcome)?,
                Output::Text => {
                    if index > 0 {
                        writeln!(out)?;
                    }
                    text::print(&mut out, asked, &outcome, &considered)?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Single {
    fn asked(self) -> Asked {
        let Self { method, scheme, host, port, path, headers } = self;
        Asked::new(&method, &scheme, &host.unwrap_or_default(), port, &path, &headers)
    }
}

/// Reads a header line as curl does.
fn header(line: &str) -> Result<(String, String), &'static str> {
    match line.split_once(':') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.trim().to_owned())),
        _ => Err("write it as `NAME: VALUE`"),
    }
}
