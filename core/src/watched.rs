//! What is watched.

use kube_core::ApiResource;

use crate::api::{McsVersion, RouteKind};
use crate::emit::object::Kind;
use crate::kind::{self, KindInfo};
use crate::snapshot::change::InputKind;
use crate::translate::gateway_pods::GATEWAY_LABEL;

/// A kind that is watched. Each has one watch, whether it is read, written or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "Kubernetes, the Multi-Cluster Services API and our own API define them")]
pub enum Watched {
    WanPolicy,
    ServiceImport,
    ServiceExport,
    Namespace,
    /// Which tiers pairs of clusters may use.
    ConnectionPolicy,
    /// The pods of Gateways.
    Pod,
    /// Those by which clusters show the registry that they are alive.
    Lease,
    /// Those of users. What users write of `HTTPRoute`s is among [`Watched::Emitted`].
    GrpcRoute,
    /// Those that have the labels of ours.
    OpenshiftRoute,
    /// What we write. Others' objects of some of these kinds are input.
    Emitted(Kind),
}

impl Watched {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let read = [
            Self::WanPolicy,
            Self::ServiceImport,
            Self::ServiceExport,
            Self::Namespace,
            Self::ConnectionPolicy,
            Self::Pod,
            Self::Lease,
            Self::GrpcRoute,
            Self::OpenshiftRoute,
        ];
        read.into_iter().chain(Kind::ALL.map(Self::Emitted))
    }

    /// Every kind of which users' objects, or other clusters', are input, and what it is to the snapshot.
    pub fn inputs() -> impl Iterator<Item = (Self, InputKind)> {
        Self::all().filter_map(|watched| Some((watched, watched.input()?)))
    }

    /// What objects that others write are to the snapshot, if they are input.
    pub const fn input(self) -> Option<InputKind> {
        match self {
            Self::WanPolicy => Some(InputKind::WanPolicy),
            Self::ServiceImport => Some(InputKind::ServiceImport),
            Self::ServiceExport => Some(InputKind::ServiceExport),
            Self::Namespace => Some(InputKind::Namespace),
            Self::ConnectionPolicy => Some(InputKind::ConnectionPolicy),
            Self::Pod => Some(InputKind::GatewayPod),
            Self::Emitted(Kind::Service) => Some(InputKind::Service),
            Self::Emitted(Kind::EndpointSlice) => Some(InputKind::EndpointSlice),
            Self::Emitted(Kind::ReferenceGrant) => Some(InputKind::ReferenceGrant),
            Self::Emitted(Kind::ExportedService) => Some(InputKind::ExportedService),
            Self::Emitted(Kind::ExportedEndpoints) => Some(InputKind::ExportedEndpoints),
            Self::Emitted(Kind::WanCluster) => Some(InputKind::WanCluster),
            Self::Emitted(Kind::HttpRoute) => Some(InputKind::Route(RouteKind::Http)),
            Self::GrpcRoute => Some(InputKind::Route(RouteKind::Grpc)),
            Self::OpenshiftRoute => Some(InputKind::OpenshiftRoute),
            Self::Emitted(
                Kind::DestinationRule
                | Kind::ConfigMap
                | Kind::AuthorizationPolicy
                | Kind::Telemetry
                | Kind::WasmPlugin
                | Kind::TrafficExtension
                | Kind::Gateway
                | Kind::McsServiceImport
                | Kind::ClusterConnection,
            )
            | Self::Lease => None,
        }
    }

    /// What objects of ours are to the snapshot, or those of others. What we write is input in the registry, where clusters
    /// tell each other of it, and where the API server makes something of it that we need to know.
    pub const fn input_of(self, is_ours: bool) -> Option<InputKind> {
        match self {
            Self::Emitted(Kind::Service) if is_ours => Some(InputKind::ClientService),
            Self::Emitted(Kind::McsServiceImport) if is_ours => Some(InputKind::McsServiceImport),
            Self::Emitted(Kind::ClusterConnection) if is_ours => Some(InputKind::ClusterConnection),
            Self::Emitted(Kind::WanCluster | Kind::ExportedService | Kind::ExportedEndpoints) => self.input(),
            Self::Emitted(_) if is_ours => None,
            _ => self.input(),
        }
    }

    /// Whether what an object says is read, and not only that it is there.
    pub fn is_read(self) -> bool {
        [true, false].into_iter().any(|is_ours| self.input_of(is_ours).is_some()) || matches!(self, Self::Lease)
    }

    /// The kind of what we write.
    pub const fn emitted(self) -> Option<Kind> {
        match self {
            Self::Emitted(kind) => Some(kind),
            Self::WanPolicy
            | Self::ServiceImport
            | Self::ServiceExport
            | Self::Namespace
            | Self::ConnectionPolicy
            | Self::Pod
            | Self::Lease
            | Self::GrpcRoute
            | Self::OpenshiftRoute => None,
        }
    }

    /// What there is to know of the kind.
    pub const fn info(self) -> &'static KindInfo {
        match self {
            Self::WanPolicy => &kind::WAN_POLICY,
            Self::ServiceImport => &kind::SERVICE_IMPORT,
            Self::ServiceExport => &kind::SERVICE_EXPORT,
            Self::Namespace => &kind::NAMESPACE,
            Self::ConnectionPolicy => &kind::CONNECTION_POLICY,
            Self::Pod => &kind::POD,
            Self::Lease => &kind::LEASE,
            Self::GrpcRoute => &kind::GRPC_ROUTE,
            Self::OpenshiftRoute => &kind::OPENSHIFT_ROUTE,
            Self::Emitted(kind) => kind.info(),
        }
    }

    /// What people are told of the kind.
    pub fn name(self) -> &'static str {
        self.info().title()
    }

    /// Whether the objects are in the registry.
    pub const fn is_in_registry(self) -> bool {
        self.info().is_in_registry()
    }

    /// Whether a registry may lack the kind, as one of an earlier release does: that is as if there were no object.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::ConnectionPolicy)
    }

    /// Which objects, by their labels.
    pub const fn selector(self) -> Option<&'static str> {
        match self {
            Self::Pod => Some(GATEWAY_LABEL),
            Self::Emitted(Kind::ConfigMap) => Some("app.kubernetes.io/managed-by=mcwan"),
            _ => None,
        }
    }

    /// How many objects are listed at once: as their text is in memory as a whole, fewer where they can be large.
    pub const fn page(self) -> u32 {
        match self {
            Self::Pod
            | Self::Emitted(Kind::WasmPlugin | Kind::TrafficExtension | Kind::ExportedEndpoints | Kind::ConfigMap) => {
                20
            }
            // Of 1.5 MB, which is what etcd takes, each.
            Self::ServiceImport
            | Self::GrpcRoute
            | Self::OpenshiftRoute
            | Self::Emitted(Kind::HttpRoute | Kind::ExportedService | Kind::WanCluster) => 100,
            _ => 500,
        }
    }

    /// For how many seconds a watch may be silent before it is begun anew from where it was. Between us and the registry
    /// a connection may die without a word.
    pub const fn silence(self) -> u32 {
        if self.is_in_registry() { 30 } else { 290 }
    }

    /// What kube needs to know. `mcs` is the version of the Multi-Cluster Services API that is served.
    pub fn resource(self, mcs: McsVersion) -> ApiResource {
        match self {
            _ if self.info().is_of_mcs() => self.info().resource_of(mcs.as_str()),
            _ => self.info().resource(),
        }
    }
}
