//! `ClusterConnectionPolicy`: which tiers pairs of clusters may use. It only takes away.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClusterSelector, cel, limits, pattern};

/// What one policy says of the pairs of clusters that it matches: either selector takes one of the two, whichever.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "ClusterConnectionPolicy",
    plural = "clusterconnectionpolicies",
    namespaced,
    derive = "PartialEq",
    category = "mcwan",
    doc = "Which tiers pairs of clusters may use, in the registry. The one named `default` holds for pairs that no other matches.",
    validation = cel::NAMED_BY_LABEL,
    validation = cel::DEFAULT_WITHOUT_SELECTORS,
    validation = cel::FLAG_ON_DEFAULT,
    printcolumn(name = "Driver", type_ = "string", json_path = ".spec.cableDriver"),
    printcolumn(name = "Tiers", type_ = "string", json_path = ".spec.tiers"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterConnectionPolicySpec {
    /// The clusters on one side. Absent or empty: any. Beside a cluster's own labels there is
    /// `kubernetes.io/metadata.name`, its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_cluster_selector: Option<ClusterSelector>,
    /// The clusters on the other side. Absent or empty: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_cluster_selector: Option<ClusterSelector>,
    /// The cable driver that a tier must have. Absent: any driver, and none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub cable_driver: Option<String>,
    /// The tiers that may be used. Absent: any; an empty list: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::TIERS), inner(length(max = 63), regex(pattern = pattern::LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub tiers: Option<Vec<String>>,
    /// Of `default` alone: whether pairs that several policies match are left without any tier, which is so if it is
    /// absent, too. If not, the oldest policy holds for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_connect_on_conflict: Option<bool>,
}

impl ClusterConnectionPolicy {
    /// The name of the one that holds for pairs that no other matches.
    pub const DEFAULT: &str = "default";

    /// The field of the clusters on one side.
    pub const LEFT: &str = "spec.leftClusterSelector";
    /// The field of the clusters on the other side.
    pub const RIGHT: &str = "spec.rightClusterSelector";

    /// Whether it is the one that holds for pairs that no other matches.
    pub fn is_default(&self) -> bool {
        self.metadata.name.as_deref() == Some(Self::DEFAULT)
    }
}
