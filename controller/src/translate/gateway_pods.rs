//! Our gateways' pods, as the clusters tell each other of them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Pod;

use crate::gather::Snapshot;

/// The Gateway that requests of an importing namespace leave through, where the filter decides.
pub const EGRESS_GATEWAY: &str = "mcwan-egress";
/// The same, where plain routes decide.
pub const NATIVE_EGRESS_GATEWAY: &str = "mcwan-egress-native";
/// The Gateway that requests enter an exporting namespace through.
pub const INGRESS_GATEWAY: &str = "mcwan-ingress";

/// The label that Gateway API has for whatever is made for a Gateway (GEP-1762).
pub const GATEWAY_LABEL: &str = "gateway.networking.k8s.io/gateway-name";

/// The name of the Gateway that a pod runs.
pub fn gateway_of(pod: &Pod) -> Option<&str> {
    pod.metadata.labels.as_ref()?.get(GATEWAY_LABEL).map(String::as_str)
}

/// Whether a pod takes requests.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions).flatten();
    let ready = conditions.filter(|condition| condition.type_ == "Ready").any(|condition| condition.status == "True");
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// Every address of a pod.
pub fn addresses_of(pod: &Pod) -> impl Iterator<Item = IpAddr> {
    let all = pod.status.iter().flat_map(|status| &status.pod_ips).flatten();
    all.filter_map(|address| address.ip.parse().ok())
}

/// Where requests to these Gateways of a namespace can be sent, in order.
pub(super) fn ready_addresses(snapshot: &Snapshot, namespace: &str, gateways: &[&str]) -> Vec<IpAddr> {
    addresses(snapshot, namespace, gateways, is_ready)
}

/// Where requests of these Gateways of a namespace can come from, in order: a pod is told of before it takes requests.
pub(super) fn known_addresses(snapshot: &Snapshot, namespace: &str, gateways: &[&str]) -> Vec<IpAddr> {
    addresses(snapshot, namespace, gateways, |_| true)
}

fn addresses(snapshot: &Snapshot, namespace: &str, gateways: &[&str], wanted: fn(&Pod) -> bool) -> Vec<IpAddr> {
    let pods = snapshot.gateway_pods.in_namespace(namespace);
    let ours = pods.filter(|pod| gateway_of(pod).is_some_and(|gateway| gateways.contains(&gateway)) && wanted(pod));
    let addresses: BTreeSet<_> = ours.flat_map(addresses_of).collect();
    addresses.into_iter().collect()
}
