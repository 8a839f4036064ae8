//! `ClusterConnection`: what one cluster may use of the tiers to another, as this cluster sees it.

use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::{MeasuredTier, cel, limits};

/// Nothing: all that there is to say is status. It is named after the other cluster.
#[derive(CustomResource, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "ClusterConnection",
    namespaced,
    status = "ClusterConnectionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "mcwan",
    doc = "Which tiers this cluster and the one of that name may use, written by this cluster's controller.",
    validation = cel::NAMED_BY_LABEL,
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Policy", type_ = "string", json_path = ".status.policy"),
    printcolumn(name = "Driver", type_ = "string", json_path = ".status.cableDriver"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ClusterConnectionSpec {}

/// What the controller says of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConnectionStatus {
    /// How it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ConnectionState>,
    /// The policy that holds. Absent: none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The policies that match, by name, where these are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONNECTION_POLICIES))]
    pub conflicting_policies: Vec<String>,
    /// The cable driver that the policy asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable_driver: Option<String>,
    /// The tiers of either cluster, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2 * limits::TIERS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub tiers: Vec<ConnectionTier>,
    /// `Permitted`, `Conflicted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// How a connection is. The first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConnectionState {
    /// Several policies match.
    Conflict,
    /// No tier may be used.
    NotConnected,
    /// The other cluster does not show that it is alive.
    Stale,
    /// There is a tier that both may use.
    Connected,
}

/// What becomes of one tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionTier {
    /// The name of its `WANPolicy`.
    pub name: String,
    /// Its port, where the clusters that have it agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<NonZeroU16>,
    /// Whether the two clusters may use it.
    pub permitted: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What gateways measure of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredTier>,
}

impl ConnectionState {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "Conflict",
            Self::NotConnected => "NotConnected",
            Self::Stale => "Stale",
            Self::Connected => "Connected",
        }
    }
}

impl ClusterConnection {
    /// Condition: there is a tier that both may use.
    pub const PERMITTED: &str = "Permitted";
    /// Condition: several policies match.
    pub const CONFLICTED: &str = "Conflicted";
}

/// Objects have none.
impl<'de> Deserialize<'de> for ClusterConnectionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<IgnoredAny>::deserialize(deserializer).map(|_| Self {})
    }
}
