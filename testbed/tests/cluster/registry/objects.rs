//! Objects of which the tests of a registry need one form only.

use serde_json::{Value, json};

use crate::objects::{self, mk, mk_export_over, mk_rule, mk_service, mk_tier_ref};

/// The only tier, and its port.
pub(crate) const TIER: (&str, u16) = ("high", 31_111);

/// A Service of namespace `secure`, and that it is exported over the tier.
pub(crate) fn mk_exported(name: &str) -> [Value; 2] {
    [mk_service("secure", name), mk_export_over(TIER.0, "secure", name)]
}

/// The import `payment` with one rule, which sends requests for this path over the tier.
pub(crate) fn mk_import(path: &str) -> Value {
    let mut rule = mk_rule(mk_tier_ref(TIER.0));
    rule["matches"] = json!([{"path": {"type": "PathPrefix", "value": path}}]);
    objects::mk_import("secure", "payment", &json!([rule]))
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
