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
    /// The tiers here, with their ports.
    pub tiers: &'p [(&'p str, u16)],
}

impl Provenance<'_> {
    /// Whether a rule is the import's: it takes what is steered to one of its targets, and nothing else, and in the
    /// namespace of tiers it leads to Services of the import only. A tier's share for this cluster goes to the Service of
    /// the import's own name, or to the one whose host the rule gives requests.
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
            && self.destinations(rule, value).into_iter().any(is_made)
    }

    /// The ports of the tier that a rule may have been made for; none of no tier. Where all other clusters have withdrawn, it
    /// leads to this cluster's own share only, and may be for any; where they have come since, it leads to them over the tier
    /// that the value names, and may be for none. No port at all: it has no backend, or backends that are not one destination.
    fn destinations(&self, rule: &Value, value: &str) -> Vec<Option<u16>> {
        let other = rewritten_host(rule).and_then(service_of);
        let is_own_share = |backend: &&Value| {
            let own = self.name.split_once('.').map_or((self.namespace, self.name), |(name, of)| (of, name));
            let services = [own].into_iter().chain(other);
            services.into_iter().any(|(namespace, name)| backend["namespace"] == namespace && backend["name"] == name)
        };
        let mut remote = backends_of(rule).filter(|backend| !is_own_share(backend)).map(tier_port);
        match remote.next() {
            Some(destination) if remote.all(|backend| backend == destination) => {
                let is_named = |&&(name, port): &&(&str, u16)| tier_of(value) == name && destination == Some(port);
                let named = self.tiers.iter().find(is_named);
                // Copies may be to the same port: then nobody could tell them from the destination.
                let alone = named.filter(|_| mirrors_of(rule).all(|copy| tier_port(copy).is_none())).map(|_| None);
                [destination].into_iter().chain(alone).collect()
            }
            Some(_) => Vec::new(),
            None if backends_of(rule).next().is_none() => Vec::new(),
            None => self.tiers.iter().map(|(_, port)| Some(*port)).chain([None]).collect(),
        }
    }
}

/// The tier that a steering value names, if it names one: `TIER.DIGEST`, or `import.NAME.TIER.DIGEST`, with a cluster or a hash
/// behind the tier.
fn tier_of(value: &str) -> &str {
    let target = value.rsplit_once('.').map_or(value, |(target, _)| target);
    let named = target.split(['@', '~']).next().unwrap_or_default();
    let of_import = named.strip_prefix("import.").and_then(|rest| rest.rsplit_once('.'));
    of_import.map_or(named, |(_, tier)| tier)
}

/// The host that a rule gives requests.
fn rewritten_host(rule: &Value) -> Option<&str> {
    let mut filters = rule.get("filters")?.as_array()?.iter();
    filters.find_map(|filter| filter.pointer("/urlRewrite/hostname")?.as_str())
}

/// The namespace and name of the service that a host is of.
fn service_of(host: &str) -> Option<(&str, &str)> {
    let (name, rest) = host.split_once('.')?;
    let (namespace, _) = rest.split_once('.')?;
    (mcwan_policy::canonical_host(namespace, name) == host).then_some((namespace, name))
}

/// The port of a reference into the namespace of tiers.
fn tier_port(reference: &Value) -> Option<u16> {
    let port = reference["port"].as_u64().filter(|_| is_to_tier(reference))?;
    u16::try_from(port).ok()
}
