//! The conditions of a `ServiceImport`.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::condition::{ACCEPTED, PARTIALLY_INVALID, PROGRAMMED, RESOLVED_REFS, STALE, Saying, Subject};
use super::{Delivery, StatusKind, StatusPatch, message};
use crate::liveness::{Liveness, RegistryState};
use crate::problem::{Effect, ObjectRef, Problem, Reason};
use crate::translate::{Exports, Import, Origin, Source};

const OURS: [&str; 5] = [ACCEPTED, PARTIALLY_INVALID, RESOLVED_REFS, PROGRAMMED, STALE];

/// What changes in the status of a `ServiceImport`. `emitted` are the problems that were found when its objects were
/// made, of other imports as well.
pub fn service_import<'p>(
    subject: Subject<'_>,
    import: &'p Import,
    exports: &'p Exports,
    emitted: impl IntoIterator<Item = &'p Problem>,
    delivery: &Delivery,
    now: &Time,
) -> Option<StatusPatch> {
    let mut problems = problems(import, exports, emitted);
    problems.sort_by_key(|problem| problem.reason);
    let mut sayings = sayings(import, &problems, delivery);
    sayings.extend(stale(import, exports, delivery));
    subject.patch(StatusKind::ServiceImport, &OURS, sayings, now)
}

/// What is wrong with an import and with what it refers to.
fn problems<'p>(
    import: &'p Import,
    exports: &'p Exports,
    emitted: impl IntoIterator<Item = &'p Problem>,
) -> Vec<&'p Problem> {
    let sources: BTreeSet<_> =
        exports.sources(&import.wire.namespace, &import.wire.name).map(|source| source.cluster.as_str()).collect();
    let of_cluster =
        |problem: &&Problem| problem.object.kind == "WANCluster" && sources.contains(problem.object.name.as_str());
    let objects: BTreeSet<&ObjectRef> =
        import.rules.iter().map(|origin| &*origin.object).chain([&import.object]).collect();
    let of_import = |problem: &&Problem| objects.contains(&problem.object);
    let suffix = format!(".{}.{}", import.wire.namespace, import.wire.name);
    let of_export =
        |problem: &&Problem| problem.object.kind == "ExportedService" && problem.object.name.ends_with(&suffix);
    let mut problems: Vec<&Problem> = import.problems.iter().chain(&import.export_problems).collect();
    problems.extend(exports.problems().iter().filter(of_cluster));
    for problem in emitted.into_iter().filter(|problem| of_import(problem) || of_export(problem)) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

fn sayings(import: &Import, problems: &[&Problem], delivery: &Delivery) -> Vec<Saying> {
    let of = |effect| problems.iter().copied().filter(move |problem| problem.reason.effect() == effect);
    let told = |list: &[&Problem]| message::of_problems(list.iter().copied(), &import.object);
    let bad = |condition, status, list: &[&Problem]| {
        let reason = list.first().map_or(Reason::Invalid, |problem| problem.reason);
        Saying::new(condition, status, reason, told(list))
    };
    let partial: Vec<_> = of(Effect::Partial).collect();
    let mut refused: Vec<_> = of(Effect::Refused).collect();
    if nothing_is_left(import, &partial) {
        refused.extend(&partial);
    }
    let accepted = refused.is_empty();
    let mut sayings = Vec::new();
    if accepted {
        let harmless: Vec<_> = of(Effect::Harmless).collect();
        let message = if harmless.is_empty() { "the rules are sound".to_owned() } else { told(&harmless) };
        sayings.push(Saying::new(ACCEPTED, true, Reason::Accepted, message));
        if !partial.is_empty() {
            sayings.push(bad(PARTIALLY_INVALID, true, &partial));
        }
    } else {
        sayings.push(bad(ACCEPTED, false, &refused));
    }
    let unresolved: Vec<_> = of(Effect::Unresolved).collect();
    if unresolved.is_empty() {
        let message = "everything that the rules name is there";
        sayings.push(Saying::new(RESOLVED_REFS, true, Reason::ResolvedRefs, message));
    } else {
        sayings.push(bad(RESOLVED_REFS, false, &unresolved));
    }
    sayings.push(delivery.programmed(accepted));
    sayings
}

/// What is known of the import's sources and may be out of date.
fn stale(import: &Import, exports: &Exports, delivery: &Delivery) -> Option<Saying> {
    if let RegistryState::Unreachable(why) = &delivery.registry {
        let message = format!("what came from the registry stays as it was; {why}");
        return Some(Saying::new(STALE, true, Reason::RegistryUnreachable, message::joined([message])));
    }
    let (namespace, name) = (&import.wire.namespace, &import.wire.name);
    let is_stale = |source: &&Source| source.liveness == Liveness::Stale;
    let stale: Vec<_> =
        exports.sources(namespace, name).filter(is_stale).map(|source| source.cluster.clone()).collect();
    if stale.is_empty() {
        return None;
    }
    let is_all = exports.sources(namespace, name).all(|source| is_stale(&source));
    let consequence = if is_all {
        "no other cluster has the service, so requests still go there"
    } else {
        "requests go there only where no other cluster can take them"
    };
    let message =
        message::joined([format!("not seen to renew the Lease: {}", stale.join(", ")), consequence.to_owned()]);
    Some(Saying::new(STALE, true, Reason::ClusterStale, message))
}

/// Whether problems that are partial by themselves leave no rule or no host.
fn nothing_is_left(import: &Import, partial: &[&Problem]) -> bool {
    let is_refused = |origin: &Origin| partial.iter().any(|problem| origin.has(problem));
    let taken = partial.iter().filter(|problem| problem.reason == Reason::HostConflict).count();
    let own = mcwan_policy::standard_hosts(&import.wire.namespace, &import.wire.name);
    let hosts: BTreeSet<_> = own.iter().chain(&import.wire.hostnames).collect();
    (!import.rules.is_empty() && import.rules.iter().all(is_refused)) || taken >= hosts.len()
}

#[cfg(test)]
mod tests;
