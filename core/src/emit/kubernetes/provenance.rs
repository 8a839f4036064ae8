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
        let Self { namespace, name, steering_key, services } = self;
        let Some(value) = steering_value_of(rule) else { return false };
        let Some(ports) = self.tier_ports(rule) else { return false };
        rule.get("matches") == Some(&route::steered_to(value))
            && tier_services_of(rule).all(|service| services.contains(service))
            && steering_key.made(value, namespace, name, ports.into_iter())
    }

    /// The ports of the tiers that a rule leads to: that of its destination, then those of its mirrors. None if it has no
    /// backend, or backends that are not one destination.
    fn tier_ports(&self, rule: &Value) -> Option<Vec<u16>> {
        backends_of(rule).next()?;
        let is_own_share = |backend: &&Value| backend["namespace"] == self.namespace && backend["name"] == self.name;
        let mut remote = backends_of(rule).filter(|backend| !is_own_share(backend)).map(tier_port);
        let destination = remote.next().flatten();
        if !remote.all(|backend| backend == destination) {
            return None;
        }
        Some(destination.into_iter().chain(mirrors_of(rule).filter_map(tier_port)).collect())
    }
}

/// The port of a reference into the namespace of tiers.
fn tier_port(reference: &Value) -> Option<u16> {
    let port = reference["port"].as_u64().filter(|_| is_to_tier(reference))?;
    u16::try_from(port).ok()
}
