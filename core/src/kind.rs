//! Every kind of objects that mcwan has to do with: its names, what is done with it, and the rights that this takes.
//!
//! Each fact of a kind stands here, and nowhere else. The enums that forbid nonsense ([what is
//! written](crate::emit::object::Kind), [what is watched](crate::watched::Watched), [what is
//! input](crate::snapshot::change::InputKind), [whose status is ours](crate::status::StatusKind)) lead here.

use kube_core::{ApiResource, GroupVersionKind};

use crate::api::{GROUP, MCS_GROUP, REGISTRY_NAMESPACE, TIER_NAMESPACE, VERSION};
use crate::emit::kubernetes::names::{EGRESS_GATEWAY, INGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, PLUGIN, TIER_RULE};

/// What there is to know of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// As in `kind: Service`.
    pub name: &'static str,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version that API servers are asked for, where they have no say in it.
    pub version: &'static str,
    /// The versions that files may have, the preferred one first: they have the same fields.
    pub file_versions: &'static [&'static str],
    /// As in a URL.
    pub plural: &'static str,
    /// Where its objects are.
    pub scope: Scope,
    /// What the controller needs to be allowed.
    pub rights: &'static [Right],
}

/// Where the objects of a kind are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// In none.
    Cluster,
}

/// What may be done with objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// Where they are.
    pub place: Place,
    /// A part of them; none: the whole.
    pub subresource: Option<&'static str>,
    /// What they are called; empty: anything.
    pub names: &'static [&'static str],
    /// As in RBAC.
    pub verbs: &'static [&'static str],
}

/// Where a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
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
    /// As in `apiVersion: discovery.k8s.io/v1`.
    pub fn api_version(&self) -> String {
        api_version(self.group, self.version)
    }

    /// The same of what people are told to write into files.
    pub fn file_api_version(&self) -> String {
        api_version(self.group, self.file_versions.first().unwrap_or(&self.version))
    }

    /// What kube needs to know of it.
    pub fn resource(&self) -> ApiResource {
        self.resource_of(self.version)
    }

    /// The same, in a version that the API server chose.
    pub fn resource_of(&self, version: &str) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(self.group, version, self.name), self.plural)
    }

    /// Whether mcwan defines it.
    pub fn is_ours(&self) -> bool {
        self.group == GROUP
    }

    /// Whether clusters tell each other by it.
    pub const fn is_in_registry(&self) -> bool {
        let [first, ..] = self.rights else { return false };
        matches!(first.place, Place::Registry)
    }

    /// Whether it is listed and watched.
    pub fn is_watched(&self) -> bool {
        self.rights.iter().any(|right| right.verbs.contains(&"watch"))
    }

    /// Whether its objects are made, and deleted.
    pub fn is_written(&self) -> bool {
        self.rights.iter().any(|right| right.verbs.contains(&"delete"))
    }
}

impl Place {
    /// The namespace, where it is one that everybody knows.
    pub const fn namespace(self) -> Option<&'static str> {
        match self {
            Self::Tiers => Some(TIER_NAMESPACE),
            Self::Registry => Some(REGISTRY_NAMESPACE),
            Self::Everywhere | Self::Own => None,
        }
    }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

const ANY: &[&str] = &[];
const GATEWAYS: &[&str] = &[EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, INGRESS_GATEWAY];

const fn watch(place: Place) -> Right {
    Right { place, subresource: None, names: ANY, verbs: &["get", "list", "watch"] }
}

/// By server-side apply; who sets owner references must be allowed to delete.
const fn write(place: Place, names: &'static [&'static str]) -> Right {
    Right { place, subresource: None, names, verbs: &["create", "patch", "delete"] }
}

const WATCH: Right = watch(Place::Everywhere);
const STATUS: Right = Right { place: Place::Everywhere, subresource: Some("status"), names: ANY, verbs: &["patch"] };

const fn namespaced(
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
    rights: &'static [Right],
) -> KindInfo {
    KindInfo { name, group, version, file_versions: &[], plural, scope: Scope::Namespaced, rights }
}

