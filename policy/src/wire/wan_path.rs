//! What is measured for rules that go by quality.

use serde::{Deserialize, Serialize};

use super::integer::{integer, some_integer};

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
