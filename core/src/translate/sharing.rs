//! How requests over a tier are shared between the clusters that have the service.

use std::net::IpAddr;

use crate::liveness::Liveness;

use super::{Clusterset, Families, Import, Source, Tier};

/// The greatest weight of a backendRef (Gateway API, `BackendRef`).
pub(crate) const MOST_WEIGHT: u32 = 1_000_000;

impl Tier {
    /// The clusters, each with its share of the requests that come by any of these ports: the pods that are ready there.
    /// Clusters without such a port take no part; stale ones only where no other has a ready pod and an address, and clusters
    /// without these only where none has them. What prefers this cluster goes elsewhere only where this cluster has no ready
    /// pod.
    pub(super) fn shares(&self, ports: &[u16], families: Families, stays_close: bool) -> Vec<(&Source, u32)> {
        let has_port = |source: &Source| source.ports.iter().any(|port| ports.contains(port));
        let is_live = |source: &Source| source.liveness == Liveness::Live;
        let ready = |source: &Source| {
            let takes_part = has_port(source) && source.is_reachable(families);
            if takes_part { source.ready_pods.min(MOST_WEIGHT) } else { 0 }
        };
        let live = |source: &Source| if is_live(source) { ready(source) } else { 0 };
        let close = |source: &Source| if source.is_own && stays_close { live(source) } else { 0 };
        let known = |source: &Source| u32::from(has_port(source));
        let shares: [&dyn Fn(&Source) -> u32; 4] = [&close, &live, &ready, &known];
        let is_any = |share: &&dyn Fn(&Source) -> u32| self.sources.iter().any(|source| share(source) > 0);
        let share = shares.into_iter().find(is_any).unwrap_or(&known);
        self.sources.iter().map(|source| (source, share(source))).collect()
    }
}

impl Import {
    /// The clusters that requests for a port are shared between over a tier, with their shares.
    pub(crate) fn shares<'t>(&self, tier: &'t Tier, port: u16) -> Vec<(&'t Source, u32)> {
        let stays_close = self.is_own(tier) && self.clusterset.as_ref().is_some_and(Clusterset::stays_close);
        tier.shares(&[port], self.families, stays_close)
    }
}

impl Source {
    /// Whether egress gateways with addresses of these families can send requests there.
    pub(crate) fn is_reachable(&self, families: Families) -> bool {
        self.is_own || self.addresses(families).next().is_some()
    }

    /// Where egress gateways with addresses of these families can send requests to.
    pub(crate) fn addresses(&self, families: Families) -> impl Iterator<Item = IpAddr> {
        self.gateways.iter().copied().filter(move |address| is_usable(*address) && families.have(*address))
    }
}

/// Whether an `EndpointSlice` may hold an address (Kubernetes, `ValidateEndpointIP`), and only one host can have it.
pub(crate) fn is_usable(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.to_ipv4_mapped().is_some(),
    };
    !(link_local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_another_hosts() {
        let table = [
            ("10.20.0.7", true, "a pod's"),
            ("2001:db8::7", true, "a pod's of the other family"),
            ("127.0.0.1", false, "loopback"),
            ("::1", false, "loopback of the other family"),
            ("0.0.0.0", false, "unspecified"),
            ("::", false, "unspecified of the other family"),
            ("169.254.1.1", false, "link-local"),
            ("fe80::1", false, "link-local of the other family"),
            ("224.0.0.1", false, "multicast"),
            ("ff02::1", false, "multicast of the other family"),
            ("255.255.255.255", false, "broadcast"),
            ("::ffff:10.20.0.7", false, "one family in the other's clothes"),
        ];
        for (address, expected, message) in table {
            let address = address.parse().unwrap();
            assert_eq!(is_usable(address), expected, "{message}: {address}");
        }
    }
}
