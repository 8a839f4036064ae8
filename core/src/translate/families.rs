//! Which addresses a namespace's egress gateways can send requests to.

use std::net::IpAddr;

use crate::snapshot::Snapshot;

use super::gateway_pods::{EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, addresses_of, known_pods};

/// The families of the addresses that pods have, and so can send requests to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// Both, or it is not known: then there is no pod that could send anything.
    Both,
    /// Version 4 of the Internet Protocol alone.
    Ipv4,
    /// Version 6 alone.
    Ipv6,
}

impl Families {
    /// Those of the egress gateways of a namespace: of all pods that are known, as one may take the place of another.
    pub(super) fn of_egress(snapshot: &Snapshot, namespace: &str) -> Self {
        let pods = known_pods(snapshot, namespace, &[EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY]);
        let addresses: Vec<_> = pods.flat_map(addresses_of).collect();
        match (addresses.iter().any(IpAddr::is_ipv4), addresses.iter().any(IpAddr::is_ipv6)) {
            (true, false) => Self::Ipv4,
            (false, true) => Self::Ipv6,
            (true, true) | (false, false) => Self::Both,
        }
    }

    /// Whether an address is of one of them.
    pub fn have(self, address: IpAddr) -> bool {
        match self {
            Self::Both => true,
            Self::Ipv4 => address.is_ipv4(),
            Self::Ipv6 => address.is_ipv6(),
        }
    }
}
