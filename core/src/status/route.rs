//! What users' routes are told of the imports that they have as parents (Gateway API, `RouteParentStatus`).
//!
//! `status.parents` is one list for all controllers, and whoever applies it replaces it whole: it is read, changed and
//! written, and refused where somebody else was faster. Others' entries stay as they are.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use super::condition::{ACCEPTED, News, NewsType, PARTIALLY_INVALID, PROGRAMMED, RESOLVED_REFS, Saying, Subject};
use super::{Delivery, StatusKind, StatusPatch, message};
use crate::api::{CONTROLLER, Route, is_ours};
use crate::json::put_at;
use crate::problem::{Effect, Problem, Reason};
use crate::snapshot::{Key, RouteRef};
use crate::translate::Import;

const OURS: [&str; 4] = [ACCEPTED, PARTIALLY_INVALID, RESOLVED_REFS, PROGRAMMED];
/// Entries of `status.parents` (Gateway API, `RouteStatus`).
const ENTRIES: usize = 32;

/// An import that a route has as its parent.
#[derive(Debug)]
pub struct RouteParent<'i> {
    /// The import.
    pub import: &'i Import,
    /// What was found wrong when its objects were made.
    pub emitted: Vec<&'i Problem>,
    /// How far it is.
    pub delivery: Delivery,
}

/// What changes in what a route is told. `parent` gives an import that it has as its parent; none where there is no such
/// import. Of a Service that is neither imported nor exported here it is told nothing, unless it names a tier: others may
/// know the Service.
pub fn route<'i>(
    route: &Route,
    parent: impl Fn(&Key) -> Option<RouteParent<'i>>,
    is_exported: impl Fn(&Key) -> bool,
    now: &Time,
) -> Option<StatusPatch> {
    let namespace = route.metadata.namespace.as_deref().unwrap_or_default();
    // Entries of ours keep their places; those of parents that went leave theirs.
    let mut told: Vec<_> = route.told.iter().map(|entry| (!is_ours(entry)).then(|| entry.clone())).collect();
    let mut added = Vec::new();
    let mut news = Vec::new();
    for (index, named) in route.parents.iter().enumerate() {
        let Some((namespace, name)) = named.import(namespace) else { continue };
        let key = Key::new(namespace, name);
        let parent = parent(&key);
        if parent.is_none() && named.is_service() && !route.names_tier() && !is_exported(&key) {
            continue;
        }
        let place =
            route.told.iter().position(|entry| is_ours(entry) && entry.get("parentRef") == Some(&named.written));
        let before = route.conditions_of(named);
        let mut sayings = sayings(route, index, &key, parent);
        if route.has_hostnames()
            && let Some(accepted) = sayings.first_mut()
        {
            accepted.message.push_str("; `hostnames` are not looked at");
        }
        let subject = Subject { metadata: &route.metadata, conditions: &before };
        let (said, _) = subject.said(StatusKind::Route(route.kind), &OURS, sayings, now);
        news.extend(said.news);
        let mut all = said.body.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_others = |condition: &&Condition| !OURS.contains(&&*condition.type_);
        all.extend(before.iter().filter(is_others).map(|condition| json!(condition)));
        let entry = json!({"parentRef": named.written, "controllerName": CONTROLLER, "conditions": all});
        match place.and_then(|place| told.get_mut(place)) {
            Some(place) => *place = Some(entry),
            None => added.push(entry),
        }
    }
    let mut told: Vec<_> = told.into_iter().flatten().collect();
    let room = ENTRIES.saturating_sub(told.len());
    let left_out = added.len() > room;
    told.extend(added.into_iter().take(room));
    let is_same = told == route.told;
    if is_same && !left_out {
        return None;
    }
    if left_out {
        let message = format!("status.parents has {ENTRIES} entries: there is no room for what mcwan has to say");
        news.push(News { news_type: NewsType::Warning, reason: Reason::TooLarge, message });
    }
    let subject = Subject { metadata: &route.metadata, conditions: &[] };
    let (mut patch, _) = subject.said(StatusKind::Route(route.kind), &[], Vec::new(), now);
    put_at(&mut patch.body, &["metadata", "resourceVersion"], route.metadata.resource_version.clone());
    put_at(&mut patch.body, &["status"], json!({"parents": told}));
    if is_same {
        // There is nothing to write, but something to say.
        patch.body = Value::Null;
    }
    Some(StatusPatch { news, ..patch })
}

/// What is said of one parent of a route.
fn sayings(route: &Route, index: usize, key: &Key, parent: Option<RouteParent<'_>>) -> Vec<Saying> {
    let refused =
        |reason, message: &str| vec![Saying::new(ACCEPTED, false, reason, message::joined([message.to_owned()]))];
    let Some(RouteParent { import, emitted, delivery }) = parent else {
        let message =
            format!("nothing is imported as {key}: no cluster exports it, or namespace {} is not here", key.namespace);
        return refused(Reason::NoMatchingParent, &message);
    };
    let own = RouteRef::of(route);
    let attachment = import.attachments.iter().find(|attached| attached.route == own && attached.parent == index);
    let lost = match attachment.map(|attached| &attached.verdict) {
        Some(Ok(lost)) => lost,
        Some(Err((reason, message))) => return refused(*reason, message),
        None => return refused(Reason::Pending, "it is about to be looked at"),
    };
    let object = route.object();
    let of = |effect| {
        let all = import.problems.iter().chain(emitted.iter().copied());
        let own = all.filter(|problem| problem.object == object);
        own.filter(move |problem| problem.reason.effect() == effect).collect::<Vec<_>>()
    };
    let told = |list: &[&Problem]| message::of_problems(list.iter().copied(), &object);
    let mut sayings = Vec::new();
    let refusals = of(Effect::Refused);
    let is_accepted = refusals.is_empty();
    sayings.push(if is_accepted {
        let ports = lost.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        let lost = if lost.is_empty() { String::new() } else { format!("; on {ports} those of GRPCRoutes do") };
        Saying::new(ACCEPTED, true, Reason::Accepted, format!("its rules hold for {key}{lost}"))
    } else {
        Saying::new(ACCEPTED, false, Reason::UnsupportedValue, told(&refusals))
    });
    let partial = of(Effect::Partial);
    if is_accepted && !partial.is_empty() {
        sayings.push(Saying::new(PARTIALLY_INVALID, true, Reason::UnsupportedValue, told(&partial)));
    }
    let unresolved = of(Effect::Unresolved);
    sayings.push(match unresolved.iter().min_by_key(|problem| problem.reason) {
        Some(first) => Saying::new(RESOLVED_REFS, false, first.reason, told(&unresolved)),
        None => Saying::new(RESOLVED_REFS, true, Reason::ResolvedRefs, "everything that the rules name is there"),
    });
    // What cannot be read of another route spoils the import for all of them, and so does what its gateway has no room for.
    let of_import = emitted.iter().copied().filter(|problem| problem.object == import.object);
    let mut all = import.problems.iter().chain(of_import);
    sayings.push(delivery.programmed(!all.any(|problem| problem.reason.effect() == Effect::Refused)));
    sayings
}

#[cfg(test)]
mod tests;
