//! `mcwan validate`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use mcwan_core::problem::Severity;
use mcwan_policy::wire::UnknownHosts;
use serde::Serialize;

use super::gateway::Gateway;
use super::input::Files;
use super::output::{self, Output};
use super::report;
use crate::steering_secret;

/// Check files, and say what is wrong and where
///
/// Every document is read, so that as many errors as can be told apart are found in one run. A warning is about
/// something harmless, such as a kind that mcwan does not read.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Validate {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    gateway: Gateway,
    /// For people or for programs
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan validate payment.yaml tiers.yaml
  mcwan validate manifests/
  kubectl get wanpolicies,serviceimports.mc-wan.l7mp.io,exportedservices,exportedendpoints,wanclusters,clusterconnectionpolicies,services,endpointslices,referencegrants,httproutes,grpcroutes \
    -A -o yaml | mcwan validate -
  mcwan validate -o json manifests/ | jq '.problems[].message'";

/// What `-o json` prints.
#[derive(Debug, Serialize)]
struct Json<'f> {
    ok: bool,
    problems: Vec<report::Json<'f>>,
}

impl Validate {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let options = self.gateway.options(steering_secret::random()?);
        let findings = self
            .files
            .read(&options, |import| self.gateway.serves(import), UnknownHosts::default())?
            .findings(Vec::new());
        let (errors, warnings) = (findings.count(Severity::Error), findings.count(Severity::Warning));
        let ok = errors == 0;
        match self.output {
            Output::Text => {
                let mut out = anstream::stdout().lock();
                findings.print(&mut out)?;
                match (errors, warnings) {
                    (0, 0) => writeln!(out, "all is well")?,
                    _ => writeln!(out, "{}, {}", counted(errors, "error"), counted(warnings, "warning"))?,
                }
            }
            Output::Json => {
                let problems = findings.0.iter().map(report::Json::from).collect();
                output::json_line(&mut io::stdout().lock(), &Json { ok, problems })?;
            }
        }
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
