//! The Kubernetes objects that make a cluster do what the resources mean: Gateway API for routes, Istio for the
//! filter and for who may enter. Pure: the controller applies what `mcwan render` prints.
//!
//! There is a function for each unit that changes by itself: an import, the egress of a namespace, its ingress, an
//! export, the cluster.

mod access_log;
mod backend;
mod cluster;
mod clusterset;
mod connection;
mod draft;
mod egress;
mod everything;
mod export;
mod filter;
mod forwarding;
mod gateway;
mod import;
mod ingress;
pub mod names;
mod native;
mod native_match;
mod provenance;
mod recovered;
mod route;
mod service;
mod slices;
mod tier;

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::api::DataPlane;
use crate::translate::Import;

pub use crate::api::{IMPORT_LABEL, NAMESPACE_LABEL};
pub use access_log::AccessLog;
pub use cluster::{cluster_object, cluster_object_of, common_objects};
pub use clusterset::clusterset_object;
pub use connection::connection_objects;
pub use egress::{EgressImport, egress_gateways, egress_objects, native_objects};
pub use everything::everything;
pub use export::{export_objects, published_object};
pub use filter::{FilterKind, FilterObject, filter_object, live_revision, sealed_config};
pub use gateway::without_certificate;
pub use import::{ImportObjects, ImportVersions, NO_ADDRESS, tier_services};
pub use ingress::{guard_of, guarded_by, ingress_objects};
pub use provenance::Provenance;
pub use recovered::{Places, Recovered, RecoveredRule, steering_value_of, tier_services_of};
pub use slices::slice_objects;

/// The label of everything that mcwan writes, its value being [`MANAGER`].
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Who manages what mcwan writes.
pub const MANAGER: &str = "mcwan";
/// The label of what belongs to one export: its name.
pub const EXPORT_LABEL: &str = "mc-wan.l7mp.io/export";
/// The label of what a cluster tells the registry: its name.
pub const CLUSTER_LABEL: &str = "mc-wan.l7mp.io/cluster";
/// The label of endpoints in another cluster: its name.
const SOURCE_CLUSTER_LABEL: &str = "mc-wan.l7mp.io/source-cluster";

/// What the objects depend on beside the resources.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of this cluster; none: the registry is told nothing.
    pub cluster: Option<String>,
    /// The `WANCluster` of this cluster, as the owner of what it tells the registry; none: there is none yet.
    pub wan_cluster: Option<OwnerReference>,
    /// The network of its pods; none: one of its own.
    pub network: Option<String>,
    /// The class of the Gateways.
    pub gateway_class: String,
    /// The module of the filter.
    pub module: Module,
    /// Who applies the rules of imports that do not say.
    pub data_plane: DataPlane,
    /// How istiod is told of the filter.
    pub filter: FilterKind,
    /// Who is told of the requests through egress gateways.
    pub access_log: AccessLog,
    /// Whether this cluster has the `ServiceImport` of the Multi-Cluster Services API.
    pub has_mcs_imports: bool,
    /// Whether this cluster has the kind `ClusterConnection`, and a controller that says what it has to say.
    pub has_connections: bool,
}

/// Where gateways get the module of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// As a `WasmPlugin` has it: `oci://…@sha256:…` or `https://…`.
    pub url: String,
    /// The SHA-256 of the module in hexadecimal; none: the URL holds a digest.
    pub sha256: Option<String>,
}

/// What tells modules apart.
impl fmt::Display for Module {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.url)?;
        self.sha256.iter().try_for_each(|digest| write!(formatter, "@sha256:{digest}"))
    }
}

impl Settings {
    /// Who applies the rules of an import.
    pub fn data_plane(&self, import: &Import) -> DataPlane {
        import.data_plane.unwrap_or(self.data_plane)
    }

    /// The Gateway that requests to an import leave through.
    pub fn egress_gateway(&self, import: &Import) -> &'static str {
        match self.data_plane(import) {
            DataPlane::Wasm => names::EGRESS_GATEWAY,
            DataPlane::Native => names::NATIVE_EGRESS_GATEWAY,
        }
    }
}
