//! Which rules of live routes mcwan itself made.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::translate::SteeringKey;

use super::recovered::{backends_of, is_to_tier, mirrors_of, steering_value_of, tier_services_of};
use super::route;

/// What tells the rules that an import has, or had, from what others wrote into its live routes.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'p> {
    /// The import's namespace.
    pub namespace: &'p str,
    /// Its name.
    pub name: &'p str,
    /// The key of its steering values.
    pub steering_key: &'p SteeringKey,
    /// Its tier services.
    pub services: &'p BTreeSet<String>,
    /// The ports of all tiers.
    pub tier_ports: &'p [u16],
}

impl Provenance<'_> {
    /// Whether a rule is the import's: it takes what is steered to one of its targets, and nothing else, and in the
    /// namespace of tiers it leads to Services of the import only. A tier's share for this cluster goes to the Service of
    /// the import's own name.
    ///
    /// The digest of a steering value is over the target's name and the ports of its tiers, which the rule names. What
    /// else the rule does is in the target's name as a hash of what users asked for, which a rule does not tell: changes
    /// to headers, for example, are not checked. Services of other namespaces are for their owners to admit.
    pub fn is_own(&self, rule: &Value) -> bool {
        let Self { namespace, name, steering_key, services, .. } = self;
        let Some(value) = steering_value_of(rule) else { return false };
        let copied: Vec<_> = mirrors_of(rule).filter_map(tier_port).collect();
        let is_made = |destination: Option<u16>| {
            steering_key.made(value, namespace, name, destination.into_iter().chain(copied.iter().copied()))
        };
        rule.get("matches") == Some(&route::steered_to(value))
            && tier_services_of(rule).all(|service| services.contains(service))
            && self.destinations(rule).into_iter().any(is_made)
    }

    /// The ports of the tier that a rule may have been made for; none of no tier. Where all other clusters have withdrawn, it
    /// leads to this cluster's own share only, and may be for any. No port at all: it has no backend, or backends that are not
    /// one destination.
    fn destinations(&self, rule: &Value) -> Vec<Option<u16>> {
        let is_own_share = |backend: &&Value| backend["namespace"] == self.namespace && backend["name"] == self.name;
        let mut remote = backends_of(rule).filter(|backend| !is_own_share(backend)).map(tier_port);
        match remote.next() {
            Some(destination) if remote.all(|backend| backend == destination) => vec![destination],
            Some(_) => Vec::new(),
            None if backends_of(rule).next().is_none() => Vec::new(),
            None => self.tier_ports.iter().copied().map(Some).chain([None]).collect(),
        }
    }
}

/// The port of a reference into the namespace of tiers.
fn tier_port(reference: &Value) -> Option<u16> {
    let port = reference["port"].as_u64().filter(|_| is_to_tier(reference))?;
    u16::try_from(port).ok()
}
