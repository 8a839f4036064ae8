//! Objects that tests write.

use serde_json::{Value, json};

/// The `apiVersion` of a kind.
pub(crate) fn api_version(kind: &str) -> &'static str {
    match kind {
        "WANPolicy" | "ServiceImport" | "WANCluster" | "ExportedService" | "ClusterConnection" => {
            "mc-wan.l7mp.io/v1alpha1"
        }
        "ServiceExport" | "ServiceImport.multicluster.x-k8s.io" => "multicluster.x-k8s.io/v1beta1",
        "Gateway" | "HTTPRoute" => "gateway.networking.k8s.io/v1",
        "ReferenceGrant" => "gateway.networking.k8s.io/v1beta1",
        "WasmPlugin" | "TrafficExtension" => "extensions.istio.io/v1alpha1",
        "AuthorizationPolicy" => "security.istio.io/v1",
        "Telemetry" => "telemetry.istio.io/v1",
        "DestinationRule" => "networking.istio.io/v1",
        "EndpointSlice" => "discovery.k8s.io/v1",
        "Lease" => "coordination.k8s.io/v1",
        "Deployment" => "apps/v1",
        "ClusterRole" => "rbac.authorization.k8s.io/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        "FlowSchema" | "PriorityLevelConfiguration" => "flowcontrol.apiserver.k8s.io/v1",
        _ => "v1",
    }
}

/// An object; the namespace is empty for one of the cluster.
pub(crate) fn mk(kind: &str, namespace: &str, name: &str, content: Value) -> Value {
    let mut object = json!({"apiVersion": api_version(kind), "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    if let (Some(object), Value::Object(content)) = (object.as_object_mut(), content) {
        object.extend(content);
    }
    object
}

/// `KIND NAMESPACE/NAME` of an object.
pub(crate) fn id_of(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

pub(crate) fn mk_namespace(name: &str) -> Value {
    mk("Namespace", "", name, json!({}))
}

pub(crate) fn mk_tier(name: &str, port: u16) -> Value {
    mk("WANPolicy", "", name, json!({"spec": {"port": port, "tunnel": "default"}}))
}

/// An import with these rules.
pub(crate) fn mk_import(namespace: &str, name: &str, rules: &Value) -> Value {
    mk("ServiceImport", namespace, name, json!({"spec": {"http": {"rules": rules}}}))
}

/// A rule that sends everything to one backend.
pub(crate) fn mk_rule(backend: Value) -> Value {
    json!({"backendRefs": vec![backend]})
}

/// The tier of a rule.
pub(crate) fn mk_tier_ref(name: &str) -> Value {
    json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": name})
}

/// What `cluster-1` exports, behind one gateway.
pub(crate) fn mk_exported(namespace: &str, name: &str) -> Value {
    mk_exported_by("cluster-1", namespace, name, &json!(["10.20.0.7"]))
}

/// What a cluster exports, behind these gateways.
pub(crate) fn mk_exported_by(cluster: &str, namespace: &str, name: &str, gateways: &Value) -> Value {
    let spec = json!({"cluster": cluster, "namespace": namespace, "name": name, "exportedAt": "2026-11-20T08:00:00Z",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "defaultTier": "sd-wan-priority-low",
        "gateways": gateways, "readyPods": 3});
    mk("ExportedService", "mc-wan-registry", &format!("{cluster}.{namespace}.{name}"), json!({"spec": spec}))
}

pub(crate) fn mk_service(namespace: &str, name: &str) -> Value {
    mk("Service", namespace, name, json!({"spec": {"ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}}))
}

/// A `ServiceExport`, over the low tier by default.
pub(crate) fn mk_export(namespace: &str, name: &str) -> Value {
    mk_export_over("sd-wan-priority-low", namespace, name)
}

/// A `ServiceExport`, over this tier by default.
pub(crate) fn mk_export_over(tier: &str, namespace: &str, name: &str) -> Value {
    let mut export = mk("ServiceExport", namespace, name, json!({}));
    export["metadata"]["annotations"] = json!({"mc-wan.l7mp.io/wan-policy": tier});
    export
}
