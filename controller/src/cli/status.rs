//! `mcwan status`.

mod chain;
mod found;
mod import;
mod leader;
mod verdicts;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use mcwan_core::api::ExportedService;
use serde::Serialize;

use super::cluster::{Cluster, World};
use super::table;
use chain::Chain;
use import::ImportStatus;
use leader::Leader;

/// Show what a cluster imports, and whether it works
///
/// With a name, every step of that import is looked at: the exports of the clusters, the tier services here, their
/// endpoints, the routes, the plugin and the gateway; and what to do where one is broken.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Status {
    /// The import to look into
    #[arg(value_name = "IMPORT", conflicts_with = "all_namespaces")]
    import: Option<String>,
    /// The namespace; without it, that of the context
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    cluster: Cluster,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan status -A
  mcwan status payment -n secure
  mcwan status -A -o json | jq '.[] | select(.ok | not) | .name'

Exit status: 0 if all is well, 1 if something is broken.";

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    #[default]
    Table,
    /// The same, with more columns
    Wide,
    /// For programs
    Json,
    /// For programs
    Yaml,
}

impl Status {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        let client = self.cluster.client().await?;
        let namespace = self.namespace.as_deref().unwrap_or_else(|| client.default_namespace()).to_owned();
        let world = self.cluster.world(&client).await?;
        let now = Time(Timestamp::now());
        let leader = Leader::find(&client, &now).await?;
        match &self.import {
            Some(name) => self.one(&client, &world, leader, &namespace, name).await,
            None => self.all(&world, &leader, &namespace, &now),
        }
    }

    fn all(&self, world: &World, leader: &Leader, namespace: &str, now: &Time) -> anyhow::Result<ExitCode> {
        let imports = world.translator.imports().values();
        let wanted = imports.filter(|import| self.all_namespaces || *import.key.namespace == *namespace);
        let imports: Vec<_> = wanted.map(|import| ImportStatus::new(import, world)).collect();
        let mut log = anstream::stderr().lock();
        if let Some(broken) = leader.is_missing() {
            writeln!(log, "warning: {}: {}", broken.what, broken.hint)?;
        }
        match self.output {
            Form::Table | Form::Wide if imports.is_empty() => self.nothing(world, namespace, &mut log)?,
            Form::Table => self.table(&imports, now, false)?,
            Form::Wide => self.table(&imports, now, true)?,
            Form::Json | Form::Yaml => self.print(&imports)?,
        }
        let ok = imports.iter().all(|import| import.ok) && leader.is_missing().is_none();
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn table(&self, imports: &[ImportStatus], now: &Time, wide: bool) -> io::Result<()> {
        let mut rows = vec![ImportStatus::head(self.all_namespaces, wide)];
        rows.extend(imports.iter().map(|import| import.row(self.all_namespaces, wide, now)));
        table::print(&mut anstream::stdout().lock(), &rows)
    }

    /// Says why there may be nothing.
    fn nothing(&self, world: &World, namespace: &str, log: &mut impl Write) -> io::Result<()> {
        if self.all_namespaces {
            writeln!(log, "nothing is imported: no cluster exports a service of a namespace that is here")?;
            return writeln!(
                log,
                "  what all export: kubectl get exportedservices -n {}",
                mcwan_core::api::REGISTRY_NAMESPACE
            );
        }
        writeln!(log, "nothing is imported in namespace {namespace}")?;
        let elsewhere = world.translator.imports().len();
        if elsewhere > 0 {
            writeln!(log, "  there are {elsewhere} imports in other namespaces: mcwan status -A")?;
        } else if !world.live.snapshot.has_namespace(namespace) {
            writeln!(log, "  there is no such namespace")?;
        }
        Ok(())
    }

    async fn one(
        &self,
        client: &Client,
        world: &World,
        leader: Leader,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<ExitCode> {
        let Some(import) = world.translator.imports().get(namespace, name) else {
            let others: Vec<_> =
                world.translator.imports().in_namespace(namespace).map(|import| &*import.key.name).collect();
            let others = match others.as_slice() {
                [] => "nothing is imported there".to_owned(),
                others => format!("there are {}", others.join(", ")),
            };
            let snapshot = &world.live.snapshot;
            if snapshot.service_exports.get(namespace, name).is_some() {
                let is_it = |export: &&ExportedService| export.spec.namespace == namespace && export.spec.name == name;
                let why = if snapshot.exported_services.iter().any(|export| is_it(&export)) {
                    "the controller takes nothing of that namespace: see its --import-namespaces and \
                     --denied-import-namespaces"
                        .to_owned()
                } else {
                    format!(
                        "its ServiceExport is not in the registry: see `kubectl describe serviceexport {name} -n {namespace}`"
                    )
                };
                bail!("this cluster exports {name} of namespace {namespace} and does not import it, as {why}");
            }
            bail!(
                "there is no import {name} in namespace {namespace}, as no cluster exports such a service and \
                 there is no ServiceImport; {others}"
            );
        };
        let chain = Chain::of(client, world, &leader, import).await?;
        match self.output {
            Form::Table | Form::Wide => chain.text(&mut anstream::stdout().lock())?,
            Form::Json | Form::Yaml => self.print(&chain)?,
        }
        Ok(if chain.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Prints something for programs.
    fn print(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        match self.output {
            Form::Yaml => write!(out, "{}", serde_saphyr::to_string(value)?)?,
            Form::Json | Form::Table | Form::Wide => {
                serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
                writeln!(out)?;
            }
        }
        Ok(())
    }
}
