//! What the imports live among: tiers, the cluster that exports, and a Service in each namespace.

use mcwan_core::api::ServiceImport;
use mcwan_core::snapshot::Snapshot;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::imports::NAMESPACES;

/// The port that clients use.
pub(crate) const SERVICE_PORT: u16 = 8080;

/// Everything that is there once these imports are.
pub(crate) fn snapshot(service_imports: Vec<ServiceImport>) -> Snapshot {
    let tier = |(name, port): (&str, u16)| {
        parse(json!({
            "apiVersion": "mc-wan.l7mp.io/v1alpha1",
            "kind": "WANPolicy",
            "metadata": {"name": name},
            "spec": {"port": port, "tunnel": "default"},
        }))
    };
    let cluster = json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1",
        "kind": "WANCluster",
        "metadata": {"name": "cluster-1", "namespace": "mc-wan-registry"},
        "spec": {"tiers": [
            {"name": "sd-wan-priority-high", "port": 31111},
            {"name": "sd-wan-priority-low", "port": 31112},
            {"name": "withheld", "port": 31114},
        ]},
    });
    let grant = json!({
        "apiVersion": "gateway.networking.k8s.io/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": {"name": "fallback", "namespace": "shop"},
        "spec": {
            "from": [{"group": "mc-wan.l7mp.io", "kind": "ServiceImport", "namespace": "secure"}],
            "to": [{"group": "", "kind": "Service"}],
        },
    });
    Snapshot {
        wan_policies: [("sd-wan-priority-high", 31111), ("sd-wan-priority-low", 31112), ("withheld", 31113)]
            .map(tier)
            .into(),
        exported_services: service_imports.iter().map(export).collect(),
        service_imports: service_imports.into(),
        wan_clusters: [parse(cluster)].into(),
        services: NAMESPACES.map(service).into(),
        endpoint_slices: (9080..).zip(NAMESPACES).map(endpoint_slice).collect(),
        reference_grants: [parse(grant)].into(),
        ..Snapshot::default()
    }
}

fn export(import: &ServiceImport) -> mcwan_core::api::ExportedService {
    let name = import.metadata.name.as_deref().unwrap_or_default();
    let namespace = import.metadata.namespace.as_deref().unwrap_or_default();
    parse(json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1",
        "kind": "ExportedService",
        "metadata": {"name": format!("cluster-1.{namespace}.{name}"), "namespace": "mc-wan-registry"},
        "spec": {
            "cluster": "cluster-1",
            "namespace": namespace,
            "name": name,
            "exportedAt": "2026-11-20T08:00:00Z",
            "ports": [{"port": SERVICE_PORT}],
            "defaultTier": "sd-wan-priority-low",
            "gateways": ["10.20.0.7"],
            "readyPods": 1,
        },
    }))
}

fn service<T: DeserializeOwned>(namespace: &str) -> T {
    parse(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "fallback", "namespace": namespace},
        "spec": {"ports": [{"port": SERVICE_PORT}]},
    }))
}

fn endpoint_slice<T: DeserializeOwned>((port, namespace): (u16, &str)) -> T {
    parse(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "fallback-1",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": "fallback"},
        },
        "addressType": "IPv4",
        "ports": [{"port": port}],
        "endpoints": [{"addresses": ["10.30.0.21"]}],
    }))
}

fn parse<T: DeserializeOwned>(resource: Value) -> T {
    serde_json::from_value(resource).unwrap()
}
