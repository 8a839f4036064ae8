//! The Service that stands for a destination: of a tier, the one that leads to other clusters, if there are any.

use serde_json::Value;

use crate::api::TIER_NAMESPACE;
use crate::json::put;
use crate::kind;
use crate::translate::{Destination, Import};

/// A Service's namespace, name and port.
pub(super) type Service = (String, String, u16);

/// The one Service that stands for a destination.
pub(super) fn service(import: &Import, destination: &Destination, port: u16) -> Service {
    match destination {
        Destination::Tier { .. } | Destination::Import { .. } => match import.tier(destination) {
            Some(tier) if tier.remote().next().is_some() => {
                (TIER_NAMESPACE.to_owned(), tier.service.clone(), tier.port)
            }
            Some(tier) => {
                (tier.import.namespace.to_string(), tier.import.name.to_string(), destination.told_port(port))
            }
            None => (TIER_NAMESPACE.to_owned(), String::new(), 0),
        },
        Destination::Service { namespace, name, port: own } => (namespace.clone(), name.clone(), own.unwrap_or(port)),
    }
}

/// What refers to a Service's port in a route.
pub(super) fn reference((namespace, name, port): &Service) -> Value {
    let mut reference = kind::SERVICE.reference(name);
    put(&mut reference, "namespace", namespace.as_str());
    put(&mut reference, "port", *port);
    reference
}
