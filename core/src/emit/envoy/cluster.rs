//! Envoy clusters with static endpoints.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::{Snapshot, service_port};
use crate::translate::{Destination, Import, Tier};

use super::{Clusters, Scene, address, reached};

/// An endpoint: where it is, and its share of the requests.
type Endpoints = BTreeMap<(IpAddr, u16), u32>;

/// Shares are counted in this many parts for each pod, so that a cluster's pods spread over its gateways.
const PARTS: u32 = 100;

/// More pods than this count as this many: Envoy bounds the sum of weights.
const MOST_PODS: u32 = 10_000;

/// Adds the Envoy cluster of a destination under a name, unless it is there.
pub(super) fn add(
    scene: Scene<'_>,
    import: &Import,
    destination: &Destination,
    port: u16,
    name: String,
    clusters: &mut Clusters,
    problems: &mut Vec<Problem>,
) {
    if clusters.contains_key(&name) {
        return;
    }
    let destination = &reached(import, destination);
    let endpoints = match destination {
        Destination::Tier { .. } | Destination::Import { .. } => {
            let tier = import.tier(destination);
            let is_of_all = destination.cluster().is_none();
            if is_of_all && tier.is_some_and(|tier| tier.sources.iter().any(|source| source.is_own)) {
                let message = "a tier's requests all leave this cluster here: its own pods take no share of them";
                problems.push(Problem::warning(import.object.clone(), Reason::NoAddress, message));
            }
            tier.map(|tier| tier_endpoints(tier, destination.cluster())).unwrap_or_default()
        }
        Destination::Service { namespace, name, port: own } => {
            let endpoints = service_endpoints(scene.snapshot, namespace, name, own.unwrap_or(port));
            if endpoints.is_empty() {
                let object = ObjectRef::namespaced("Service", namespace, name);
                let message = "no EndpointSlice gives it a ready address, so requests to it answer 503";
                problems.push(Problem::warning(object, Reason::NoAddress, message));
            }
            endpoints
        }
    };
    let cluster = render(&name, &endpoints);
    clusters.insert(name, cluster);
}

fn render(name: &str, endpoints: &Endpoints) -> Value {
    let endpoint = |((ip, port), weight): (&(IpAddr, u16), &u32)| json!({"endpoint": {"address": address(*ip, *port)}, "load_balancing_weight": weight});
    json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "10s",
        "lb_policy": "LEAST_REQUEST",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": endpoints.iter().map(endpoint).collect::<Vec<_>>()}],
        },
        // HTTP/2 stays HTTP/2, and with it gRPC.
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "use_downstream_protocol_config": {"http_protocol_options": {}, "http2_protocol_options": {}},
            },
        },
    })
}

/// The ingress gateways of the other clusters that export, or of one of them, on the tier's port, by the pods behind them.
/// Clusters without a ready pod take part only where none has one.
fn tier_endpoints(tier: &Tier, cluster: Option<&str>) -> Endpoints {
    let meant = || tier.remote().filter(|source| cluster.is_none_or(|cluster| source.cluster == cluster));
    let any_ready = meant().any(|source| source.ready_pods > 0);
    let mut endpoints = Endpoints::new();
    for source in meant().filter(|source| source.ready_pods > 0 || !any_ready) {
        let gateways = u32::try_from(source.gateways.len()).unwrap_or(u32::MAX).max(1);
        let weight = source.ready_pods.min(MOST_PODS) * PARTS / gateways;
        for gateway in &source.gateways {
            *endpoints.entry((*gateway, tier.port)).or_default() += weight.max(1);
        }
    }
    endpoints
}

fn service_endpoints(snapshot: &Snapshot, namespace: &str, name: &str, port: u16) -> Endpoints {
    let Some(port) = snapshot.services.get(namespace, name).and_then(|service| service_port(service, port)) else {
        return Endpoints::new();
    };
    let slices = snapshot.endpoint_slices_of(namespace, name);
    slices.flat_map(|slice| slice_endpoints(slice, port)).map(|endpoint| (endpoint, 1)).collect()
}

/// The ready endpoints of a slice at the port that the Service calls by that name.
fn slice_endpoints(slice: &EndpointSlice, port: &ServicePort) -> Vec<(IpAddr, u16)> {
    let name_of = |name: &Option<String>| name.clone().unwrap_or_default();
    let mut ports = slice.ports.iter().flatten();
    let own = ports.find(|own| name_of(&own.name) == name_of(&port.name));
    let Some(port) = own.and_then(|own| own.port).and_then(|port| u16::try_from(port).ok()) else {
        return Vec::new();
    };
    let ready = slice
        .endpoints
        .iter()
        .flatten()
        .filter(|endpoint| endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true));
    let addresses = ready.flat_map(|endpoint| &endpoint.addresses);
    addresses.filter_map(|address| Some((address.parse().ok()?, port))).collect()
}
