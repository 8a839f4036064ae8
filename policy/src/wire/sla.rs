//! What a rule does by measured quality, and what is measured for it.

use serde::{Deserialize, Serialize};

use super::action::{PathRewrite, is_one, one};
use super::integer::{integer, some_integer};
use super::is_default;

/// A path over the WAN, which is measured: a tier, a remote cluster, and the namespace whose ingress gateway answers there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WanPath {
    /// Name of the tier.
    pub tier: String,
    /// Name of the remote cluster.
    pub cluster: String,
    /// Namespace of the imports, a DNS label.
    pub namespace: String,
    /// The longest round trip that the tier promises. None: it promises nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub latency_ms: Option<u32>,
    /// The greatest mean difference of neighbouring round trips. None: it promises nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub jitter_ms: Option<u32>,
    /// The greatest loss, each way, in parts per million. None: it promises nothing.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub loss_ppm: Option<u32>,
    /// From one probe to the next.
    #[serde(deserialize_with = "integer")]
    pub interval_ms: u32,
    /// The Envoy cluster that probes go through.
    pub envoy_cluster: String,
}

/// Send the request to the first of some tiers that keeps its promise; an older module does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Choose {
    /// Share of the requests, relative to the rule's other actions.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// What becomes of the path of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRewrite>,
    /// The backend's own tier, then its fallbacks in the order of preference.
    pub candidates: Vec<Candidate>,
    /// What happens while no candidate is In.
    #[serde(default, skip_serializing_if = "is_default")]
    pub when_none_in_sla: WhenNoneInSla,
}

/// A tier that a request may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Candidate {
    /// The clusters that have the service, this one included where it does.
    pub sources: Vec<Source>,
}

/// A cluster that has the service, by a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// Index into the import's targets.
    #[serde(deserialize_with = "integer")]
    pub target: u32,
    /// Share of the candidate's requests, relative to its other sources: ready pods.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// Index into the configuration's paths. None: this cluster, which is always In.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub path: Option<u32>,
}

/// What happens to a request while none of its tiers keeps its promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WhenNoneInSla {
    /// It takes the first that answers, else the backend's own.
    #[default]
    Preferred,
    /// 503.
    Refuse,
}
