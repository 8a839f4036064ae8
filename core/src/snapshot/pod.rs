//! The pods of gateways, as far as they are read.

use kube_core::ObjectMeta;
use kube_derive::Resource;
use serde::{Deserialize, Serialize};

/// A pod: of all that `core/v1` has for it, what is read here.
#[derive(Clone, Debug, Default, PartialEq, Resource, Serialize, Deserialize)]
#[resource(inherit = "k8s_openapi::api::core::v1::Pod", crates(kube_core = "::kube_core"))]
pub struct Pod {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What its node says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PodStatus>,
}

/// What the node of a pod says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// How far it is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Whether it is ready, and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<PodCondition>>,
    /// Its addresses, one for each family.
    #[serde(rename = "podIPs", skip_serializing_if = "Option::is_none")]
    pub pod_ips: Option<Vec<PodIp>>,
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// Its type, such as `Ready`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodIp {
    /// The address.
    pub ip: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_not_said_is_not_read_and_stays_unsaid() {
        let metadata = json!({"name": "a"});
        for (status, message) in [
            (None, "no status"),
            (Some(json!({})), "an empty one"),
            (Some(json!({"phase": "Running"})), "a part of one"),
            (
                Some(json!({"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]})),
                "another",
            ),
        ] {
            let mut pod = json!({"metadata": metadata});
            if let Some(status) = status {
                pod["status"] = status;
            }
            let read: Pod = serde_json::from_value(pod.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), pod, "{message}");
        }
        for null in ["/status", "/status/conditions", "/status/podIPs", "/status/phase"] {
            let mut pod = json!({"metadata": metadata, "status": {"conditions": null, "podIPs": null, "phase": null}});
            *pod.pointer_mut(null).unwrap() = Value::Null;
            assert!(serde_json::from_value::<Pod>(pod).is_ok(), "{null}");
        }
    }
}
