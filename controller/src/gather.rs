//! From where resources come.

use gateway_api::referencegrants::ReferenceGrant;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::api::{ExportedService, ServiceImport, WanCluster, WanPolicy};

/// Everything that the rest is computed from, each list the oldest first (of files: in the order of the documents).
/// Every namespaced object has its namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The tiers.
    pub wan_policies: Vec<WanPolicy>,
    /// The rules.
    pub service_imports: Vec<ServiceImport>,
    /// What the clusters export.
    pub exported_services: Vec<ExportedService>,
    /// The clusters.
    pub wan_clusters: Vec<WanCluster>,
    /// Services of this cluster.
    pub services: Vec<Service>,
    /// The endpoints of these Services.
    pub endpoint_slices: Vec<EndpointSlice>,
    /// Who may refer to Services of other namespaces.
    pub reference_grants: Vec<ReferenceGrant>,
}
