//! `mcwan render`.

mod envoy;
mod kubernetes;

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use mcwan_core::api;
use mcwan_core::emit::kubernetes::{self as kubernetes_objects, AccessLog};
use mcwan_core::problem::Severity;
use mcwan_core::translate::SteeringKeyError;

use super::gateway::{Gateway, UnknownHosts};
use super::input::{Files, Findings};
use crate::steering_secret;

/// Print what does what files say: a gateway's config, or a cluster's objects
///
/// It goes to standard output, what is wrong with the files to standard error. A rule that cannot be honoured answers
/// 500 and the rest is rendered, with exit status 1. If an object cannot be read at all, nothing is rendered: without
/// it, requests might be allowed that it forbids.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Render {
    #[command(flatten)]
    files: Files,
    /// What it is for
    #[arg(long, value_enum)]
    to: Sink,
    /// The module of the filter: for Envoy the path where Envoy finds it, `mcwan-filter.wasm` by default; for
    /// Kubernetes a URL, `oci://…@sha256:…` or `https://…`
    #[arg(long, value_name = "PATH|URL", required_if_eq("to", "kubernetes"))]
    module: Option<String>,
    /// Who applies the rules of the imports that do not say
    #[arg(long, value_enum, default_value_t)]
    data_plane: DataPlane,
    #[command(flatten)]
    gateway: Gateway,
    /// A secret of at least 16 characters that keeps clients from forging the steering header; without it, one is
    /// drawn
    #[arg(long, value_name = "KEY", env = "MCWAN_STEERING_KEY", hide_env_values = true)]
    steering_key: Option<String>, // parsed later: clap would print what it cannot take
    #[command(flatten)]
    envoy: ForEnvoy,
    #[command(flatten)]
    kubernetes: ForKubernetes,
}

/// What only a plain Envoy's config depends on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --to envoy")]
struct ForEnvoy {
    /// What happens to a request whose host belongs to no import
    #[arg(long, value_enum, default_value_t)]
    unknown_hosts: UnknownHosts,
    /// The address that the listeners bind to
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    bind: IpAddr,
    /// The address and port of Envoy's admin server; without it, there is none
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin: Option<SocketAddr>,
}

/// What only a cluster's objects depend on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --to kubernetes")]
struct ForKubernetes {
    /// The SHA-256 of the module in hexadecimal, where its URL holds no digest
    #[arg(long, value_name = "HEX")]
    module_sha256: Option<String>,
    /// The class of the Gateways
    #[arg(long, value_name = "CLASS", default_value = "istio")]
    gateway_class: String,
    /// The resource by which Istio loads the filter
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    filter_kind: FilterKind,
    /// Who is told of each request through an egress gateway: an extension provider of the mesh, or `mesh`
    #[arg(long, value_name = "PROVIDER", default_value_t)]
    access_log: AccessLog,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan render payment.yaml --to envoy --module mcwan-filter.wasm > envoy.json && envoy -c envoy.json
  mcwan render payment.yaml --to envoy --data-plane native
  mcwan render manifests/ --to envoy --steering cluster-header --bind 127.0.0.1 --admin 127.0.0.1:9901
  mcwan render manifests/ --to kubernetes --cluster cluster-2 --module oci://example.com/mcwan-filter@sha256:… \\
    | kubectl apply --server-side -f -      # where no controller runs, which would prune them";

/// What is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sink {
    /// A plain Envoy: its config
    Envoy,
    /// A cluster with Istio: its objects
    Kubernetes,
}

/// Who applies rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DataPlane {
    /// The mcwan filter
    #[default]
    Wasm,
    /// Plain routes
    Native,
}

impl Render {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let steering_key = match &self.steering_key {
            Some(key) => key.parse().map_err(|error: SteeringKeyError| usage(&error.to_string()))?,
            None => steering_secret::random()?,
        };
        let gathered = self.files.gather();
        if !gathered.is_complete() {
            let mut log = anstream::stderr().lock();
            Findings::new(&gathered, Vec::new()).print(&mut log)?;
            writeln!(log, "nothing is rendered: without the objects that cannot be read, too much might be allowed")?;
            return Ok(ExitCode::FAILURE);
        }
        let (text, findings) = match self.to {
            Sink::Envoy => self.for_envoy(gathered, steering_key)?,
            Sink::Kubernetes => self.for_kubernetes(&gathered, steering_key)?,
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        findings.print(&mut anstream::stderr().lock())?;
        Ok(if findings.count(Severity::Error) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The resource by which Istio loads the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum FilterKind {
    /// `WasmPlugin`, for now
    #[default]
    Auto,
    /// `WasmPlugin`
    WasmPlugin,
    /// `TrafficExtension`, from Istio 1.30 on
    TrafficExtension,
}

impl From<FilterKind> for kubernetes_objects::FilterKind {
    fn from(kind: FilterKind) -> Self {
        match kind {
            FilterKind::Auto | FilterKind::WasmPlugin => Self::WasmPlugin,
            FilterKind::TrafficExtension => Self::TrafficExtension,
        }
    }
}

impl From<DataPlane> for api::DataPlane {
    fn from(data_plane: DataPlane) -> Self {
        match data_plane {
            DataPlane::Wasm => Self::Wasm,
            DataPlane::Native => Self::Native,
        }
    }
}

/// An error of whoever typed the command.
fn usage(message: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n"))
}
