//! The resources of the group `mc-wan.l7mp.io`, the rules that they share with Gateway API, and those of the Multi-Cluster
//! Services API.
//!
//! A value of our types satisfies the schema of its CRD except for what [`validate`] checks.

mod cel;
pub mod cluster_connection;
pub mod cluster_connection_policy;
pub mod cluster_selector;
pub mod duration;
pub mod exportable;
pub mod exported_endpoints;
pub mod exported_service;
pub mod grpc_match;
pub mod http_filter;
pub mod http_match;
pub mod http_rule;
pub mod limits;
pub mod mcs_service_import;
pub mod measured_tier;
pub mod openshift_route;
pub mod pattern;
mod resource;
pub mod route;
pub mod route_selector;
pub mod rule_sla;
pub mod service_export;
pub mod service_import;
pub mod validate;
pub mod wan_cluster;
pub mod wan_policy;

pub use cluster_connection::{
    ClusterConnection, ClusterConnectionSpec, ClusterConnectionStatus, ConnectionState, ConnectionTier,
};
pub use cluster_connection_policy::{ClusterConnectionPolicy, ClusterConnectionPolicySpec};
pub use cluster_selector::{ClusterRequirement, ClusterSelector};
pub use duration::Duration;
pub use exported_endpoints::{AddressType, ExportedEndpoints, ExportedEndpointsSpec, PodEndpoint, PodPort};
pub use exported_service::{
    ExportedPort, ExportedService, ExportedServiceSpec, Protocol, ServiceProperties, ServiceType, SessionAffinity,
    TrafficPolicy,
};
pub use grpc_match::{GrpcMatch, GrpcMethodMatch, GrpcMethodMatchType};
pub use http_filter::{
    BackendObjectRef, Cors, FilterType, Fraction, Header, HeaderModifier, HttpFilter, LocalObjectRef, PathModifier,
    PathModifierType, Percent, RedirectStatus, RequestMirror, RequestRedirect, Scheme, UrlRewrite,
};
pub use http_match::{HeaderMatch, HttpMatch, Method, PathMatch, PathMatchType, QueryParamMatch, ValueMatchType};
pub use http_rule::{BackendRef, HttpRule, Timeouts};
pub use mcs_service_import::{ClusterStatus, McsServiceImport};
pub use measured_tier::{MeasuredLevel, MeasuredTier};
pub use openshift_route::{HeaderAction, OpenshiftRoute, RouteTarget, RouteTls, is_secret_name};
pub use route::{CONTROLLER, Fault, GATEWAY_API_GROUP, ParentRef, Route, RouteDocument, RouteKind, RouteRule, is_ours};
pub use route_selector::{RouteSelector, RouteSelectorError};
pub use rule_sla::{RuleSla, WhenNoneInSla};
pub use service_export::{MCS_GROUP, McsVersion, ServiceExport, WAN_POLICY_ANNOTATION};
pub use service_import::{
    DataPlane, Http, ImportFields, NoMatch, NoMatchStatus, ServiceImport, ServiceImportSpec, ServiceImportStatus,
};
pub use wan_cluster::{Admission, AdmittedCluster, ClusterTier, EgressGateway, WanCluster, WanClusterSpec};
pub use wan_policy::{LossPercent, Probe, Sla, WanPolicy, WanPolicySpec, WanPolicyStatus};

/// The API group of our kinds.
pub const GROUP: &str = "mc-wan.l7mp.io";
/// The version of our kinds.
pub const VERSION: &str = "v1alpha1";
/// The namespace of the tier services.
pub const TIER_NAMESPACE: &str = "mc-wan";
/// The label of what belongs to one import: its name.
pub const IMPORT_LABEL: &str = "mc-wan.l7mp.io/import";
/// The label of what belongs to an import or export of another namespace: that namespace.
pub const NAMESPACE_LABEL: &str = "mc-wan.l7mp.io/namespace";
/// The namespace of the registry.
pub const REGISTRY_NAMESPACE: &str = "mc-wan-registry";

#[cfg(test)]
mod tests {
    use kube_core::CustomResourceExt;

    use super::*;

    #[test]
    fn every_kind_has_a_crd() {
        let table = [
            (WanPolicy::crd(), "wanpolicies", "Cluster"),
            (ServiceImport::crd(), "serviceimports", "Namespaced"),
            (ExportedService::crd(), "exportedservices", "Namespaced"),
            (ExportedEndpoints::crd(), "exportedendpoints", "Namespaced"),
            (WanCluster::crd(), "wanclusters", "Namespaced"),
            (ClusterConnectionPolicy::crd(), "clusterconnectionpolicies", "Namespaced"),
            (ClusterConnection::crd(), "clusterconnections", "Namespaced"),
        ];
        for (crd, plural, scope) in table {
            assert_eq!(crd.metadata.name, Some(format!("{plural}.{GROUP}")), "{plural}: its name");
            assert_eq!(crd.spec.scope, scope, "{plural}: its scope");
            let names: Vec<_> = crd.spec.versions.iter().map(|version| version.name.as_str()).collect();
            assert_eq!(names, [VERSION], "{plural}: its versions");
        }
    }
}
