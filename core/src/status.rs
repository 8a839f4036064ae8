//! What the controller says of the user's objects: conditions, as Gateway API and the Multi-Cluster Services API have
//! them. Pure: from what is known to patches.
//!
//! A condition's transition time moves only when its status flips, and there is no patch where nothing would change.
//! Conditions of other writers are not in the patch: server-side apply leaves them alone.

mod cluster_connection;
mod condition;
mod delivery;
mod mcs_service_import;
mod message;
mod openshift_route;
mod pod;
mod route;
mod service_export;
mod service_import;
mod wan_policy;

pub use cluster_connection::cluster_connection;
pub use condition::{News, NewsType, Subject};
pub use delivery::{Delivery, GatewayState, ModuleState};
pub use mcs_service_import::{Shape, address_taken, mcs_service_import};
pub use openshift_route::openshift_route;
pub use pod::{Admittance, gateway_pod, is_said};
pub use route::{RouteParent, route};
pub use service_export::{refusal_ahead, service_export};
pub use service_import::service_import;
pub use wan_policy::wan_policy;

use kube_core::ApiResource;
use serde_json::Value;

use crate::api::{McsVersion, RouteKind};
use crate::kind;
use crate::snapshot::Key;

/// A kind whose status is ours, at least in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds' types describe them")]
pub enum StatusKind {
    ServiceImport,
    WanPolicy,
    ClusterConnection,
    /// In the version that is served.
    ServiceExport(McsVersion),
    /// Of the Multi-Cluster Services API, in the version that is served.
    McsServiceImport(McsVersion),
    /// Of users.
    Route(RouteKind),
    OpenshiftRoute,
    /// Of an egress gateway.
    Pod,
}

/// A status that differs from what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusPatch {
    /// The kind of the object.
    pub kind: StatusKind,
    /// The object.
    pub key: Key,
    /// Tells it from others of the name.
    pub uid: Option<String>,
    /// What is applied to the subresource `status`.
    pub body: Value,
    /// What of it people may want to hear.
    pub news: Vec<News>,
}

impl StatusKind {
    /// What kube needs to know of the kind.
    pub fn api_resource(self) -> ApiResource {
        match self {
            Self::ServiceImport => kind::SERVICE_IMPORT.resource(),
            Self::WanPolicy => kind::WAN_POLICY.resource(),
            Self::ClusterConnection => kind::CLUSTER_CONNECTION.resource(),
            Self::ServiceExport(version) => kind::SERVICE_EXPORT.resource_of(version.as_str()),
            Self::Route(kind) => kind.info().resource(),
            Self::OpenshiftRoute => kind::OPENSHIFT_ROUTE.resource(),
            Self::Pod => kind::POD.resource(),
            Self::McsServiceImport(version) => kind::MCS_SERVICE_IMPORT.resource_of(version.as_str()),
        }
    }
}
