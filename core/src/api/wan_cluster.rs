//! `WANCluster`: one cluster, as the registry holds it.
//!
//! Fields that a reader does not know are no error: clusters are upgraded one after the other.

use std::net::IpAddr;
use std::num::NonZeroU16;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{cel, limits, pattern};

/// One cluster. Its name is the cluster's name.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "WANCluster",
    root = "WanCluster",
    namespaced,
    derive = "PartialEq",
    category = "mcwan",
    doc = "A cluster that takes part, published in the registry by itself. A Lease of the same name tells whether it lives.",
    validation = cel::NAMED_BY_LABEL,
    printcolumn(name = "Region", type_ = "string", json_path = ".metadata.labels.region"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct WanClusterSpec {
    /// The network whose pods reach each other without a gateway; none: one of its own, by the cluster's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub network: Option<String>,
    /// The tiers that the cluster knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TIERS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[schemars(extend("x-kubernetes-validations" = [cel::distinct_ports()]))]
    pub tiers: Vec<ClusterTier>,
    /// Where the cluster's requests come from, by importing namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::NAMESPACES), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace"]))]
    pub egress_gateways: Vec<EgressGateway>,
    /// The cable drivers that the cluster supports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CABLE_DRIVERS), inner(length(max = 63), regex(pattern = pattern::LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub cable_drivers: Vec<String>,
    /// What the cluster's ingress gateways admit by now. Absent: all tiers to all clusters; to a cluster that no item
    /// names, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::CLUSTERS))]
    pub admits: Option<Vec<Admission>>,
    /// Which of other clusters' egress gateways the cluster's ingress gateways have had the time to admit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::CLUSTERS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["cluster"]))]
    pub admitted: Option<Vec<AdmittedCluster>>,
}

/// A tier as one cluster knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTier {
    /// The name of its `WANPolicy`.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub name: String,
    /// Its port.
    pub port: NonZeroU16,
    /// Its cable driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub cable_driver: Option<String>,
}

/// The egress gateway of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EgressGateway {
    /// The importing namespace.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub namespace: String,
    /// The addresses of the gateway's pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::ADDRESSES))]
    pub addresses: Vec<IpAddr>,
    /// A digest of which pods these are: addresses are used again, and gateways elsewhere may have heard meanwhile that the
    /// pod of before is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::DIGEST))]
    pub pods: Option<String>,
}

/// Clusters that are admitted to the same tiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Admission {
    /// The tiers; none: the clusters are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TIERS), inner(length(max = 63), regex(pattern = pattern::LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub tiers: Vec<String>,
    /// The clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CLUSTERS), inner(length(max = 63), regex(pattern = pattern::LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub clusters: Vec<String>,
}

/// Which egress gateways of another cluster are admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdmittedCluster {
    /// The cluster.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub cluster: String,
    /// A digest of its `egressGateways`, as they were then.
    #[schemars(length(max = limits::DIGEST))]
    pub egress_gateways: String,
}
