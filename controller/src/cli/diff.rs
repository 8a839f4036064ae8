//! `mcwan diff`.

mod change;
mod overlay;
mod pair;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use mcwan_core::emit::kubernetes::{IMPORT_LABEL, Module, Settings, everything};
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::Snapshot;
use mcwan_core::snapshot::change::Change as Input;
use mcwan_core::translate::{Import, Origin, Translator};
use serde::Serialize;

use super::cluster::{Cluster, World};
use super::input::{Files, Findings};
use super::output::{self, Output};
use super::report;
use change::Change;
use overlay::Overlay;
use pair::PairChange;

/// Say what applying files would change in a cluster
///
/// First the objects of the files, then what the controller would make of them, and the pairs of clusters that would have
/// other tiers between them. Steering values, which are secret, are
/// replaced by others on both sides. What would then be wrong goes to standard error.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Diff {
    #[command(flatten)]
    files: Files,
    /// The namespace of objects that name none; without it, that of the context
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// For people or for programs
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    cluster: Cluster,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan diff payment.yaml
  mcwan diff manifests/ -o json | jq '.changes[] | select(.by == \"controller\") | .kind'

Exit status: 0 if nothing would change, 1 if something would, 2 if that cannot be told.";

/// What `-o json` prints.
#[derive(Serialize)]
struct Json<'f> {
    changes: &'f [Change],
    pairs: &'f [PairChange],
    problems: Vec<report::Json<'f>>,
}

impl Diff {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        let client = self.cluster.client().await?;
        let gathered = self.files.gather_in(self.namespace.as_deref().unwrap_or_else(|| client.default_namespace()));
        if !gathered.is_complete() {
            let mut log = anstream::stderr().lock();
            Findings::new(&gathered, Vec::new()).print(&mut log)?;
            writeln!(log, "nothing is compared: the objects that cannot be read might matter")?;
            return Ok(ExitCode::from(super::UNKNOWN));
        }
        let World { live, is_judged: _, options, translator: now, environment } = self.cluster.world(&client).await?;
        let settings = Settings {
            cluster: options.cluster.clone(),
            wan_cluster: None,
            network: environment.get("MCWAN_NETWORK").map(str::to_owned),
            gateway_class: environment.get("MCWAN_GATEWAY_CLASS").unwrap_or("istio").to_owned(),
            module: Module {
                url: environment.get("MCWAN_MODULE").unwrap_or_default().to_owned(),
                sha256: environment.get("MCWAN_MODULE_SHA256").map(str::to_owned),
            },
            data_plane: environment.data_plane(),
            filter: environment.filter_kind(),
            access_log: environment.access_log(),
            has_mcs_imports: !live.missing.contains(&&mcwan_core::kind::MCS_SERVICE_IMPORT),
            has_connections: !live.missing.contains(&&mcwan_core::kind::CLUSTER_CONNECTION),
        };
        let (before, known) = outcome(&now, &live.snapshot, &settings);
        let Overlay { snapshot, mut changes } =
            Overlay::new(live, &gathered.snapshot).context("the files do not fit")?;
        let mut then = Translator::new(options);
        then.update(&snapshot, &[Input::Everything]);
        let pairs = pair::changes(now.exports().everywhere(), then.exports().everywhere());
        let (after, mut problems) = outcome(&then, &snapshot, &settings);
        changes.extend(change::emitted(&before, &after, |object| rules_of(object, &now, &then)));
        problems.retain(|problem| !known.contains(problem));
        let findings = Findings::new(&gathered, problems);
        match self.output {
            Output::Text => {
                findings.print(&mut anstream::stderr().lock())?;
                let mut out = anstream::stdout().lock();
                changes.iter().try_for_each(|change| change.text(&mut out))?;
                pairs.iter().try_for_each(|pair| pair.text(&mut out))?;
            }
            Output::Json => {
                let problems = findings.0.iter().map(report::Json::from).collect();
                output::json_line(&mut io::stdout().lock(), &Json { changes: &changes, pairs: &pairs, problems })?;
            }
        }
        Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Where the rules were written that a plugin or a route is made of: for a plugin, those of the imports that change.
fn rules_of(object: &Object, now: &Translator, then: &Translator) -> Vec<String> {
    let namespace = &object.id.key.namespace;
    let is_plugin = matches!(object.id.kind, Kind::WasmPlugin | Kind::TrafficExtension);
    let label = object.body.pointer("/metadata/labels").and_then(|labels| labels.get(IMPORT_LABEL)?.as_str());
    let is_route_of = |import: &Import| object.id.kind == Kind::HttpRoute && label == Some(&*import.key.name);
    let is_changed = |import: &Import| {
        let before = now.imports().get(namespace, &import.key.name);
        before.is_none_or(|before| before.wire != import.wire || before.targets != import.targets)
    };
    let imports = then.imports().in_namespace(namespace);
    let imports = imports.filter(|import| if is_plugin { is_changed(import) } else { is_route_of(import) });
    let places = |import: &Arc<Import>| {
        let places = Origin::places(&import.rules).into_iter();
        places.map(|place| format!("{}: {place}", import.key)).collect::<Vec<_>>()
    };
    imports.flat_map(places).collect()
}

/// What the controller makes of a snapshot, and everything that is wrong with it.
fn outcome(translator: &Translator, snapshot: &Snapshot, settings: &Settings) -> (Vec<Object>, Vec<Problem>) {
    let (objects, emitted) = everything(translator, snapshot, settings);
    let mut problems = translator.problems();
    problems.extend(translator.imports().values().flat_map(|import| &import.problems).cloned());
    problems.extend(emitted);
    (objects, problems)
}
