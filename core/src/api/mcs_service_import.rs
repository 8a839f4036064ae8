//! `ServiceImport` of the Multi-Cluster Services API (KEP-1645), as far as mcwan reads what it wrote.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

/// What clients of this cluster see of a service of several clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McsServiceImport {
    /// Its namespace and name are those of the service.
    pub metadata: ObjectMeta,
    /// What it says.
    #[serde(default)]
    pub spec: McsServiceImportSpec,
    /// What controllers say of it.
    #[serde(default)]
    pub status: McsServiceImportStatus,
}

/// What a [`McsServiceImport`] says that depends on this cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McsServiceImportSpec {
    /// The addresses of the service in this cluster, at most one of each family.
    #[serde(default)]
    pub ips: Vec<IpAddr>,
}

/// What controllers say of a [`McsServiceImport`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McsServiceImportStatus {
    /// The clusters that export it.
    #[serde(default)]
    pub clusters: Vec<ClusterStatus>,
    /// [`READY`](McsServiceImport::READY), and other controllers' own.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Whether there are slices of it: `Present` or `Absent`; none where the definition is older than v0.5.2, too.
    #[serde(default)]
    pub endpoint_slice_objects: Option<String>,
}

/// A cluster that exports a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// Its name.
    pub cluster: String,
}

impl McsServiceImport {
    /// Condition: clients reach the service.
    pub const READY: &str = "Ready";
}
