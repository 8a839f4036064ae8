//! What one who takes over finds in the live routes of an import.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_policy::STEERING_HEADER;
use serde_json::Value;

use crate::api::TIER_NAMESPACE;

use super::names;

/// The number of the `HTTPRoute` for a port that the rule for a steering value stands in.
pub type Places = BTreeMap<(u16, String), usize>;

/// Rules of the live `HTTPRoute`s of an import, and the tier services that they lead to: gateways may have a filter that
/// steers there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovered {
    /// The rules.
    pub rules: Vec<RecoveredRule>,
    /// The import's own tier services that are there.
    pub services: BTreeSet<String>,
    /// The slices behind these.
    pub slices: BTreeSet<String>,
}

/// A rule of a live `HTTPRoute`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveredRule {
    /// The port that it is for.
    pub port: u16,
    /// What the steering header must be.
    pub value: String,
    /// The rule.
    pub body: Value,
}

impl Recovered {
    /// Takes in the rules of a live `HTTPRoute` of an import, as far as `is_own` says that the import made them. What
    /// others wrote there may lead anywhere.
    pub fn read(&mut self, import: &str, route: &Value, places: &mut Places, is_own: impl Fn(&Value) -> bool) {
        let name = route.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let Some((port, number)) = names::import_route_place(name, import) else { return };
        let rules = route.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
        for body in rules.filter(|rule| is_own(rule)) {
            if let Some(value) = steering_value_of(body) {
                places.entry((port, value.to_owned())).or_insert(number);
                self.rules.push(RecoveredRule { port, value: value.to_owned(), body: body.clone() });
            }
        }
    }

    /// Whether others have each of these rules, and with it all tier services that it leads to.
    pub fn is_within(&self, others: &Self) -> bool {
        let is_there = |rule: &RecoveredRule| {
            let same = |other: &&RecoveredRule| (other.port, &other.value) == (rule.port, &rule.value);
            let services: BTreeSet<_> =
                others.rules.iter().filter(same).flat_map(|other| tier_services_of(&other.body)).collect();
            others.rules.iter().any(|other| same(&other))
                && tier_services_of(&rule.body).all(|name| services.contains(name))
        };
        self.rules.iter().all(is_there)
    }
}

/// What the steering header must be for a rule of an `HTTPRoute` of ours.
pub fn steering_value_of(rule: &Value) -> Option<&str> {
    let headers = rule.pointer("/matches/0/headers")?.as_array()?;
    let header = headers.iter().find(|header| header["name"] == STEERING_HEADER)?;
    header["value"].as_str()
}

/// The Services in the namespace of tiers that a rule sends requests to, copies included.
pub fn tier_services_of(rule: &Value) -> impl Iterator<Item = &str> {
    let all = backends_of(rule).chain(mirrors_of(rule));
    all.filter(|reference| is_to_tier(reference)).filter_map(|reference| reference["name"].as_str())
}

/// What a rule sends requests to.
pub(super) fn backends_of(rule: &Value) -> impl Iterator<Item = &Value> {
    rule.get("backendRefs").and_then(Value::as_array).into_iter().flatten()
}

/// What a rule sends copies to, of all requests and of those to one of its backends.
pub(super) fn mirrors_of(rule: &Value) -> impl Iterator<Item = &Value> {
    let lists = std::iter::once(rule).chain(backends_of(rule)).filter_map(|holder| holder.get("filters")?.as_array());
    lists.flatten().filter_map(|filter| filter.pointer("/requestMirror/backendRef"))
}

/// Whether a reference leads into the namespace of tiers.
pub(super) fn is_to_tier(reference: &Value) -> bool {
    reference["namespace"] == TIER_NAMESPACE
}
