//! `mcwan render`.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};

use super::answer::Answer;
use super::gateway::{Gateway, UnknownHosts};
use super::input::Files;
use crate::api;
use crate::emit::envoy::{self, EnvoyOptions};
use crate::problem::Severity;
use crate::translate::SteeringKey;

/// Print the config of a gateway that does what files say
///
/// The config goes to standard output, what is wrong with the files to standard error. A rule that cannot be honoured
/// answers 500 and the rest is rendered, with exit status 1. If an object cannot be read at all, nothing is
/// rendered: without it, requests might be allowed that it forbids.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Render {
    #[command(flatten)]
    files: Files,
    /// What the config is for
    #[arg(long, value_enum)]
    to: Sink,
    /// The module of the filter, where Envoy finds it
    #[arg(long, value_name = "PATH", default_value = "mcwan-filter.wasm")]
    module: PathBuf,
    /// Who applies the rules of the imports that do not say
    #[arg(long, value_enum, default_value_t)]
    data_plane: DataPlane,
    #[command(flatten)]
    gateway: Gateway,
    /// What happens to a request whose host belongs to no import
    #[arg(long, value_enum, default_value_t)]
    unknown_hosts: UnknownHosts,
    /// A secret of at least 16 characters that keeps clients from forging the steering header; without it, one is
    /// drawn
    #[arg(long, value_name = "KEY", env = "MCWAN_STEERING_KEY", hide_env_values = true)]
    steering_key: Option<String>, // parsed later: clap would print what it cannot take
    /// The address that the listeners bind to
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    bind: IpAddr,
    /// The address and port of Envoy's admin server; without it, there is none
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin: Option<SocketAddr>,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan render payment.yaml --to envoy --module mcwan-filter.wasm > envoy.json && envoy -c envoy.json
  mcwan render payment.yaml --to envoy --data-plane native
  mcwan render manifests/ --to envoy --steering cluster-header --bind 127.0.0.1 --admin 127.0.0.1:9901";

/// What a config is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sink {
    /// A plain Envoy
    Envoy,
}

/// Who applies rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DataPlane {
    /// The mcwan filter
    #[default]
    Wasm,
    /// Plain routes
    Native,
}

impl Render {
    pub(super) fn run(self) -> anyhow::Result<Answer> {
        let Self { files, to, module, data_plane, gateway, unknown_hosts, steering_key, bind, admin } = self;
        let steering_key = match steering_key {
            Some(key) => {
                key.parse().map_err(|error| clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n")))?
            }
            None => SteeringKey::random()?,
        };
        let input = files.read(&gateway.options(steering_key), unknown_hosts.into())?;
        let mut log = anstream::stderr().lock();
        if !input.gathered.is_complete() {
            input.findings(Vec::new()).print(&mut log)?;
            writeln!(log, "nothing is rendered: without the objects that cannot be read, too much might be allowed")?;
            return Ok(Answer::No);
        }
        let (config, problems) = match to {
            Sink::Envoy => {
                let data_plane = match data_plane {
                    DataPlane::Wasm => api::DataPlane::Wasm,
                    DataPlane::Native => api::DataPlane::Native,
                };
                let options =
                    EnvoyOptions { data_plane, steering: gateway.steering(), module, bind_address: bind, admin };
                envoy::render(&input.gathered.snapshot, &input.translation, &input.plugin, &options)
            }
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &config).map_err(io::Error::from)?;
        writeln!(out)?;
        let findings = input.findings(problems);
        findings.print(&mut log)?;
        Ok(if findings.count(Severity::Error) == 0 { Answer::Yes } else { Answer::No })
    }
}
