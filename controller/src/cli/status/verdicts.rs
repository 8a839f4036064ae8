//! What the controller says of an import.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use mcwan_core::api::{ParentRef, Route, ServiceExport};
use mcwan_core::problem::{Problem, Severity};
use mcwan_core::snapshot::{Key, viewed};
use mcwan_core::status::Subject;
use mcwan_core::translate::{Attachment, Import};
use serde::Serialize;

use crate::cli::cluster::World;

/// The conditions that are bad news where they are true.
const WHERE_BAD: [&str; 3] = ["PartiallyInvalid", "Stale", ServiceExport::CONFLICT];

/// The stage of what the controller says of a `ServiceImport` that somebody wrote.
pub(super) const WRITTEN: &str = "status";
/// The stage of what is wrong with an import where nobody wrote one.
pub(super) const UNWRITTEN: &str = "rules";

/// One step.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) stage: &'static str,
    pub(super) ok: bool,
    pub(super) message: String,
    /// What to do.
    pub(super) hint: Option<String>,
}

impl Step {
    pub(super) fn ok(stage: &'static str, message: impl Into<String>) -> Self {
        Self { stage, ok: true, message: message.into(), hint: None }
    }

    pub(super) fn broken(stage: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { stage, ok: false, message: message.into(), hint: Some(hint.into()) }
    }
}

/// What the controller says of an import, of its name, of the routes that give its rules, and of the export that this cluster
/// has of it.
pub(super) fn of(world: &World, import: &Import) -> Vec<Step> {
    let Key { namespace, name } = &import.key;
    let export = world.live.snapshot.service_exports.get(namespace, name);
    let of_export = export.map(|export| status("export", "ServiceExport", Subject::service_export(export)));
    let of_import = if let Some(written) = Subject::of_import(&world.live.snapshot, &import.key) {
        status(WRITTEN, "ServiceImport", written)
    } else {
        let problems = problems(import).into_iter();
        problems.map(|problem| Step { stage: UNWRITTEN, ok: false, message: problem, hint: None }).collect()
    };
    let shown = world.live.snapshot.mcs_service_imports.get(namespace, name);
    let of_name = shown.map(|shown| status("name", "ServiceImport", Subject::mcs_service_import(shown)));
    let routes = &world.live.snapshot.routes;
    let front_ends = world.options.front_ends;
    let service = viewed(&import.key);
    let of_routes = routes
        .all_below(&service)
        .filter(|route| route.key.namespace == import.key.namespace && front_ends.has(route.kind));
    let of_routes = of_routes.filter_map(|route| routes.get(route)).flat_map(|route| of_route(route, import));
    let from_elsewhere = import.attachments.iter().filter_map(|attached| not_admitted(attached, import));
    let of_others = [of_name, of_export].into_iter().flatten().flatten();
    of_others.chain(of_import).chain(of_routes).chain(from_elsewhere).collect()
}

/// Why the rules of a route of another namespace hold nowhere, if they do not. The import is none the worse for it: its
/// owners admit whom they like.
fn not_admitted(Attachment { route, parent: _, verdict }: &Attachment, import: &Import) -> Option<Step> {
    let (reason, message) = verdict.as_ref().err().filter(|_| route.key.namespace != import.key.namespace)?;
    let kind = route.kind.info().name;
    Some(Step::ok("route", format!("{kind} {}, which is refused: {message} ({reason})", route.key)))
}

/// What the controller says of a route that has the import as its parent.
fn of_route(route: &Route, import: &Import) -> Vec<Step> {
    let own = route.metadata.namespace.as_deref().unwrap_or_default();
    let is_import =
        |parent: &&ParentRef| parent.import(own) == Some((import.wire.namespace.as_str(), import.wire.name.as_str()));
    let of_parent = |parent: &ParentRef| {
        let conditions = route.conditions_of(parent);
        status("route", route.kind.info().name, Subject { metadata: &route.metadata, conditions: &conditions })
    };
    let name = route.object();
    let named = |step: Step| Step { message: format!("{name}: {}", step.message), ..step };
    route.parents.iter().filter(is_import).flat_map(of_parent).map(named).collect()
}

/// What the controller says of an object.
fn status(stage: &'static str, kind: &str, subject: Subject<'_>) -> Vec<Step> {
    if subject.conditions.is_empty() {
        let hint = "the controller writes it: see its log";
        return vec![Step::broken(stage, format!("the {kind} has no status"), hint)];
    }
    let step = |condition: &Condition| {
        let is_bad = (condition.status == "True") == WHERE_BAD.contains(&condition.type_.as_str());
        let is_old = condition.observed_generation != subject.metadata.generation;
        let old = if is_old { ", of an earlier generation" } else { "" };
        let message =
            format!("{} is {} ({}{old}): {}", condition.type_, condition.status, condition.reason, condition.message);
        Step { stage, ok: !is_bad && !is_old, message, hint: None }
    };
    subject.conditions.iter().map(step).collect()
}

/// What is wrong with an import that nobody wrote rules for.
fn problems(import: &Import) -> Vec<String> {
    if import.age.is_some() {
        return Vec::new();
    }
    let all = import.problems.iter().chain(&import.export_problems);
    let errors = all.filter(|problem| problem.severity == Severity::Error);
    errors.map(|Problem { reason, message, .. }| format!("{message} ({reason})")).collect()
}
