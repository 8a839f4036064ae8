//! What of the registry is taken for granted, and what is not: its members are as many administrators.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use mcwan_policy::is_label;

use crate::snapshot::{Key, Snapshot};

/// The Service of a cluster's API servers, in this namespace.
const API_SERVER: (&str, &str) = ("default", "kubernetes");

/// What this cluster takes from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Where their exports are imported.
    pub import_namespaces: NamespaceRule,
    /// Addresses that are no gateway's: those of API servers, beside the ones that the cluster names itself.
    pub refused_addresses: BTreeSet<IpAddr>,
    /// For how long the egress gateways of a cluster that is stale are admitted; none: for as long as it is registered.
    pub stale_gateways: Option<Duration>,
}

/// Namespaces: those of one list that are not of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceRule {
    /// These.
    pub allowed: NamespaceList,
    /// But for these.
    pub denied: NamespaceList,
}

/// Patterns with commas between them, perhaps none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceList(Vec<NamespacePattern>);

/// A namespace, or all whose names begin as the pattern does: `kube-*`, `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePattern(Box<str>);

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no namespace: want a DNS label, or the beginning of one and `*`")]
pub struct NamespacePatternError(String);

/// Everywhere but in Kubernetes' own namespaces: who answers there by a name that the cluster itself uses, could ask its
/// components for anything.
impl Default for NamespaceRule {
    fn default() -> Self {
        let [all, own] = ["*", "kube-*"].map(|pattern| NamespaceList(vec![NamespacePattern(pattern.into())]));
        Self { allowed: all, denied: own }
    }
}

impl NamespaceRule {
    /// Whether it has a namespace.
    pub fn admits(&self, namespace: &str) -> bool {
        self.allowed.has(namespace) && !self.denied.has(namespace)
    }
}

impl NamespaceList {
    fn has(&self, namespace: &str) -> bool {
        self.0.iter().any(|pattern| pattern.holds(namespace))
    }
}

impl FromStr for NamespaceList {
    type Err = NamespacePatternError;

    fn from_str(text: &str) -> Result<Self, NamespacePatternError> {
        let patterns = text.split(',').filter(|pattern| !pattern.is_empty()).map(str::parse);
        patterns.collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for NamespaceList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&patterns.join(","))
    }
}

impl NamespacePattern {
    fn holds(&self, namespace: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => namespace.starts_with(start),
            None => namespace == &*self.0,
        }
    }
}

impl FromStr for NamespacePattern {
    type Err = NamespacePatternError;

    fn from_str(text: &str) -> Result<Self, NamespacePatternError> {
        let is_start = |start: &str| start.is_empty() || is_label(&format!("{start}x"));
        if text.strip_suffix('*').map_or_else(|| is_label(text), is_start) {
            Ok(Self(text.into()))
        } else {
            Err(NamespacePatternError(text.to_owned()))
        }
    }
}

impl fmt::Display for NamespacePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether these are the API servers.
pub(super) fn is_api_server(service: &Key) -> bool {
    (&*service.namespace, &*service.name) == API_SERVER
}

/// The addresses of this cluster's own API servers, as it tells its pods.
pub(super) fn api_servers(snapshot: &Snapshot) -> BTreeSet<IpAddr> {
    let (namespace, name) = API_SERVER;
    let slices = snapshot.endpoint_slices_of(namespace, name);
    let endpoints = slices.flat_map(|slice| &slice.endpoints).flatten().flat_map(|endpoint| &endpoint.addresses);
    let service = snapshot.services.get(namespace, name).and_then(|service| service.spec.as_ref());
    let own = service.and_then(|spec| spec.cluster_ips.as_ref()).into_iter().flatten();
    endpoints.chain(own).filter_map(|address| address.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_rule(allowed: &str, denied: &str) -> NamespaceRule {
        NamespaceRule { allowed: allowed.parse().unwrap(), denied: denied.parse().unwrap() }
    }

    #[test]
    fn a_namespace_must_be_allowed_and_not_denied() {
        for (rule, namespace, expected, message) in [
            (NamespaceRule::default(), "secure", true, "anything"),
            (NamespaceRule::default(), "kube-system", false, "but Kubernetes' own"),
            (NamespaceRule::default(), "kube", true, "which this is not"),
            (mk_rule("shop,pay-*", ""), "shop", true, "by its name"),
            (mk_rule("shop,pay-*", ""), "shops", false, "which is the whole"),
            (mk_rule("shop,pay-*", ""), "pay-eu", true, "by its beginning"),
            (mk_rule("shop,pay-*", ""), "other", false, "not named"),
            (mk_rule("pay-*", "pay-eu"), "pay-eu", false, "named, and denied"),
            (mk_rule("", ""), "shop", false, "none is allowed"),
        ] {
            assert_eq!(rule.admits(namespace), expected, "{message}: {namespace}");
        }
    }

    #[test]
    fn patterns_print_as_they_were_read() {
        for text in ["a", "kube-*", "a*", "*", "a-b"] {
            assert_eq!(text.parse::<NamespacePattern>().unwrap().to_string(), text);
        }
        for text in ["", "a", "a,b-*"] {
            assert_eq!(text.parse::<NamespaceList>().unwrap().to_string(), text);
        }
        assert!("a,B".parse::<NamespaceList>().is_err());
        for text in ["", "A", "a.b", "-*", "*a", "a**", "a b", "-a"] {
            assert!(text.parse::<NamespacePattern>().is_err(), "{text:?} is refused");
        }
    }
}