const fn ours(name: &'static str, plural: &'static str, scope: Scope, rights: &'static [Right]) -> KindInfo {
    KindInfo { name, group: GROUP, version: VERSION, file_versions: &[VERSION], plural, scope, rights }
}

impl KindInfo {
    const fn in_files(self, file_versions: &'static [&'static str]) -> Self {
        Self { file_versions, ..self }
    }
}

/// A tier.
pub const WAN_POLICY: KindInfo = ours("WANPolicy", "wanpolicies", Scope::Cluster, &[WATCH, STATUS]);
/// The rules of an import.
pub const SERVICE_IMPORT: KindInfo = ours("ServiceImport", "serviceimports", Scope::Namespaced, &[WATCH, STATUS]);
/// What a cluster tells of itself.
pub const WAN_CLUSTER: KindInfo = ours("WANCluster", "wanclusters", Scope::Namespaced, REGISTRY);
/// What a cluster tells of what it exports.
pub const EXPORTED_SERVICE: KindInfo = ours("ExportedService", "exportedservices", Scope::Namespaced, REGISTRY);
const REGISTRY: &[Right] = &[watch(Place::Registry), write(Place::Registry, ANY)];

/// In the version that is served.
pub const SERVICE_EXPORT: KindInfo =
    namespaced(MCS_GROUP, "v1beta1", "ServiceExport", "serviceexports", &[WATCH, STATUS])
        .in_files(&["v1beta1", "v1alpha1"]);

/// Those of users, and ours.
pub const SERVICE: KindInfo =
    namespaced("", "v1", "Service", "services", &[WATCH, write(Place::Everywhere, ANY)]).in_files(&["v1"]);
/// Those of users' Services, and of tier services.
pub const ENDPOINT_SLICE: KindInfo =
    namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", &[WATCH, write(Place::Tiers, ANY)])
        .in_files(&["v1"]);
/// Those of users, and ours. Releases of Gateway API before 1.5 serve no later version.
pub const REFERENCE_GRANT: KindInfo = namespaced(
    "gateway.networking.k8s.io",
    "v1beta1",
    "ReferenceGrant",
    "referencegrants",
    &[WATCH, write(Place::Tiers, ANY)],
)
.in_files(&["v1", "v1beta1"]);
/// The pods of Gateways.
pub const POD: KindInfo = namespaced("", "v1", "Pod", "pods", &[WATCH]).in_files(&["v1"]);
/// Where imports and exports are.
pub const NAMESPACE: KindInfo =
    KindInfo { scope: Scope::Cluster, ..namespaced("", "v1", "Namespace", "namespaces", &[WATCH]) };
/// By which clusters show the registry that they are alive, and by which one of several controllers leads.
pub const LEASE: KindInfo = namespaced(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    &[
        watch(Place::Registry),
        Right { place: Place::Registry, subresource: None, names: ANY, verbs: &["create", "patch"] },
        Right { place: Place::Own, subresource: None, names: ANY, verbs: &["create"] },
        Right { place: Place::Own, subresource: None, names: &["mcwan"], verbs: &["get", "update"] },
    ],
);
/// The steering key.
pub const SECRET: KindInfo = namespaced(
    "",
    "v1",
    "Secret",
    "secrets",
    &[
        Right { place: Place::Own, subresource: None, names: ANY, verbs: &["create"] },
        Right { place: Place::Own, subresource: None, names: &["mcwan-steering-key"], verbs: &["get"] },
    ],
);
/// What users are told.
pub const EVENT: KindInfo = namespaced(
    "events.k8s.io",
    "v1",
    "Event",
    "events",
    &[Right { place: Place::Everywhere, subresource: None, names: ANY, verbs: &["create", "patch"] }],
);

