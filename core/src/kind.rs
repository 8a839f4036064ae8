//! Every kind of objects that mcwan has to do with: its names, and what the controller may do with it.
//!
//! Each fact of a kind stands here, and nowhere else. The enums that forbid nonsense ([what is
//! written](crate::emit::object::Kind), [what is watched](crate::watched::Watched), [whose status is
//! ours](crate::status::StatusKind)) lead here.

use kube_core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::api::{GATEWAY_API_GROUP as GATEWAY_API, GROUP, MCS_GROUP, McsVersion, VERSION};
use crate::fixed_names::{EGRESS_GATEWAY, INGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, PLUGIN, TIER_RULE};
use RightScope::{Everywhere, Own, Registry, Tiers};

/// What there is to know of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// Versions with the same fields. Files may have any of them, the first preferred; the last is the one that API
    /// servers are asked for, but of the Multi-Cluster Services API the first that they serve.
    pub versions: &'static [&'static str],
    /// As in `kind: Service`.
    pub name: &'static str,
    /// As in a URL.
    pub plural: &'static str,
    /// What the controller needs to be allowed.
    pub rights: &'static [Right],
}

/// What may be done with objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// Where they are.
    pub scope: RightScope,
    /// A part of them; none: the whole.
    pub subresource: Option<&'static str>,
    /// What they are called; empty: anything.
    pub names: &'static [&'static str],
    /// As in RBAC.
    pub verbs: &'static [&'static str],
}

/// Where a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RightScope {
    /// In this cluster, wherever users are.
    Everywhere,
    /// In the namespace of the tier services.
    Tiers,
    /// In the registry's namespace.
    Registry,
    /// In the controller's own namespace.
    Own,
}

impl KindInfo {
    /// As in `apiVersion` of what we write.
    pub fn api_version(&self) -> String {
        let version = self.versions.last().unwrap_or(&"");
        if self.group.is_empty() { (*version).to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// What kube needs to know of it.
    pub fn resource(&self) -> ApiResource {
        self.resource_of(self.versions.last().unwrap_or(&""))
    }

    /// The same, in a version that the API server chose.
    pub fn resource_of(&self, version: &str) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(self.group, version, self.name), self.plural)
    }

    /// What refers to one of its objects, as objects of Gateway API and of Istio do.
    pub fn reference(&self, name: &str) -> Value {
        json!({"group": self.group, "kind": self.name, "name": name})
    }

    /// Whether mcwan defines it.
    pub fn is_ours(&self) -> bool {
        self.group == GROUP
    }

    /// What people are told: the name, with the group, as kubectl takes it, of the one that has a name of ours.
    pub fn title(&self) -> &'static str {
        if self.is_of_mcs() && self.name == SERVICE_IMPORT.name {
            "ServiceImport.multicluster.x-k8s.io"
        } else {
            self.name
        }
    }

    /// Whether it is of the Multi-Cluster Services API, of which API servers serve different versions.
    pub fn is_of_mcs(&self) -> bool {
        self.group == MCS_GROUP
    }

    /// Whether clusters tell each other by it.
    pub const fn is_in_registry(&self) -> bool {
        matches!(self.rights, [Right { scope: Registry, .. }, ..])
    }
}

const fn kind(
    group: &'static str,
    versions: &'static [&'static str],
    name: &'static str,
    plural: &'static str,
    rights: &'static [Right],
) -> KindInfo {
    KindInfo { group, versions, name, plural, rights }
}

const fn may(verbs: &'static [&'static str], scope: RightScope, names: &'static [&'static str]) -> Right {
    Right { scope, subresource: None, names, verbs }
}

const ANY: &[&str] = &[];
const READ: &[&str] = &["get", "list", "watch"];
/// By server-side apply; who sets owner references must be allowed to delete.
const WRITE: &[&str] = &["create", "patch", "delete"];
const WATCH: Right = may(READ, Everywhere, ANY);

const SAID: &[Right] = &[WATCH, Right { subresource: Some("status"), ..may(&["patch"], Everywhere, ANY) }];
const SHOWN: &[Right] =
    &[WATCH, may(WRITE, Everywhere, ANY), Right { subresource: Some("status"), ..may(&["patch"], Everywhere, ANY) }];
const TOLD: &[Right] = &[may(READ, Registry, ANY), may(WRITE, Registry, ANY)];
/// Back again, a cluster would have no labels: it does not delete itself.
const TOLD_OF_ITSELF: &[Right] = &[may(READ, Registry, ANY), may(&["create", "patch"], Registry, ANY)];
const NAMED: &[Right] = &[WATCH, may(WRITE, Everywhere, ANY)];
const OF_TIERS: &[Right] = &[WATCH, may(WRITE, Tiers, ANY)];
const OF_GATEWAYS: &[Right] = &[WATCH, may(WRITE, Everywhere, GATEWAYS)];
const FILTER: &[Right] = &[WATCH, may(WRITE, Everywhere, &[PLUGIN])];
const ASKED: &[Right] = &[may(READ, Registry, ANY)];
const SHOWN_OF_TIERS: &[Right] =
    &[WATCH, may(WRITE, Tiers, ANY), Right { subresource: Some("status"), ..may(&["patch"], Tiers, ANY) }];
