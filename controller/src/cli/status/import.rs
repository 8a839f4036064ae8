//! One import in a list.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use mcwan_core::api::{DataPlane, McsServiceImport};
use mcwan_core::liveness::Liveness;
use mcwan_core::snapshot::Key;
use mcwan_core::status::Subject;
use mcwan_core::translate::Import;
use serde::Serialize;

use super::verdicts::{self, Step};
use crate::cli::age;
use crate::cli::cluster::World;

/// The conditions that a table shows.
const SHOWN: [&str; 3] = ["Accepted", "ResolvedRefs", "Programmed"];

/// What is known of an import.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportStatus {
    namespace: String,
    name: String,
    /// Whether all is well with it.
    pub(super) ok: bool,
    tiers: Vec<String>,
    /// The clusters that it can be had from.
    sources: Vec<String>,
    /// Those of them that do not show that they are alive.
    stale_sources: Vec<String>,
    ports: Vec<u16>,
    /// Those that lead straight to pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    direct_ports: Vec<String>,
    hostnames: Vec<String>,
    /// How many rules it has; none: nobody wrote any.
    rules: Option<usize>,
    data_plane: &'static str,
    /// Of its `ServiceImport`.
    conditions: Vec<Condition>,
    /// What is wrong beside them.
    problems: Vec<String>,
    created_at: Option<Time>,
    /// The conditions of [`SHOWN`], each in one word.
    #[serde(skip)]
    cells: [String; 3],
}

impl ImportStatus {
    pub(super) fn new(import: &Import, world: &World) -> Self {
        let Key { namespace, name } = &import.key;
        let written = world.live.snapshot.service_imports.get(namespace, name);
        let subject = Subject::of_import(&world.live.snapshot, &import.key);
        let nothing = ObjectMeta::default();
        let metadata = subject.map_or(&nothing, |subject| subject.metadata);
        let has_rules = !import.rules.is_empty() || written.is_some_and(|written| written.spec.http.is_some());
        let sources = || world.translator.exports().sources(&import.wire.namespace, &import.wire.name);
        let clusters: BTreeSet<_> = sources().map(|source| source.cluster.clone()).collect();
        let stale = sources().filter(|source| source.liveness == Liveness::Stale);
        let stale: BTreeSet<_> = stale.map(|source| source.cluster.clone()).collect();
        let verdicts = verdicts::of(world, import);
        let broken = verdicts.iter().filter(|step| !step.ok && step.stage != verdicts::WRITTEN);
        let shown = world.live.snapshot.mcs_service_imports.get(namespace, name).map(Subject::mcs_service_import);
        Self {
            namespace: namespace.to_string(),
            name: name.to_string(),
            ok: stale.is_empty() && verdicts.iter().all(|step| step.ok),
            tiers: import.own_tiers().map(|tier| tier.name.clone()).collect(),
            sources: clusters.into_iter().collect(),
            stale_sources: stale.into_iter().collect(),
            ports: import.ports.clone(),
            direct_ports: import.direct.iter().map(|direct| direct.port.to_string()).collect(),
            hostnames: import.wire.hostnames.clone(),
            rules: has_rules.then_some(import.rules.len()),
            data_plane: data_plane(import, world),
            conditions: subject.map(|subject| subject.conditions.to_vec()).unwrap_or_default(),
            problems: broken.map(|step| step.message.clone()).collect(),
            created_at: metadata.creation_timestamp.clone(),
            cells: match subject {
                Some(subject) => SHOWN.map(|shown| cell(shown, subject)),
                None => unwritten(&verdicts, shown),
            },
        }
    }

    pub(super) fn head(namespaces: bool, wide: bool) -> Vec<String> {
        let mut head = vec!["NAME", "TIERS", "SOURCES", "ACCEPTED", "RESOLVEDREFS", "PROGRAMMED", "AGE"];
        if namespaces {
            head.insert(0, "NAMESPACE");
        }
        if wide {
            head.extend(["RULES", "PORTS", "DATAPLANE", "HOSTNAMES"]);
        }
        head.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn row(&self, namespaces: bool, wide: bool, now: &Time) -> Vec<String> {
        let mut row = vec![self.name.clone(), listed(&self.tiers), listed(&self.marked_sources())];
        row.extend(self.cells.clone());
        row.push(self.created_at.as_ref().map_or_else(|| "-".to_owned(), |created| age::age(created, now)));
        if namespaces {
            row.insert(0, self.namespace.clone());
        }
        if wide {
            let ports: Vec<_> =
                self.ports.iter().map(u16::to_string).chain(self.direct_ports.iter().cloned()).collect();
            row.push(self.rules.map_or_else(|| "-".to_owned(), |rules| rules.to_string()));
            row.extend([listed(&ports), self.data_plane.to_owned(), listed(&self.hostnames)]);
        }
        row
    }

    /// The clusters that it can be had from, `c1(stale)` where one does not show that it is alive.
    fn marked_sources(&self) -> Vec<String> {
        let marked = |source: &String| {
            if self.stale_sources.contains(source) { format!("{source}(stale)") } else { source.clone() }
        };
        self.sources.iter().map(marked).collect()
    }
}

/// A condition in one word: `Unknown` where it tells of an earlier state.
fn cell(shown: &str, Subject { metadata, conditions }: Subject<'_>) -> String {
    let condition = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
    let is_partial = condition("PartiallyInvalid").is_some_and(|partial| partial.status == "True");
    let word = match condition(shown) {
        Some(condition) if condition.observed_generation == metadata.generation => {
            if shown == "Accepted" && is_partial { "Partial" } else { &condition.status }
        }
        Some(_) | None => "Unknown",
    };
    word.to_owned()
}

/// The same where nobody wrote a `ServiceImport`: `-` where there is nothing to tell of. Clients are told whether it answers.
fn unwritten(verdicts: &[Step], shown: Option<Subject<'_>>) -> [String; 3] {
    let has_problems = verdicts.iter().any(|step| !step.ok && step.stage == verdicts::UNWRITTEN);
    let resolved = if has_problems { "False" } else { "-" };
    let conditions = shown.map(|shown| shown.conditions).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == McsServiceImport::READY);
    let programmed = ready.map_or("-", |ready| &ready.status);
    ["-", resolved, programmed].map(str::to_owned)
}

/// Who applies the rules of an import.
pub(super) fn data_plane(import: &Import, world: &World) -> &'static str {
    match import.data_plane.unwrap_or_else(|| world.environment.data_plane()) {
        DataPlane::Wasm => "Wasm",
        DataPlane::Native => "Native",
    }
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "-".to_owned() } else { items.join(",") }
}
