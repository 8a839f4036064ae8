//! What a pod may know about itself (Kubernetes' downward API).

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Container, Pod, ResourceFieldSelector};
use kube::ResourceExt;

use super::{node, quantity};

/// The value of a field.
pub(super) fn field(pod: &Pod, path: &str) -> Result<String> {
    let spec = pod.spec.as_ref().context("the Pod has no spec")?;
    let status = pod.status.as_ref();
    let value = match path {
        "metadata.name" => pod.metadata.name.clone(),
        "metadata.namespace" => pod.metadata.namespace.clone(),
        "metadata.uid" => pod.metadata.uid.clone(),
        "metadata.labels" => Some(lines(pod.labels())),
        "metadata.annotations" => Some(lines(pod.annotations())),
        "spec.nodeName" => spec.node_name.clone(),
        "spec.serviceAccountName" => spec.service_account_name.clone(),
        "status.podIP" => status.and_then(|status| status.pod_ip.clone()),
        "status.hostIP" => status.and_then(|status| status.host_ip.clone()),
        path => one_of(pod, path)?,
    };
    Ok(value.unwrap_or_default())
}

/// The value of a limit: what the container says, else what the node has.
pub(super) fn limit(container: &Container, selector: &ResourceFieldSelector) -> Result<String> {
    let (name, room) = match selector.resource.as_str() {
        "limits.cpu" => ("cpu", node::CORES),
        "limits.memory" => ("memory", node::MEMORY),
        other => bail!("resource field {other} is not known here"),
    };
    let limits = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    let Some(limit) = limits.and_then(|limits| limits.get(name)) else { return Ok(room.to_string()) };
    let amount = quantity::parse(&limit.0).with_context(|| format!("limit {} is not known here", limit.0))?;
    Ok(amount.to_string())
}

/// `metadata.labels['NAME']` and `metadata.annotations['NAME']`.
fn one_of(pod: &Pod, path: &str) -> Result<Option<String>> {
    let name = |prefix: &str| path.strip_prefix(prefix)?.strip_suffix("']");
    if let Some(name) = name("metadata.labels['") {
        return Ok(pod.labels().get(name).cloned());
    }
    let name = name("metadata.annotations['").with_context(|| format!("field {path} is not known here"))?;
    Ok(pod.annotations().get(name).cloned())
}

/// A map as the kubelet writes it: a line each, the value quoted.
fn lines(map: &BTreeMap<String, String>) -> String {
    let lines: Vec<_> = map.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    lines.join("\n")
}

/// As Go's `%q`, as far as values of labels and annotations need it.
fn quoted(value: &str) -> String {
    let mut quoted = String::from("\"");
    for character in value.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_knows_its_fields() {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "labels": {"b": "2", "a": "1"},
                "annotations": {"x": "say \"hi\"\n"}},
            "spec": {"containers": [], "nodeName": "node", "serviceAccountName": "s"},
            "status": {"podIP": "10.99.1.10"},
        }));
        let pod: Pod = pod.unwrap();
        let table = [
            ("metadata.name", "p"),
            ("metadata.labels", "a=\"1\"\nb=\"2\""),
            ("metadata.annotations", "x=\"say \\\"hi\\\"\\n\""),
            ("metadata.labels['b']", "2"),
            ("metadata.annotations['absent']", ""),
            ("spec.nodeName", "node"),
            ("status.podIP", "10.99.1.10"),
        ];
        for (path, value) in table {
            assert_eq!(field(&pod, path).unwrap(), value, "{path}");
        }
        field(&pod, "spec.hostname").unwrap_err();
    }
}