const LEASES: &[Right] = &[
    may(READ, Registry, ANY),
    may(&["create", "patch"], Registry, ANY),
    may(&["create"], Own, ANY),
    may(&["get", "update"], Own, &["mcwan"]),
];
const SECRETS: &[Right] = &[may(&["create"], Own, ANY), may(READ, Own, &["mcwan-steering-key"])];

const GATEWAYS: &[&str] = &[EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, INGRESS_GATEWAY];
const EXTENSIONS: &str = "extensions.istio.io";
const VERSIONS: &[&str] = &[VERSION];
const V1: &[&str] = &["v1"];
const MCS: &[&str] = &[McsVersion::V1Beta1.as_str(), McsVersion::V1Alpha1.as_str()];

/// A tier.
pub const WAN_POLICY: KindInfo = kind(GROUP, VERSIONS, "WANPolicy", "wanpolicies", SAID);
/// The rules of an import.
pub const SERVICE_IMPORT: KindInfo = kind(GROUP, VERSIONS, "ServiceImport", "serviceimports", SAID);
/// What a cluster tells of itself.
pub const WAN_CLUSTER: KindInfo = kind(GROUP, VERSIONS, "WANCluster", "wanclusters", TOLD_OF_ITSELF);
/// What a cluster tells of what it exports.
pub const EXPORTED_SERVICE: KindInfo = kind(GROUP, VERSIONS, "ExportedService", "exportedservices", TOLD);
/// What a cluster tells of the pods behind that.
pub const EXPORTED_ENDPOINTS: KindInfo = kind(GROUP, VERSIONS, "ExportedEndpoints", "exportedendpoints", TOLD);
/// Which tiers pairs of clusters may use.
pub const CONNECTION_POLICY: KindInfo =
    kind(GROUP, VERSIONS, "ClusterConnectionPolicy", "clusterconnectionpolicies", ASKED);
/// What that comes to for this cluster and another.
pub const CLUSTER_CONNECTION: KindInfo =
    kind(GROUP, VERSIONS, "ClusterConnection", "clusterconnections", SHOWN_OF_TIERS);
/// Those of mcwan itself.
pub const OURS: [&KindInfo; 7] = [
    &WAN_POLICY,
    &SERVICE_IMPORT,
    &EXPORTED_SERVICE,
    &EXPORTED_ENDPOINTS,
    &WAN_CLUSTER,
    &CONNECTION_POLICY,
    &CLUSTER_CONNECTION,
];
/// In the version that is served.
pub const SERVICE_EXPORT: KindInfo = kind(MCS_GROUP, MCS, "ServiceExport", "serviceexports", SAID);
/// What clients see of a service of several clusters, in the version that is served.
pub const MCS_SERVICE_IMPORT: KindInfo = kind(MCS_GROUP, MCS, "ServiceImport", "serviceimports", SHOWN);
/// Where imports and exports are.
pub const NAMESPACE: KindInfo = kind("", V1, "Namespace", "namespaces", &[WATCH]);
/// The pods of Gateways.
pub const POD: KindInfo = kind("", V1, "Pod", "pods", SAID);
/// Those of users, and ours.
pub const SERVICE: KindInfo = kind("", V1, "Service", "services", NAMED);
/// Those of users' Services, those of tier services, and those that DNS knows of services of several clusters.
pub const ENDPOINT_SLICE: KindInfo = kind("discovery.k8s.io", V1, "EndpointSlice", "endpointslices", NAMED);
/// Those of users, and ours. Releases of Gateway API before 1.5 serve no later version than the last.
pub const REFERENCE_GRANT: KindInfo =
    kind(GATEWAY_API, &["v1", "v1beta1"], "ReferenceGrant", "referencegrants", OF_TIERS);
/// Who is behind tier services.
pub const DESTINATION_RULE: KindInfo =
    kind("networking.istio.io", V1, "DestinationRule", "destinationrules", &[WATCH, may(WRITE, Tiers, &[TIER_RULE])]);
