//! The Service that stands for a destination: of a tier, the one that leads to other clusters, if there are any.

use crate::api::TIER_NAMESPACE;
use crate::translate::{Destination, Import};

/// A Service's namespace, name and port.
pub(super) type Service = (String, String, u16);

/// The one Service that stands for a destination.
pub(super) fn service(import: &Import, destination: &Destination, port: u16) -> Service {
    match destination {
        Destination::Tier { name } => match import.tier(name).map(|tier| (tier, tier.remote().next())) {
            Some((tier, Some(_))) => (TIER_NAMESPACE.to_owned(), tier.service.clone(), tier.port),
            Some((_, None)) => (import.wire.namespace.clone(), import.wire.name.clone(), port),
            None => (TIER_NAMESPACE.to_owned(), String::new(), 0),
        },
        Destination::Service { namespace, name, port: own } => (namespace.clone(), name.clone(), own.unwrap_or(port)),
    }
}
