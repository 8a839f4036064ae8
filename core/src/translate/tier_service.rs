//! The names of tier services: `NAME-NAMESPACE-TIER`, as the user writes them in a backendRef.

use mcwan_policy::limits;

use super::Exports;
use super::target::hashed;
use crate::snapshot::{Key, viewed};

/// Hexadecimal digits of the hash that keeps a name apart, in a namespace that tenants share: 80 bits, so that nobody
/// finds a name of his own that another's hashes to.
const HASH_DIGITS: usize = 20;
/// The same in names that rules may still have from before.
const FORMER_HASH_DIGITS: usize = 8;

/// The name of the tier service of a service over a tier. Where the joined name is too long, or an export that is
/// older joins to the same, it ends in a hash.
pub(super) fn name(exports: &Exports, namespace: &str, name: &str, tier: &str) -> String {
    named(exports, namespace, name, tier, HASH_DIGITS)
}

/// The name of the tier service of a service over a tier that rules of another import lead to: nobody writes it.
pub(super) fn other(import: &Key, other: &Key, tier: &str) -> String {
    let parts = [&*import.namespace, &*import.name, &*other.namespace, &*other.name, tier];
    let front = import.name.replace('.', "-");
    let front = if viewed(import) == *other { front } else { format!("{front}-{}", other.name) };
    hashed(&format!("{front}-{tier}"), &parts.join("/"), HASH_DIGITS)
}

/// Whether a rule means this tier service by what it says.
pub(super) fn is_named(exports: &Exports, namespace: &str, name: &str, tier: &str, said: &str) -> bool {
    [HASH_DIGITS, FORMER_HASH_DIGITS].iter().any(|digits| named(exports, namespace, name, tier, *digits) == said)
}

fn named(exports: &Exports, namespace: &str, name: &str, tier: &str, digits: usize) -> String {
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
    hashed(&joined, &format!("{namespace}/{name}/{tier}"), digits)
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
