//! Targets: a destination together with everything static that its route does.

use mcwan_policy::limits;
use mcwan_policy::wire::{self, HeaderModifier};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::api::{Cors, Timeouts};

/// One route behind the filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Unique in its import, legible, and never reused for another meaning.
    pub name: String,
    /// Keyed digest over the import, the name, and the ports of its tiers.
    pub digest: String,
    /// Where its requests go.
    pub destination: Destination,
    /// What its route does to them.
    pub forwarding: Forwarding,
}

/// Where a backend sends requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind")]
pub enum Destination {
    /// The imported service, over a tier.
    Tier {
        /// The name of its `WANPolicy`.
        name: String,
        /// The cluster that has it; none: all that do, by the pods that are ready there.
        #[serde(skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
    },
    /// Another imported service, over its default tier, whatever its own rules are.
    Import {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The name of the tier's `WANPolicy`.
        tier: String,
        /// Its port; none: the one that the client used.
        port: Option<u16>,
    },
    /// A Service of this cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port; none: the one that the client used.
        port: Option<u16>,
    },
}

/// What a route does to requests and responses, whatever the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forwarding {
    /// Changes to headers that the backend asks for; done before the rule's.
    #[serde(skip_serializing_if = "HeaderChanges::is_empty")]
    pub backend_headers: HeaderChanges,
    /// Changes to headers that the rule asks for.
    #[serde(skip_serializing_if = "HeaderChanges::is_empty")]
    pub rule_headers: HeaderChanges,
    /// What the upstream sees as `:authority` in place of the canonical host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// How long a request may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// Who gets copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<Mirror>,
    /// Cross-origin resource sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
}

/// Changes to the headers of requests and of their responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderChanges {
    /// Of requests.
    #[serde(skip_serializing_if = "is_default")]
    pub request: HeaderModifier,
    /// Of responses.
    #[serde(skip_serializing_if = "is_default")]
    pub response: HeaderModifier,
}

/// A copy of a share of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mirror {
    /// Who gets it.
    pub destination: Destination,
    /// Requests in a million.
    pub per_million: u32,
}

impl Destination {
    /// The name of the tier of the imported service that it is.
    pub fn tier(&self) -> Option<&str> {
        match self {
            Self::Tier { name, .. } => Some(name),
            Self::Import { .. } | Self::Service { .. } => None,
        }
    }

    /// The one cluster that requests are for.
    pub fn cluster(&self) -> Option<&str> {
        match self {
            Self::Tier { cluster, .. } => cluster.as_deref(),
            Self::Import { .. } | Self::Service { .. } => None,
        }
    }

    /// The port of the service that the far gateway is told of a request that came by a port.
    pub fn told_port(&self, used: u16) -> u16 {
        match self {
            Self::Import { port, .. } => port.unwrap_or(used),
            Self::Tier { .. } | Self::Service { .. } => used,
        }
    }
}

impl Target {
    /// The target as the filter knows it.
    pub fn wire(&self) -> wire::TargetConfig {
        wire::TargetConfig { name: self.name.clone(), digest: self.digest.clone() }
    }

    /// What the steering header carries for it.
    pub fn steering_value(&self) -> String {
        self.wire().steering_value()
    }
}

impl Forwarding {
    /// Whether the route does nothing but send requests to the destination.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl HeaderChanges {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The name of a target: its destination and, where its route does more, a hash of what that is.
pub(super) fn name(destination: &Destination, forwarding: &Forwarding, import_namespace: &str) -> String {
    let mut name = match destination {
        Destination::Tier { name, cluster: None } => name.clone(),
        Destination::Tier { name, cluster: Some(cluster) } => format!("{name}@{cluster}"),
        Destination::Import { namespace, name, tier, port } => {
            let namespace = if namespace == import_namespace { String::new() } else { format!(".{namespace}") };
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("import.{name}{namespace}{port}.{tier}")
        }
        Destination::Service { namespace, name, port } => {
            let namespace = if namespace == import_namespace { String::new() } else { format!(".{namespace}") };
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            format!("service.{name}{namespace}{port}")
        }
    };
    if !forwarding.is_empty() {
        name.push('~'); // stands in no other part of a name
        name.push_str(&hash(&json!(forwarding).to_string(), 12));
    }
    name
}

/// A target with the ports of its tiers: that of its destination, then those of its mirrors. Where these become others,
/// routes of before that gateways may still have must not take what is steered now, as the ports may be other tiers' by
/// then.
pub(super) fn meaning(name: &str, ports: impl Iterator<Item = u16>) -> String {
    let ports = ports.map(|port| format!("@{port}"));
    std::iter::once(name.to_owned()).chain(ports).collect()
}

/// A label that begins as the joined parts do and ends in so many digits of a hash of what no other parts come to.
pub(crate) fn hashed(joined: &str, parts: &str, digits: usize) -> String {
    let hash = hash(parts, digits);
    let kept = joined.get(..limits::LABEL_BYTES - hash.len() - 1).unwrap_or(joined);
    format!("{}-{hash}", kept.trim_end_matches('-'))
}

/// Hexadecimal digits that tell contents apart, at most 64.
pub(super) fn hash(content: &str, digits: usize) -> String {
    let mut hash = hex::encode(Sha256::digest(content));
    hash.truncate(digits);
    hash
}
