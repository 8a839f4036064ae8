//! The Kubernetes objects that mcwan writes.

use kube_core::ApiResource;
use serde_json::Value;

use crate::kind::{self, KindInfo};
use crate::snapshot::Key;

/// The kinds that mcwan writes, in the order in which objects are created; they are deleted in reverse. What denies
/// comes before what it guards, and what is referred to before what refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "Kubernetes, Gateway API, Istio and our own API define them")]
pub enum Kind {
    ReferenceGrant,
    DestinationRule,
    Service,
    EndpointSlice,
    ConfigMap,
    AuthorizationPolicy,
    Telemetry,
    WasmPlugin,
    TrafficExtension,
    Gateway,
    HttpRoute,
    McsServiceImport,
    ClusterConnection,
    WanCluster,
    ExportedEndpoints,
    ExportedService,
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub key: Key,
}

/// The wanted state of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Which one.
    pub id: ObjectId,
    /// The whole manifest. Every default that the API server would add to what is given is spelt out, so that what
    /// is read back equals it.
    pub body: Value,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Self; 16] = [
        Self::ReferenceGrant,
        Self::DestinationRule,
        Self::Service,
        Self::EndpointSlice,
        Self::ConfigMap,
        Self::AuthorizationPolicy,
        Self::Telemetry,
        Self::WasmPlugin,
        Self::TrafficExtension,
        Self::Gateway,
        Self::HttpRoute,
        Self::McsServiceImport,
        Self::ClusterConnection,
        Self::WanCluster,
        Self::ExportedEndpoints,
        Self::ExportedService,
    ];

    /// What there is to know of the kind.
    pub const fn info(self) -> &'static KindInfo {
        match self {
            Self::ReferenceGrant => &kind::REFERENCE_GRANT,
            Self::DestinationRule => &kind::DESTINATION_RULE,
            Self::Service => &kind::SERVICE,
            Self::EndpointSlice => &kind::ENDPOINT_SLICE,
            Self::ConfigMap => &kind::CONFIG_MAP,
            Self::AuthorizationPolicy => &kind::AUTHORIZATION_POLICY,
            Self::Telemetry => &kind::TELEMETRY,
            Self::WasmPlugin => &kind::WASM_PLUGIN,
            Self::TrafficExtension => &kind::TRAFFIC_EXTENSION,
            Self::Gateway => &kind::GATEWAY,
            Self::HttpRoute => &kind::HTTP_ROUTE,
            Self::McsServiceImport => &kind::MCS_SERVICE_IMPORT,
            Self::ClusterConnection => &kind::CLUSTER_CONNECTION,
            Self::WanCluster => &kind::WAN_CLUSTER,
            Self::ExportedEndpoints => &kind::EXPORTED_ENDPOINTS,
            Self::ExportedService => &kind::EXPORTED_SERVICE,
        }
    }

    /// The name of the kind, as in `kind: Service`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// What people are told of the kind.
    pub fn title(self) -> &'static str {
        self.info().title()
    }

    /// The group and version, as in `apiVersion: discovery.k8s.io/v1`.
    pub fn api_version(self) -> String {
        self.info().api_version()
    }

    /// What kube needs to know of the kind.
    pub fn api_resource(self) -> ApiResource {
        self.info().resource()
    }
}
