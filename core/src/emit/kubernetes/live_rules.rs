//! What the live routes of an import say.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_policy::{PORT_HEADER, STEERING_HEADER};
use serde_json::Value;

use super::names;
use crate::api::TIER_NAMESPACE;

/// More `HTTPRoute`s than an import has for one port.
const MOST_ROUTES: usize = 4_096;

/// Rules of the live `HTTPRoute`s of an import whose requests the filter steers.
#[derive(Clone, Debug, Default)]
pub struct LiveRules {
    retained: Vec<Value>,
    /// The name of the `HTTPRoute` that each stands in, by its port and steering value.
    routes: BTreeMap<(u16, String), String>,
    /// The Services that they lead to in the namespace of tiers.
    services: BTreeSet<String>,
    /// The import's own tier services.
    own: BTreeSet<String>,
}

impl LiveRules {
    /// Adds a rule of the `HTTPRoute` with this name.
    pub fn stands(&mut self, route: &str, rule: &Value) {
        self.services.extend(tier_services_of(rule).map(str::to_owned));
        if let (Some(port), Some(value)) = (port_of(rule), steering_value_of(rule)) {
            self.routes.entry((port, value.to_owned())).or_insert_with(|| route.to_owned());
        }
    }

    /// Lets a rule stay, whose target the import has no more, but that gateways may still steer to.
    pub fn retain(&mut self, rule: Value) {
        self.services.extend(tier_services_of(&rule).map(str::to_owned));
        self.retained.push(rule);
    }

    /// These tier services are the import's own: of those that live rules lead to, only they are granted.
    pub fn owns(&mut self, services: BTreeSet<String>) {
        self.own.extend(services);
    }

    /// The rules that stay.
    pub fn retained(&self) -> &[Value] {
        &self.retained
    }

    /// The import's own tier services that live rules lead to, be they to stay or to change.
    pub(super) fn services(&self) -> impl Iterator<Item = &str> {
        self.services.intersection(&self.own).map(String::as_str)
    }

    /// The number of the `HTTPRoute` for a port that each steering value stands in.
    pub(super) fn places(&self, import: &str, port: u16) -> BTreeMap<&str, usize> {
        let here = self.routes.iter().filter(|((known, _), _)| *known == port);
        let here: Vec<_> = here.map(|((_, value), route)| (value.as_str(), route)).collect();
        let mut unknown: BTreeSet<_> = here.iter().map(|(_, route)| route.as_str()).collect();
        let mut numbers = BTreeMap::new();
        for number in 0..MOST_ROUTES {
            if unknown.is_empty() {
                break;
            }
            let name = names::import_route(import, port, number);
            if unknown.remove(name.as_str()) {
                numbers.insert(name, number);
            }
        }
        here.into_iter().filter_map(|(value, route)| Some((value, *numbers.get(route)?))).collect()
    }
}

/// What the steering header must be for a rule of an `HTTPRoute` of ours.
pub fn steering_value_of(rule: &Value) -> Option<&str> {
    let headers = rule.pointer("/matches/0/headers")?.as_array()?;
    let header = headers.iter().find(|header| header["name"] == STEERING_HEADER)?;
    header["value"].as_str()
}

/// The port that a rule of ours tells the far gateway; none: it sends nothing there.
pub(super) fn port_of(rule: &Value) -> Option<u16> {
    let filters = rule.pointer("/backendRefs/0/filters")?.as_array()?;
    let set = filters.iter().filter_map(|filter| filter.pointer("/requestHeaderModifier/set")?.as_array()).flatten();
    set.filter(|header| header["name"] == PORT_HEADER).find_map(|header| header["value"].as_str()?.parse().ok())
}

/// The Services in the namespace of tiers that a rule of an `HTTPRoute` sends requests to, copies included.
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
