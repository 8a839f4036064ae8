//! The Kubernetes objects that mcwan writes.

use kube_core::ApiResource;
use kube_core::GroupVersionKind;
use serde_json::Value;

use crate::api;
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
    WanCluster,
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

/// An object as it is to be.
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
    pub const ALL: [Self; 13] = [
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
        Self::WanCluster,
        Self::ExportedService,
    ];

    /// The name of the kind, as in `kind: Service`.
    pub const fn name(self) -> &'static str {
        self.names().2
    }

    /// The group and version, as in `apiVersion: discovery.k8s.io/v1`.
    pub fn api_version(self) -> String {
        let (group, version, ..) = self.names();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    /// What kube needs to know of the kind.
    pub fn api_resource(self) -> ApiResource {
        let (group, version, kind, plural) = self.names();
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }

    /// Group, version, kind and plural.
    const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            // Releases of Gateway API before 1.5 serve no later version.
            Self::ReferenceGrant => ("gateway.networking.k8s.io", "v1beta1", "ReferenceGrant", "referencegrants"),
            Self::DestinationRule => ("networking.istio.io", "v1", "DestinationRule", "destinationrules"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::EndpointSlice => ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::AuthorizationPolicy => ("security.istio.io", "v1", "AuthorizationPolicy", "authorizationpolicies"),
            Self::Telemetry => ("telemetry.istio.io", "v1", "Telemetry", "telemetries"),
            Self::WasmPlugin => ("extensions.istio.io", "v1alpha1", "WasmPlugin", "wasmplugins"),
            Self::TrafficExtension => ("extensions.istio.io", "v1alpha1", "TrafficExtension", "trafficextensions"),
            Self::Gateway => ("gateway.networking.k8s.io", "v1", "Gateway", "gateways"),
            Self::HttpRoute => ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
            Self::WanCluster => (api::GROUP, api::VERSION, "WANCluster", "wanclusters"),
            Self::ExportedService => (api::GROUP, api::VERSION, "ExportedService", "exportedservices"),
        }
    }
}
