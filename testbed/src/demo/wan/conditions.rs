//! What the objects of all clusters say of themselves.

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::Value;

use crate::wan::{TestWan, WanCluster};

/// The kinds that have something to say.
const KINDS: [(&str, &str, &str); 5] = [
    ("mc-wan.l7mp.io", "v1alpha1", "WANPolicy"),
    ("multicluster.x-k8s.io", "v1beta1", "ServiceExport"),
    ("mc-wan.l7mp.io", "v1alpha1", "ServiceImport"),
    ("gateway.networking.k8s.io", "v1", "Gateway"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute"),
];
/// Conditions that are good where they are not true.
const BAD_IF_TRUE: [&str; 4] = ["Conflict", "Conflicted", "PartiallyInvalid", "RegistryUnreachable"];

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();

/// What stands between two conditions.
pub(super) const GAP: &str = "  ";

/// Cluster, object, and what it says.
pub(super) type Row = [String; 3];

/// Reads every object that has something to say, in the order of the clusters and of the kinds.
pub(super) async fn read(wan: &TestWan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for cluster in wan.clusters() {
        for (group, version, kind) in KINDS {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            rows.extend(of_kind(cluster, &resource).await?);
        }
    }
    Ok(rows)
}

async fn of_kind(cluster: &WanCluster, resource: &ApiResource) -> Result<Vec<Row>> {
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), resource);
    let objects = api.list(&ListParams::default()).await.with_context(|| format!("cannot list {}", resource.kind))?;
    let row = |object: DynamicObject| {
        let name = match object.namespace() {
            Some(namespace) => format!("{namespace}/{}", object.name_any()),
            None => object.name_any(),
        };
        [cluster.id(), format!("{} {name}", resource.kind), said(&object.data)]
    };
    Ok(objects.into_iter().map(row).collect())
}

/// The conditions of an object, or of those that a route is attached to.
fn said(object: &Value) -> String {
    let list = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_array).cloned();
    let parents = list(object, "/status/parents").unwrap_or_default();
    let of_parents = parents.iter().filter_map(|parent| list(parent, "/conditions")).flatten();
    let conditions = list(object, "/status/conditions").into_iter().flatten().chain(of_parents);
    conditions.filter_map(|condition| word(&condition)).collect::<Vec<_>>().join(GAP)
}

/// `Accepted ✓`, or `Programmed ✗ Pending`; nothing for what is bad if true, and is not.
fn word(condition: &Value) -> Option<String> {
    let text = |field: &str| condition.get(field).and_then(Value::as_str);
    let (kind, is_true) = (text("type")?, text("status")? == "True");
    match (is_true, BAD_IF_TRUE.contains(&kind)) {
        (true, false) => Some(format!("{GOOD}{kind} ✓{GOOD:#}")),
        (false, true) => None,
        (true, true) | (false, false) => Some(format!("{BAD}{kind} ✗ {}{BAD:#}", text("reason")?)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn what_is_good_and_what_is_not_are_told_apart() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Why"});
        let table = [
            (json!({}), "", "nothing is said yet"),
            (json!({"status": {"conditions": [condition("Accepted", "True")]}}), "Accepted ✓", "good"),
            (json!({"status": {"conditions": [condition("Accepted", "False")]}}), "Accepted ✗ Why", "bad"),
            (json!({"status": {"conditions": [condition("Accepted", "Unknown")]}}), "Accepted ✗ Why", "not known"),
            (json!({"status": {"conditions": [condition("Conflict", "True")]}}), "Conflict ✗ Why", "bad if true"),
            (json!({"status": {"conditions": [condition("Conflict", "False")]}}), "", "good as it is not true"),
            (
                json!({"status": {"parents": [
                    {"conditions": [condition("Accepted", "True")]}, {"conditions": [condition("Accepted", "False")]},
                ]}}),
                "Accepted ✓  Accepted ✗ Why",
                "a route of two gateways",
            ),
        ];
        for (object, expected, message) in table {
            assert_eq!(plain(&said(&object)), expected, "{message}");
        }
    }
}
