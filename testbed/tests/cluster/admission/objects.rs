//! Objects of our kinds.

use mcwan_core::api::{GROUP, VERSION};
use serde_json::{Value, json};

pub(crate) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    let namespace = match kind {
        "WANPolicy" => None,
        "ServiceImport" => Some("secure"),
        _ => Some("mc-wan-registry"),
    };
    json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

pub(crate) fn policy(name: &str, spec: &Value) -> Value {
    object("WANPolicy", name, spec)
}

pub(crate) fn cluster(name: &str, spec: &Value) -> Value {
    object("WANCluster", name, spec)
}

/// An export of `c`'s `ns/pay`, some fields changed.
pub(crate) fn export(name: &str, fields: &Value) -> Value {
    let mut spec = json!({
        "cluster": "c", "namespace": "ns", "name": "pay", "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 80}],
    });
    for (field, value) in fields.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    object("ExportedService", name, &spec)
}

pub(crate) fn import(spec: &Value) -> Value {
    object("ServiceImport", "payment", spec)
}

pub(crate) fn backend() -> Value {
    json!({"group": GROUP, "kind": "WANPolicy", "name": "sd-wan-priority-low"})
}

/// An import of one rule, which has a backend unless it says otherwise.
pub(crate) fn rule(mut rule: Value) -> Value {
    if rule.get("backendRefs").is_none() {
        rule["backendRefs"] = json!([backend()]);
    }
    import(&json!({"http": {"rules": [rule]}}))
}

pub(crate) fn http_match(http_match: &Value) -> Value {
    rule(json!({"matches": [http_match]}))
}

pub(crate) fn path(path: &Value) -> Value {
    http_match(&json!({"path": path}))
}

pub(crate) fn filters(filters: &[Value]) -> Value {
    rule(json!({"filters": filters}))
}

pub(crate) fn backend_filters(filters: &[Value]) -> Value {
    let mut backend = backend();
    backend["filters"] = json!(filters);
    rule(json!({"backendRefs": [backend]}))
}

pub(crate) fn redirect(redirect: &Value) -> Value {
    rule(json!({"filters": [{"type": "RequestRedirect", "requestRedirect": redirect}], "backendRefs": []}))
}

pub(crate) fn rewrite(rewrite: &Value) -> Value {
    json!({"type": "URLRewrite", "urlRewrite": rewrite})
}

pub(crate) fn set(headers: &Value) -> Value {
    json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": headers}})
}

pub(crate) fn mirror(fields: &Value) -> Value {
    let mut mirror = json!({"backendRef": backend()});
    for (field, value) in fields.as_object().into_iter().flatten() {
        mirror[field] = value.clone();
    }
    json!({"type": "RequestMirror", "requestMirror": mirror})
}

pub(crate) fn cors(cors: &Value) -> Value {
    filters(&[json!({"type": "CORS", "cors": cors})])
}
