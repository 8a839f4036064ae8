//! What the cluster and the registry hold.

use serde_json::{Value, json};

use crate::NAMESPACES;

/// A namespace by its number.
pub(crate) fn namespace(number: usize) -> String {
    format!("team-{number:02}")
}

/// Namespace and name of an import by its number.
pub(crate) fn name(number: usize) -> (String, String) {
    (namespace(number % NAMESPACES), format!("service-{number:04}"))
}

/// The tiers, and the cluster that exports everything.
pub(crate) fn surroundings() -> Vec<Value> {
    let cluster = json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANCluster",
        "metadata": {"name": "cluster-1", "namespace": "mc-wan-registry"},
        "spec": {"tiers": [{"name": "high", "port": 31111}, {"name": "low", "port": 31112}]},
    });
    vec![tier("high", 31111), tier("low", 31112), cluster]
}

/// A tier.
pub(crate) fn tier(name: &str, port: usize) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy", "metadata": {"name": name}, "spec": {"port": port}})
}

/// The namespaces.
pub(crate) fn namespaces() -> Vec<Value> {
    let namespace = |number| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(number)}});
    (0..NAMESPACES).map(namespace).collect()
}

/// What the other cluster exports.
pub(crate) fn exported_services(imports: usize) -> Vec<Value> {
    (0..imports).map(exported_service).collect()
}

fn exported_service(number: usize) -> Value {
    let (namespace, name) = name(number);
    json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ExportedService",
        "metadata": {"name": format!("cluster-1.{namespace}.{name}"), "namespace": "mc-wan-registry"},
        "spec": {
            "cluster": "cluster-1", "namespace": namespace, "name": name,
            "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "defaultTier": "low", "gateways": ["10.20.0.7", "10.20.0.8"], "readyPods": 3,
        },
    })
}

/// The rules: three for each service.
pub(crate) fn service_imports(imports: usize) -> Vec<Value> {
    (0..imports).map(|number| service_import(number, 0)).collect()
}

/// The rules of one service; `change` tells one state of them from another.
pub(crate) fn service_import(number: usize, change: usize) -> Value {
    let (namespace, name) = name(number);
    let rule = |path: String, tier: &str| {
        json!({
            "matches": [{"path": {"type": "PathPrefix", "value": path}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}],
        })
    };
    json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"http": {"rules": [
            rule(format!("/api/{change}"), "high"), rule("/stats".to_owned(), "low"), rule("/reports".to_owned(), "low"),
        ]}},
    })
}

/// The same rules, as a route below the import has them.
pub(crate) fn http_route(number: usize, change: usize) -> Value {
    let (namespace, name) = name(number);
    let rules = service_import(number, change)["spec"]["http"]["rules"].take();
    let parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": name});
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parentRefs": [parent], "rules": rules},
    })
}

/// A route of a host that leads to an import, as another router has them.
pub(crate) fn openshift_route(number: usize, change: usize) -> Value {
    let (namespace, name) = name(number);
    json!({
        "apiVersion": "route.openshift.io/v1", "kind": "Route",
        "metadata": {"name": name, "namespace": namespace, "labels": {"mc-wan.l7mp.io/router": "mcwan"}},
        "spec": {
            "host": format!("{name}.example.com"), "path": format!("/{change}"),
            "to": {"kind": "Service", "name": format!("{name}-clusterset")},
        },
    })
}

/// What of an import needs a target that it did not have.
pub(crate) fn with_another_target() -> Value {
    let modifier = json!({"set": [{"name": "x-bench", "value": "yes"}]});
    let rule = json!({
        "matches": [{"path": {"type": "PathPrefix", "value": "/api"}}],
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}],
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}],
    });
    json!({"spec": {"http": {"rules": [rule]}}})
}

/// What lets the API server refuse the routes of an import.
pub(crate) fn refusal(namespace: &str, name: &str) -> [Value; 2] {
    let metadata = json!({"name": "bench.example.com"});
    let routes = json!({
        "apiGroups": ["gateway.networking.k8s.io"], "apiVersions": ["*"], "resources": ["httproutes"],
        "operations": ["CREATE", "UPDATE"],
    });
    let expression =
        format!("object.metadata.namespace != '{namespace}' || !object.metadata.name.startsWith('{name}.')");
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
        "spec": {"matchConstraints": {"resourceRules": [routes]}, "validations": [{"expression": expression}]},
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
        "spec": {"policyName": "bench.example.com", "validationActions": ["Deny"]},
    });
    [policy, binding]
}
