//! The objects that tests write.

use serde_json::{Value, json};

/// The `apiVersion` of a kind.
pub(crate) fn api_version(kind: &str) -> &'static str {
    match kind {
        "WANPolicy" | "ServiceImport" | "WANCluster" | "ExportedService" => "mc-wan.l7mp.io/v1alpha1",
        "ServiceExport" => "multicluster.x-k8s.io/v1beta1",
        "HTTPRoute" => "gateway.networking.k8s.io/v1",
        "WasmPlugin" => "extensions.istio.io/v1alpha1",
        "EndpointSlice" => "discovery.k8s.io/v1",
        "Lease" => "coordination.k8s.io/v1",
        "Deployment" => "apps/v1",
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

/// The only tier.
pub(crate) fn mk_tier() -> Value {
    mk("WANPolicy", "", "high", json!({"spec": {"port": 31111}}))
}

/// A Service of namespace `secure`, and that it is exported over the tier.
pub(crate) fn mk_exported(name: &str) -> [Value; 2] {
    let ports = json!([{"name": "http", "port": 8080, "protocol": "TCP"}]);
    let mut export = mk("ServiceExport", "secure", name, json!({}));
    export["metadata"]["annotations"] = json!({"mc-wan.l7mp.io/wan-policy": "high"});
    [mk("Service", "secure", name, json!({"spec": {"ports": ports}})), export]
}

/// The import `payment` with one rule, which sends requests for this path over the tier.
pub(crate) fn mk_import(path: &str) -> Value {
    let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"});
    let matches = json!([{"path": {"type": "PathPrefix", "value": path}}]);
    let rules = json!([{"matches": matches, "backendRefs": [backend]}]);
    mk("ServiceImport", "secure", "payment", json!({"spec": {"http": {"rules": rules}}}))
}

/// A pod of the gateways of namespace `secure`, and its status.
pub(crate) fn mk_gateway_pod(gateway: &str, address: &str, ready: bool) -> (Value, Value) {
    let containers = json!([{"name": "istio-proxy", "image": "registry.invalid/proxy"}]);
    let spec = json!({"spec": {"containers": containers, "automountServiceAccountToken": false}});
    let mut pod = mk("Pod", "secure", &format!("{gateway}-0"), spec);
    pod["metadata"]["labels"] = json!({"gateway.networking.k8s.io/gateway-name": gateway});
    let conditions = json!([{"type": "Ready", "status": if ready { "True" } else { "False" }}]);
    (pod, json!({"status": {"podIP": address, "podIPs": [{"ip": address}], "conditions": conditions}}))
}
