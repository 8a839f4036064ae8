//! The Service that stands for a destination.

use crate::api::TIER_NAMESPACE;
use crate::translate::{Destination, Import};

/// A Service's namespace, name and port.
pub(super) type Service = (String, String, u16);

/// The one Service that stands for a destination.
pub(super) fn service(import: &Import, destination: &Destination, port: u16) -> Service {
    match destination {
        Destination::Tier { name } => {
            let tier = import.tier(name);
            let service = tier.map(|tier| tier.service.clone()).unwrap_or_default();
            (TIER_NAMESPACE.to_owned(), service, tier.map(|tier| tier.port).unwrap_or_default())
        }
        Destination::Service { namespace, name, port: own } => (namespace.clone(), name.clone(), own.unwrap_or(port)),
    }
}
