//! What gateways measure of a tier to another cluster.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the egress gateways of this cluster measure of a tier to another one: of each figure the worst. Absent: no rule goes
/// by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeasuredTier {
    /// Whether it keeps its promise.
    pub level: MeasuredLevel,
    /// Why: `InSla`, `FewAnswers`, `ProbeFailed`, `Latency`, `Jitter`, `Loss` or `NoAnswer`.
    pub reason: String,
    /// Since when that is its level, as the controller saw it.
    pub since: Time,
    /// The median round trip in milliseconds, as a decimal number. Absent: it is not known yet, as below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<String>,
    /// The mean difference of neighbouring round trips in milliseconds, as a decimal number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<String>,
    /// What is lost each way, in percent, as a decimal number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_percent: Option<String>,
    /// The status of the last answer of the other cluster's gateway: 404, or 403 where it does not admit this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// How many gateway pods measure it.
    pub pods: u32,
    /// For how many of these it is not `In`.
    pub pods_out: u32,
}

/// Whether requests may take a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum MeasuredLevel {
    /// It keeps its promise, as far as is known.
    In,
    /// It does not.
    Out,
    /// It does not answer.
    Down,
}

impl fmt::Display for MeasuredLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}
