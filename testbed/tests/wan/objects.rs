//! Objects of tests.

use mcwan_testbed::kubelet::ECHO_IMAGE;
use serde_json::{Value, json};

/// A namespace.
pub(crate) fn mk_namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A tier.
pub(crate) fn mk_tier(name: &str, port: u16) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy", "metadata": {"name": name},
        "spec": {"port": port, "tunnel": "business"}})
}

/// So many pods that echo, on the port that [`mk_service`] leads to.
pub(crate) fn mk_echo(namespace: &str, name: &str, replicas: u32) -> Value {
    mk_pods(namespace, name, replicas, &json!([{"containerPort": 9080}]))
}

/// So many pods that answer on these ports of a container.
pub(crate) fn mk_pods(namespace: &str, name: &str, replicas: u32, ports: &Value) -> Value {
    let container = json!({"name": "echo", "image": ECHO_IMAGE, "ports": ports});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}})
}

/// A Service with port 8080.
pub(crate) fn mk_service(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 8080, "targetPort": 9080}]}})
}

/// An export whose default tier is this one.
pub(crate) fn mk_export(namespace: &str, name: &str, tier: &str) -> Value {
    json!({"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport",
        "metadata": {"namespace": namespace, "name": name, "annotations": {"mc-wan.l7mp.io/wan-policy": tier}}})
}

/// An import with these rules.
pub(crate) fn mk_import(namespace: &str, name: &str, rules: &Value) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"http": {"rules": rules}}})
}

/// A file of objects.
pub(crate) fn mk_file(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}
