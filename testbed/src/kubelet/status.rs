//! What a Pod's status says.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::container::container;

/// What the container does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does not run, for a reason.
    Waiting { reason: &'static str, message: String },
    /// It runs.
    Running { ready: bool },
}

/// How a pod is.
#[derive(Clone, Debug)]
pub(super) struct Health {
    pub(super) state: State,
    pub(super) restarts: u32,
    /// Its address, once it has one.
    pub(super) address: Option<Ipv4Addr>,
    pub(super) node_address: Ipv4Addr,
    /// Whether its readiness gates are open.
    pub(super) gates: bool,
    /// When the pod started.
    pub(super) started: Timestamp,
    /// Since when it is (un)ready.
    pub(super) turned: Timestamp,
}

impl State {
    pub(super) fn waiting(reason: &'static str, message: &str) -> Self {
        Self::Waiting { reason, message: message.to_owned() }
    }
}

impl Health {
    /// That of a pod which has just been bound.
    pub(super) fn new(pod: &Pod, node_address: Ipv4Addr) -> Self {
        let now = Timestamp::now();
        let state = State::waiting("ContainerCreating", "");
        Self { state, restarts: 0, address: None, node_address, gates: gates(pod), started: now, turned: now }
    }
}

/// Whether others let a pod take requests: a gate is open where its condition says so.
pub(super) fn gates(pod: &Pod) -> bool {
    let conditions = || pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let is_open = |gate: &str| conditions().any(|condition| condition.type_ == gate && condition.status == "True");
    let mut gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.all(|gate| is_open(&gate.condition_type))
}

/// The status of a pod that is bound.
pub(super) fn status(pod: &Pod, health: &Health) -> Value {
    let ready = health.state == State::Running { ready: true };
    let phase =
        if matches!(health.state, State::Running { .. }) || health.restarts > 0 { "Running" } else { "Pending" };
    let condition = |name: &str, holds: bool, since: &Timestamp| {
        let status = if holds { "True" } else { "False" };
        json!({"type": name, "status": status, "lastTransitionTime": seconds(since)})
    };
    let state = match &health.state {
        State::Waiting { reason, message } => json!({"waiting": {"reason": reason, "message": message}}),
        State::Running { .. } => json!({"running": {"startedAt": seconds(&health.started)}}),
    };
    let (name, image) = container(pod).map_or(("", ""), |it| (&*it.name, it.image.as_deref().unwrap_or_default()));
    json!({
        "phase": phase,
        "hostIP": health.node_address,
        "hostIPs": [{"ip": health.node_address}],
        "podIP": health.address,
        "podIPs": health.address.map(|address| json!([{"ip": address}])),
        "startTime": seconds(&health.started),
        "conditions": [
            condition("PodScheduled", true, &health.started),
            condition("Initialized", true, &health.started),
            condition("ContainersReady", ready, &health.turned),
            condition("Ready", ready && health.gates, &health.turned),
        ],
        "containerStatuses": [{
            "name": name,
            "image": image,
            "imageID": "",
            "ready": ready,
            "started": matches!(health.state, State::Running { .. }),
            "restartCount": health.restarts,
            "state": state,
        }],
    })
}

/// A time as conditions have it: whole seconds.
fn seconds(time: &Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