/// Who is behind tier services.
pub const DESTINATION_RULE: KindInfo = namespaced(
    "networking.istio.io",
    "v1",
    "DestinationRule",
    "destinationrules",
    &[WATCH, write(Place::Tiers, &[TIER_RULE])],
);
/// What gateways are made with.
pub const CONFIG_MAP: KindInfo =
    namespaced("", "v1", "ConfigMap", "configmaps", &[WATCH, write(Place::Everywhere, GATEWAYS)]);
/// Who may use an ingress gateway.
pub const AUTHORIZATION_POLICY: KindInfo = namespaced(
    "security.istio.io",
    "v1",
    "AuthorizationPolicy",
    "authorizationpolicies",
    &[WATCH, write(Place::Everywhere, &[INGRESS_GATEWAY])],
);
/// What egress gateways log.
pub const TELEMETRY: KindInfo = namespaced(
    "telemetry.istio.io",
    "v1",
    "Telemetry",
    "telemetries",
    &[WATCH, write(Place::Everywhere, &[EGRESS_GATEWAY])],
);
/// The filter.
pub const WASM_PLUGIN: KindInfo = namespaced("extensions.istio.io", "v1alpha1", "WasmPlugin", "wasmplugins", FILTER);
/// The filter, in later releases of Istio.
pub const TRAFFIC_EXTENSION: KindInfo =
    namespaced("extensions.istio.io", "v1alpha1", "TrafficExtension", "trafficextensions", FILTER);
const FILTER: &[Right] = &[WATCH, write(Place::Everywhere, &[PLUGIN])];
/// Egress and ingress gateways.
pub const GATEWAY: KindInfo =
    namespaced("gateway.networking.k8s.io", "v1", "Gateway", "gateways", &[WATCH, write(Place::Everywhere, GATEWAYS)]);
/// The routes behind the filter.
pub const HTTP_ROUTE: KindInfo =
    namespaced("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes", &[WATCH, write(Place::Everywhere, ANY)]);

/// Every kind.
pub const ALL: [&KindInfo; 21] = [
    &WAN_POLICY,
    &SERVICE_IMPORT,
    &SERVICE_EXPORT,
    &EXPORTED_SERVICE,
    &WAN_CLUSTER,
    &SERVICE,
    &ENDPOINT_SLICE,
    &REFERENCE_GRANT,
    &POD,
    &NAMESPACE,
    &LEASE,
    &SECRET,
    &EVENT,
    &DESTINATION_RULE,
    &CONFIG_MAP,
    &AUTHORIZATION_POLICY,
    &TELEMETRY,
    &WASM_PLUGIN,
    &TRAFFIC_EXTENSION,
    &GATEWAY,
    &HTTP_ROUTE,
];

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service};
    use k8s_openapi::api::discovery::v1::EndpointSlice;
    use k8s_openapi::api::events::v1::Event;

    use super::*;
    use crate::api::{ExportedService, McsVersion, ServiceExport, ServiceImport, WanCluster, WanPolicy};
    use crate::emit::object::Kind;
    use crate::watched::Watched;

    #[test]
    fn the_table_says_what_the_types_say() {
        let table = [
            (WAN_POLICY, ApiResource::erase::<WanPolicy>(&())),
            (SERVICE_IMPORT, ApiResource::erase::<ServiceImport>(&())),
            (SERVICE_EXPORT, ApiResource::erase::<ServiceExport>(&McsVersion::V1Beta1)),
            (EXPORTED_SERVICE, ApiResource::erase::<ExportedService>(&())),
            (WAN_CLUSTER, ApiResource::erase::<WanCluster>(&())),
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
        assert_eq!(SERVICE_EXPORT.file_versions, McsVersion::ALL.map(McsVersion::as_str));
    }

    #[test]
    fn what_is_watched_and_written_is_what_the_rights_are_for() {
        for kind in ALL {
            let is_watched = Watched::all().any(|watched| watched.info() == kind);
            let is_written = Kind::ALL.iter().any(|written| written.info() == kind);
            assert_eq!((kind.is_watched(), kind.is_written()), (is_watched, is_written), "{}", kind.name);
        }
        assert!(Watched::all().all(|watched| ALL.contains(&watched.info())));
    }
}
