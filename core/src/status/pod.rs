//! What the pods of egress gateways are told: whether the clusters that they send requests to admit them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::{StatusKind, StatusPatch};
use crate::problem::Reason;
use crate::snapshot::Key;
use crate::snapshot::pod::{Pod, PodCondition};
use crate::translate::gateway_pods::{ADMITTED_CONDITION, addresses_of};

/// Whether other clusters admit a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admittance {
    /// Not all have said so.
    Awaited,
    /// All have.
    Admitted,
    /// Not all have in time: it serves those that do.
    Late,
}

impl Admittance {
    fn reason(self) -> Reason {
        match self {
            Self::Awaited => Reason::Waiting,
            Self::Admitted => Reason::Admitted,
            Self::Late => Reason::Timeout,
        }
    }
}

/// Whether a pod is told that it is admitted, with the addresses that it has: a node that starts anew gives it others.
pub fn is_said(pod: &Pod) -> bool {
    said(pod).is_some_and(|said| said.status == "True" && said.message == Some(message(pod)))
}

/// What changes in what a pod is told.
pub fn gateway_pod(pod: &Pod, admittance: Admittance, now: &Time) -> Option<StatusPatch> {
    let is_open = admittance != Admittance::Awaited;
    // A gate without a condition is closed, too.
    let is_same = if is_open { is_said(pod) } else { said(pod).is_none_or(|said| said.status != "True") };
    if is_same {
        return None;
    }
    let (key, uid) = (Key::of(&pod.metadata), pod.metadata.uid.clone());
    let condition = json!({
        "type": ADMITTED_CONDITION,
        "status": if is_open { "True" } else { "False" },
        "reason": admittance.reason(),
        "message": message(pod),
        "lastTransitionTime": now,
    });
    let body = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": &*key.name, "namespace": &*key.namespace, "uid": uid},
        "status": {"conditions": [condition]},
    });
    Some(StatusPatch { kind: StatusKind::Pod, key, uid, body, news: Vec::new() })
}

fn said(pod: &Pod) -> Option<&PodCondition> {
    let mut conditions = pod.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.find(|condition| condition.type_ == ADMITTED_CONDITION)
}

/// The addresses that it is about.
fn message(pod: &Pod) -> String {
    addresses_of(pod).map(|address| address.to_string()).collect::<Vec<_>>().join(", ")
}
