//! Brings the addresses of a snapshot to loopback, ports unchanged.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use mcwan_core::snapshot::Snapshot;

use crate::example::Destination;

/// The label of an `EndpointSlice` that names its Service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// Puts one address in place of every gateway's and every endpoint's.
pub fn relocate(snapshot: &mut Snapshot, address: Ipv4Addr) {
    for export in snapshot.exported_services.iter_mut() {
        if !export.spec.gateways.is_empty() {
            export.spec.gateways = vec![address.into()];
        }
    }
    let slices = snapshot.endpoint_slices.iter_mut();
    for endpoint in slices.flat_map(|slice| &mut slice.endpoints).flatten() {
        endpoint.addresses = vec![address.to_string()];
    }
}

/// What a request that arrives on a port has arrived at.
///
/// # Errors
/// Two destinations share a port: once they share an address, nobody could tell them apart.
pub fn destinations(snapshot: &Snapshot) -> Result<BTreeMap<u16, Destination>> {
    let tiers = snapshot.wan_policies.iter().map(|policy| {
        let name = policy.metadata.name.clone().unwrap_or_default();
        (policy.spec.port.get(), Destination::Tier(name))
    });
    let services = snapshot.endpoint_slices.iter().flat_map(endpoints);
    let mut destinations = BTreeMap::new();
    for (port, destination) in tiers.chain(services) {
        let other = destinations.insert(port, destination.clone());
        if let Some(other) = other {
            ensure!(other == destination, "{other} and {destination} share port {port}");
        }
    }
    Ok(destinations)
}

fn endpoints(slice: &EndpointSlice) -> impl Iterator<Item = (u16, Destination)> {
    let labels = slice.metadata.labels.as_ref();
    let service = labels.and_then(|labels| labels.get(SERVICE_LABEL)).map(|name| Destination::Service {
        namespace: slice.metadata.namespace.clone().unwrap_or_default(),
        name: name.clone(),
    });
    let ports = slice.ports.iter().flatten().filter_map(|port| u16::try_from(port.port?).ok());
    ports.filter_map(move |port| Some((port, service.clone()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mk_slice(port: u16) -> EndpointSlice {
        serde_json::from_value(json!({
            "metadata": {"namespace": "secure", "name": "payment-v2-x", "labels": {SERVICE_LABEL: "payment-v2"}},
            "addressType": "IPv4",
            "ports": [{"port": port}],
            "endpoints": [{"addresses": ["10.30.0.21"]}, {"addresses": ["10.30.0.22"]}],
        }))
        .unwrap()
    }

    fn mk_tier(name: &str, port: u16) -> mcwan_core::api::WanPolicy {
        serde_json::from_value(json!({
            "apiVersion": "mc-wan.l7mp.io/v1alpha1",
            "kind": "WANPolicy",
            "metadata": {"name": name},
            "spec": {"port": port, "tunnel": "default"},
        }))
        .unwrap()
    }

    #[test]
    fn addresses_change_and_ports_stay() {
        let mut snapshot = Snapshot { endpoint_slices: [mk_slice(9080)].into(), ..Snapshot::default() };
        relocate(&mut snapshot, Ipv4Addr::new(127, 1, 2, 3));
        let slice = snapshot.endpoint_slices.iter().next().unwrap();
        for endpoint in slice.endpoints.iter().flatten() {
            assert_eq!(endpoint.addresses, ["127.1.2.3"]);
        }
        assert_eq!(slice.ports, mk_slice(9080).ports);
    }

    #[test]
    fn a_port_tells_the_destination() {
        let wan_policies = vec![mk_tier("high", 31111), mk_tier("low", 31112)];
        let endpoint_slices = vec![mk_slice(9080), mk_slice(9080)];
        let snapshot = Snapshot {
            wan_policies: wan_policies.into(),
            endpoint_slices: endpoint_slices.into(),
            ..Snapshot::default()
        };
        let service = Destination::Service { namespace: "secure".to_owned(), name: "payment-v2".to_owned() };
        let expected = [
            (9080, service),
            (31111, Destination::Tier("high".to_owned())),
            (31112, Destination::Tier("low".to_owned())),
        ];
        assert_eq!(destinations(&snapshot).unwrap(), BTreeMap::from(expected));
    }

    #[test]
    fn two_destinations_may_not_share_a_port() {
        let wan_policies = vec![mk_tier("high", 9080)];
        let snapshot = Snapshot {
            wan_policies: wan_policies.into(),
            endpoint_slices: [mk_slice(9080)].into(),
            ..Snapshot::default()
        };
        let error = destinations(&snapshot).unwrap_err().to_string();
        assert_eq!(error, "high and secure/payment-v2 share port 9080");
    }
}
