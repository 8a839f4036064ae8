//! Our gateways' pods, as the clusters tell each other of them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::snapshot::Snapshot;
use crate::snapshot::pod::Pod;

pub use crate::fixed_names::{EGRESS_GATEWAY, INGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY};

/// The condition of an egress gateway's pod that it waits for: the clusters that it sends requests to admit it.
pub const ADMITTED_CONDITION: &str = "mc-wan.l7mp.io/Admitted";

/// The label that Gateway API has for whatever is made for a Gateway (GEP-1762).
pub const GATEWAY_LABEL: &str = "gateway.networking.k8s.io/gateway-name";

/// The name of the Gateway that a pod runs.
pub fn gateway_of(pod: &Pod) -> Option<&str> {
    pod.metadata.labels.as_ref()?.get(GATEWAY_LABEL).map(String::as_str)
}

/// Whether a pod has ended for good: it holds no connection, and its address may be another's by now.
pub fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Whether a pod takes requests.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions).flatten();
    let ready = conditions.filter(|condition| condition.type_ == "Ready").any(|condition| condition.status == "True");
    ready && pod.metadata.deletion_timestamp.is_none() && !is_over(pod)
}

/// Every address of a pod.
pub fn addresses_of(pod: &Pod) -> impl Iterator<Item = IpAddr> {
    let all = pod.status.iter().flat_map(|status| &status.pod_ips).flatten();
    all.filter_map(|address| address.ip.parse().ok())
}

/// Where requests to these Gateways of a namespace can be sent, in order.
pub(super) fn ready_addresses(snapshot: &Snapshot, namespace: &str, gateways: &[&str]) -> Vec<IpAddr> {
    let ready = pods_of(snapshot, namespace, gateways).filter(|pod| is_ready(pod));
    let addresses: BTreeSet<_> = ready.flat_map(addresses_of).collect();
    addresses.into_iter().collect()
}

/// The pods of these Gateways of a namespace that requests can come from: a pod is told of before it takes requests.
pub fn known_pods<'s>(snapshot: &'s Snapshot, namespace: &str, gateways: &[&str]) -> impl Iterator<Item = &'s Pod> {
    let has_address = |pod: &&Pod| addresses_of(pod).next().is_some();
    pods_of(snapshot, namespace, gateways).filter(|pod| !is_over(pod)).filter(has_address)
}

fn pods_of<'s>(snapshot: &'s Snapshot, namespace: &str, gateways: &[&str]) -> impl Iterator<Item = &'s Pod> {
    let pods = snapshot.gateway_pods.in_namespace(namespace);
    pods.filter(|pod| gateway_of(pod).is_some_and(|gateway| gateways.contains(&gateway)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_address_of_a_pod_that_is_over_is_not_its_own() {
        let now = "2026-11-20T08:00:00Z";
        let table = [
            ("Running", "True", None, true, true, "it serves"),
            ("Running", "False", None, false, true, "it is told of before it takes requests"),
            ("Running", "True", Some(now), false, true, "it drains, and its requests may be under way"),
            ("Pending", "False", None, false, true, "it starts"),
            ("Failed", "True", None, false, false, "it was evicted, and nobody took its conditions back"),
            ("Succeeded", "False", None, false, false, "it has ended"),
        ];
        for (phase, ready, deleted, takes_requests, is_known, message) in table {
            let pod = serde_json::from_value(json!({
                "metadata": {"name": "a", "namespace": "secure", "deletionTimestamp": deleted,
                    "labels": {GATEWAY_LABEL: EGRESS_GATEWAY}},
                "status": {"phase": phase, "podIPs": [{"ip": "10.0.0.1"}],
                    "conditions": [{"type": "Ready", "status": ready}]},
            }));
            let snapshot = Snapshot { gateway_pods: [pod.unwrap()].into(), ..Snapshot::default() };
            let address = |is_there: bool| Vec::from_iter(is_there.then_some(IpAddr::from([10, 0, 0, 1])));
            let gateways = [EGRESS_GATEWAY];
            assert_eq!(ready_addresses(&snapshot, "secure", &gateways), address(takes_requests), "ready: {message}");
            let known: Vec<_> = known_pods(&snapshot, "secure", &gateways).flat_map(addresses_of).collect();
            assert_eq!(known, address(is_known), "known: {message}");
        }
    }
}
