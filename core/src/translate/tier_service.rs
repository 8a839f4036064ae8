//! The names of tier services: `NAME-NAMESPACE-TIER`, as the user writes them in a backendRef.

use mcwan_policy::limits;

use super::target::hashed;
use super::{Exports, Source, Tier};
use crate::snapshot::{Key, viewed};

/// backendRefs of one rule (Gateway API, `HTTPRouteRule`).
pub(crate) const RULE_BACKENDS: usize = 16;

/// Hexadecimal digits of the hash that keeps a name apart, in a namespace that tenants share: 80 bits, so that nobody
/// finds a name of his own that another's hashes to.
const HASH_DIGITS: usize = 20;
/// The same in names that rules may still have from before.
const FORMER_HASH_DIGITS: usize = 8;

/// The name of the tier service of a service over a tier. Where the joined name is too long, or an export that is
/// older joins to the same, it ends in a hash.
pub(super) fn name(exports: &Exports, namespace: &str, name: &str, tier: &str) -> String {
    let joined = join(namespace, name, tier);
    let is_taken = || {
        let own = age(exports, namespace, name);
        let mut others =
            alike(exports, &joined).filter(|(namespace, name)| exports.first_exported(namespace, name).is_some());
        others.any(|(namespace, name)| age(exports, namespace, name) < own)
    };
    if joined.len() <= limits::LABEL_BYTES && !is_taken() {
        return joined;
    }
    with_hash(namespace, name, tier, HASH_DIGITS)
}

fn with_hash(namespace: &str, name: &str, tier: &str, digits: usize) -> String {
    hashed(&join(namespace, name, tier), &format!("{namespace}/{name}/{tier}"), digits)
}

/// The name of the tier service of a service over a tier that rules of another import lead to: nobody writes it.
pub(super) fn other(import: &Key, other: &Key, tier: &str) -> String {
    let parts = [&*import.namespace, &*import.name, &*other.namespace, &*other.name, tier];
    let front = import.name.replace('.', "-");
    let front = if viewed(import) == *other { front } else { format!("{front}-{}", other.name) };
    hashed(&format!("{front}-{tier}"), &parts.join("/"), HASH_DIGITS)
}

impl Tier {
    /// Whether each other cluster has a tier service of its own: where there are several, but no more than a route can name.
    pub(crate) fn has_one_each(&self) -> bool {
        self.remote().nth(1).is_some() && self.sources.len() <= RULE_BACKENDS
    }
}

/// The name of the tier service of an import that leads to one other cluster.
pub(crate) fn source_service(import: &Key, tier: &Tier, source: &Source) -> String {
    let Tier { import: of, name, service, .. } = tier;
    let cluster = &*source.cluster;
    if !tier.has_one_each() {
        return service.clone();
    }
    if of == import {
        label(&[&of.name, &of.namespace, name, cluster])
    } else {
        // The name of the tier service is nobody else's.
        label(&[service, cluster])
    }
}

/// A label made of parts that are nobody else's together.
fn label(parts: &[&str]) -> String {
    hashed(&parts.join("-"), &parts.join("/"), HASH_DIGITS)
}

/// Whether a rule means this tier service by what it says. A name with its hash is nobody else's, whoever has the joined one.
pub(super) fn is_named(exports: &Exports, namespace: &str, name: &str, tier: &str, said: &str) -> bool {
    let is_hashed = |digits: &usize| with_hash(namespace, name, tier, *digits) == said;
    [HASH_DIGITS, FORMER_HASH_DIGITS].iter().any(is_hashed) || self::name(exports, namespace, name, tier) == said
}

/// The service of a namespace, and the tier, whose tier service a name is.
pub(super) fn find<'e>(exports: &'e Exports, namespace: &str, said: &str) -> Option<(Key, &'e str)> {
    let service = |tier: &str| said.strip_suffix(tier)?.strip_suffix('-')?.strip_suffix(namespace)?.strip_suffix('-');
    let joined = exports.tiers().filter_map(|tier| Some((Key::new(namespace, service(tier)?), tier)));
    // A hash leaves no more than the front of the joined names.
    let front = said.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map(|(front, _)| front);
    let alike = front.into_iter().flat_map(|front| {
        let all = exports.services_of(namespace);
        all.filter(move |service| service.name.starts_with(front) || front.starts_with(&*service.name))
    });
    let hashed = alike.flat_map(|service| exports.tiers().map(move |tier| (service.clone(), tier)));
    joined.chain(hashed).find(|(service, tier)| {
        exports.first_exported(namespace, &service.name).is_some()
            && is_named(exports, namespace, &service.name, tier, said)
    })
}

fn is_hash(text: &str) -> bool {
    [HASH_DIGITS, FORMER_HASH_DIGITS].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Namespace and name of the services, there or not, whose tier services could have one of these names.
pub(super) fn rivals(exports: &Exports, namespace: &str, name: &str) -> Vec<(String, String)> {
    let mut rivals = Vec::new();
    for tier in exports.tiers() {
        let joined = join(namespace, name, tier);
        let others = alike(exports, &joined).filter(|other| *other != (namespace, name));
        rivals.extend(others.map(|(namespace, name)| (namespace.to_owned(), name.to_owned())));
    }
    rivals
}

/// The services, there or not, that join to a name with one of the tiers.
fn alike<'a>(exports: &'a Exports, joined: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let fronts = exports.tiers().filter_map(|tier| joined.strip_suffix(tier)?.strip_suffix('-'));
    fronts.flat_map(|front| {
        front.match_indices('-').filter_map(|(dash, _)| Some((front.get(dash + 1..)?, front.get(..dash)?)))
    })
}

/// Orders services whose names join to the same: a total order.
fn age<'a>(exports: &'a Exports, namespace: &'a str, name: &'a str) -> impl PartialOrd + use<'a> {
    let first = exports.first_exported(namespace, name);
    (first.is_none(), first, namespace, name)
}

fn join(namespace: &str, name: &str, tier: &str) -> String {
    format!("{name}-{namespace}-{tier}")
}

#[cfg(test)]
mod tests {
    use mcwan_policy::is_label;

    use super::*;

    #[test]
    fn the_name_of_one_clusters_tier_service_cannot_be_forced() {
        for part in ["a", &"n".repeat(63)] {
            let name = label(&[part; 4]);
            assert!(is_label(&name), "{name}");
            let hash = name.rsplit('-').next().unwrap_or_default();
            assert!(hash.len() * 4 >= 80, "{name} ends in 80 bits of hash or more");
        }
        assert_ne!(label(&["a-b", "c", "t", "x"]), label(&["a", "b-c", "t", "x"]), "parts that join to the same");
    }
}
