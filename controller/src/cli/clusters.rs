//! `mcwan clusters`.

mod dot;
mod measured;
mod pair;
mod text;
mod view;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::api::{McsVersion, MeasuredTier, TIER_NAMESPACE};
use mcwan_core::connection::{self, Connection, Connections, Member};
use mcwan_core::liveness::Liveness;
use mcwan_core::snapshot::Snapshot;
use mcwan_core::snapshot::change::Change;
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};
use serde::Serialize;

use super::cluster::{Cluster, World};
use super::input::Findings;
use super::table;
use crate::{files, steering_secret};
use pair::Pair;
use view::{PairView, View};

/// Show which clusters may use which tier between them, and why
///
/// Without names, all clusters and all pairs. With two, each policy: which way round it matches, or why it does not; and each
/// tier. With one, the same of it and this cluster.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Clusters {
    /// The pair to look into
    #[arg(value_name = "CLUSTER", num_args = 0..=2)]
    pair: Vec<String>,
    /// Ask files, folders (their .yaml, .yml and .json files), or - for standard input, in place of a cluster and its
    /// registry: with --cluster, their tiers are that cluster's
    #[arg(
        short = 'f', long, value_name = "FILES", num_args = 1..,
        conflicts_with_all = ["kubeconfig", "context", "registry_kubeconfig"]
    )]
    files: Vec<PathBuf>,
    /// The form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    cluster: Cluster,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan clusters
  mcwan clusters cluster-1 cluster-3
  mcwan clusters cluster-1 cluster-3 -f manifests/
  mcwan clusters -o json | jq '.pairs[] | select(.state == \"Conflict\")'
  mcwan clusters -o dot | dot -Tsvg > clusters.svg

The exit status is 0 for clusters that may use no tier, too: that is what was asked.";

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
    /// For programs
    Yaml,
    /// For Graphviz: clusters, and the tiers that they may use between them
    Dot,
}

/// What is known of the clusters.
struct Known {
    snapshot: Snapshot,
    translator: Translator,
    /// This cluster, if it has a name.
    own: Option<String>,
    /// Whether somebody tells which clusters are alive.
    is_live: bool,
}

impl Clusters {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        let known = if self.files.is_empty() { self.live().await? } else { self.read()? };
        let Some(known) = known else { return Ok(ExitCode::FAILURE) };
        let mut out = anstream::stdout().lock();
        match self.pair.as_slice() {
            [] => self.all(&known, &mut out)?,
            [other] => match known.own.as_deref() {
                Some(own) => self.one(&known, [own, other], &mut out)?,
                None => return Err(usage("name two clusters, or say by --cluster which one this is").into()),
            },
            [one, other, ..] => self.one(&known, [one, other], &mut out)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What the registry of a cluster says.
    async fn live(&self) -> anyhow::Result<Option<Known>> {
        let client = self.cluster.client().await?;
        let world = self.cluster.world(&client).await?;
        let World { live, is_judged, options, translator, .. } = world;
        Ok(Some(Known { snapshot: live.snapshot, translator, own: options.cluster, is_live: is_judged }))
    }

    /// What files say; none if something of it cannot be read.
    fn read(&self) -> anyhow::Result<Option<Known>> {
        let gathered = files::from_paths(&self.files);
        let mut log = anstream::stderr().lock();
        Findings::new(&gathered, connection::problems(&gathered.snapshot)).print(&mut log)?;
        if !gathered.is_complete() {
            writeln!(log, "nothing is told: the objects that cannot be read might matter")?;
            return Ok(None);
        }
        let own = self.cluster.name().map(str::to_owned);
        let mut translator = Translator::new(Options {
            cluster: own.clone(),
            steering_key: steering_secret::random()?,
            steering: Steering::RouteHeader,
            mcs_version: McsVersion::default(),
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        });
        translator.update(&gathered.snapshot, &[Change::Everything]);
        Ok(Some(Known { snapshot: gathered.snapshot, translator, own, is_live: false }))
    }

    fn all(&self, known: &Known, out: &mut impl Write) -> anyhow::Result<()> {
        let view = View::of(known);
        match self.output {
            Form::Table if view.is_empty() => writeln!(anstream::stderr(), "no cluster takes part")?,
            Form::Table => {
                text::all(out, &view)?;
                known.print_measured(out, &view.pairs)?;
            }
            Form::Dot => dot::print(out, &view)?,
            Form::Json | Form::Yaml => self.print(out, &view)?,
        }
        Ok(())
    }

    fn one(&self, known: &Known, [one, other]: [&str; 2], out: &mut impl Write) -> anyhow::Result<()> {
        for name in [one, other] {
            if !known.members().any(|member| member.name() == name) {
                let names: Vec<_> = known.members().map(Member::name).collect();
                bail!("there is no cluster {name}; there are {}", names.join(", "));
            }
        }
        let Some(pair) = Pair::of(known, one, other) else {
            return Err(usage(&format!("{one} is one cluster: name two")).into());
        };
        match self.output {
            Form::Table => {
                pair.text(out)?;
                known.print_measured(out, [pair.view().pair])?;
            }
            Form::Dot => dot::print(out, &View::of(known).only([one, other]))?,
            Form::Json | Form::Yaml => self.print(out, &pair.view())?,
        }
        Ok(())
    }

    /// Prints something for programs.
    fn print(&self, out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
        if self.output == Form::Yaml {
            write!(out, "{}", serde_saphyr::to_string(value)?)?;
        } else {
            serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Ok(())
    }
}

impl Known {
    fn connections(&self) -> &Connections {
        self.translator.exports().everywhere()
    }

    /// The clusters, by name. One without a name is no cluster of the registry.
    fn members(&self) -> impl Iterator<Item = &Member> {
        self.connections().members().filter(|member| !member.name().is_empty())
    }

    fn between(&self, one: &str, other: &str) -> Option<Connection> {
        self.connections().between(one, other)
    }

    /// What this cluster's gateways measure of a tier between two clusters, if this one is one of them.
    fn measured(&self, [one, other]: [&str; 2], tier: &str) -> Option<&MeasuredTier> {
        let own = self.own.as_deref()?;
        let other = if own == one { other } else { Some(one).filter(|_| own == other)? };
        let status = self.snapshot.cluster_connections.get(TIER_NAMESPACE, other)?.status.as_ref()?;
        status.tiers.iter().find(|known| known.name == tier)?.measured.as_ref()
    }

    /// What is measured of these pairs, for people.
    fn print_measured<'p>(
        &'p self,
        out: &mut impl Write,
        pairs: impl IntoIterator<Item = &'p PairView>,
    ) -> io::Result<()> {
        let Some(own) = &self.own else { return Ok(()) };
        let tier = |name: &str| self.snapshot.wan_policies.get("", name).map(|policy| &policy.spec);
        let rows = measured::table(own, pairs, tier, &Time(Timestamp::now()));
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        table::print(out, &rows)
    }

    /// Whether clusters show that they are alive: all of them, where nobody tells.
    fn liveness(&self, clusters: &[&str]) -> Liveness {
        let is_stale = |cluster: &&str| self.snapshot.stale_clusters.contains(*cluster);
        if clusters.iter().any(is_stale) { Liveness::Stale } else { Liveness::Live }
    }
}

/// An error of whoever typed the command.
fn usage(message: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n"))
}