/// What gateways are made with.
pub const CONFIG_MAP: KindInfo = kind("", V1, "ConfigMap", "configmaps", OF_GATEWAYS);
/// Egress and ingress gateways.
pub const GATEWAY: KindInfo = kind(GATEWAY_API, V1, "Gateway", "gateways", OF_GATEWAYS);
/// The routes behind the filter, and those of users.
pub const HTTP_ROUTE: KindInfo = kind(GATEWAY_API, V1, "HTTPRoute", "httproutes", SHOWN);
/// Those of users.
pub const GRPC_ROUTE: KindInfo = kind(GATEWAY_API, V1, "GRPCRoute", "grpcroutes", SAID);
/// Those of `OpenShift`, which users write.
pub const OPENSHIFT_ROUTE: KindInfo = kind("route.openshift.io", V1, "Route", "routes", SAID);
/// Who may use an ingress gateway.
pub const AUTHORIZATION_POLICY: KindInfo = kind(
    "security.istio.io",
    V1,
    "AuthorizationPolicy",
    "authorizationpolicies",
    &[WATCH, may(WRITE, Everywhere, &[INGRESS_GATEWAY])],
);
/// What egress gateways log.
pub const TELEMETRY: KindInfo =
    kind("telemetry.istio.io", V1, "Telemetry", "telemetries", &[WATCH, may(WRITE, Everywhere, &[EGRESS_GATEWAY])]);
/// The filter.
pub const WASM_PLUGIN: KindInfo = kind(EXTENSIONS, &["v1alpha1"], "WasmPlugin", "wasmplugins", FILTER);
/// The filter, in later releases of Istio.
pub const TRAFFIC_EXTENSION: KindInfo =
    kind(EXTENSIONS, &["v1alpha1"], "TrafficExtension", "trafficextensions", FILTER);
/// By which clusters show the registry that they are alive, and by which one of several controllers leads.
pub const LEASE: KindInfo = kind("coordination.k8s.io", V1, "Lease", "leases", LEASES);
/// The steering key.
pub const SECRET: KindInfo = kind("", V1, "Secret", "secrets", SECRETS);
/// What users are told.
pub const EVENT: KindInfo = kind("events.k8s.io", V1, "Event", "events", &[may(&["create", "patch"], Everywhere, ANY)]);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service};
    use k8s_openapi::api::discovery::v1::EndpointSlice;
    use k8s_openapi::api::events::v1::Event;

    use super::*;
    use crate::api::{
        ClusterConnection, ClusterConnectionPolicy, ExportedEndpoints, ExportedService, ServiceExport, ServiceImport,
        WanCluster, WanPolicy,
    };
    use crate::emit::object::Kind;
    use crate::watched::Watched;

    #[test]
    fn the_table_says_what_the_types_say() {
        let table = [
            (WAN_POLICY, ApiResource::erase::<WanPolicy>(&())),
            (SERVICE_IMPORT, ApiResource::erase::<ServiceImport>(&())),
            (SERVICE_EXPORT, ApiResource::erase::<ServiceExport>(&McsVersion::V1Alpha1)),
            (EXPORTED_SERVICE, ApiResource::erase::<ExportedService>(&())),
            (EXPORTED_ENDPOINTS, ApiResource::erase::<ExportedEndpoints>(&())),
            (WAN_CLUSTER, ApiResource::erase::<WanCluster>(&())),
            (CONNECTION_POLICY, ApiResource::erase::<ClusterConnectionPolicy>(&())),
            (CLUSTER_CONNECTION, ApiResource::erase::<ClusterConnection>(&())),
            (SERVICE, ApiResource::erase::<Service>(&())),
            (ENDPOINT_SLICE, ApiResource::erase::<EndpointSlice>(&())),
            (POD, ApiResource::erase::<Pod>(&())),
            (NAMESPACE, ApiResource::erase::<Namespace>(&())),
            (LEASE, ApiResource::erase::<Lease>(&())),
            (SECRET, ApiResource::erase::<Secret>(&())),
            (EVENT, ApiResource::erase::<Event>(&())),
            (CONFIG_MAP, ApiResource::erase::<ConfigMap>(&())),
        ];
        for (kind, resource) in table {
            assert_eq!(kind.resource(), resource);
        }
        assert_eq!(MCS, McsVersion::ALL.map(McsVersion::as_str));
        let titles: BTreeSet<_> = Watched::all().map(|watched| watched.info().title()).collect();
        assert_eq!(titles.len(), Watched::all().count(), "each is told from all others: {titles:?}");
    }

    #[test]
    fn what_is_watched_and_written_is_what_the_rights_are_for() {
        let may = |kind: &KindInfo, verb| kind.rights.iter().any(|right| right.verbs.contains(&verb));
        for watched in Watched::all() {
            let kind = watched.info();
            assert!(may(kind, "watch"), "{}", kind.name);
            let is_deleted = watched.emitted().is_some_and(|kind| kind != Kind::WanCluster);
            assert_eq!(may(kind, "delete"), is_deleted, "{}", kind.name);
        }
    }
}
