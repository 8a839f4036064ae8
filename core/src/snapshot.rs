//! From where resources come.

pub mod change;
pub mod finding;
pub mod input;
pub mod keyed;
pub mod objects;
pub mod pod;

mod clusters;
mod document;
mod documents;
mod gathered;
mod hint;
mod item;
mod kind;
mod routes;
mod slip;
mod submariner;
mod typed;
mod view;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use gateway_api::referencegrants::ReferenceGrant;
use k8s_openapi::api::core::v1::{Namespace, Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};

pub use gathered::{Gathered, Reader};
pub use keyed::{Key, Keyed};
pub use objects::{Age, Objects};
use pod::Pod;
pub use routes::{RouteRef, Routes};
pub use view::{is_from_elsewhere, is_of_hosts, of_hosts, view, viewed};

use crate::api::{
    ClusterConnection, ClusterConnectionPolicy, ExportedEndpoints, ExportedService, McsServiceImport, OpenshiftRoute,
    ServiceExport, ServiceImport, WanCluster, WanPolicy,
};

/// Everything that the rest is computed from. Every namespaced object has its namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The tiers.
    pub wan_policies: Objects<WanPolicy>,
    /// The rules.
    pub service_imports: Objects<ServiceImport>,
    /// The `ServiceImport`s that cannot be read: what they should forbid must not be open.
    pub unreadable_imports: Keyed<Unreadable>,
    /// The rules that others than `ServiceImport`s give.
    pub routes: Routes,
    /// What is asked for hosts that users choose.
    pub openshift_routes: Objects<OpenshiftRoute>,
    /// Of each Secret that these name, as far as that was asked, whether we may read it; none: all.
    pub secrets: Option<BTreeMap<Key, bool>>,
    /// What this cluster exports.
    pub service_exports: Objects<ServiceExport>,
    /// What the clusters export, by the registry.
    pub exported_services: Objects<ExportedService>,
    /// The pods behind that, as far as clusters tell of them.
    pub exported_endpoints: Objects<ExportedEndpoints>,
    /// The clusters, by the registry.
    pub wan_clusters: Objects<WanCluster>,
    /// Those of them that do not show that they are alive.
    pub stale_clusters: BTreeSet<String>,
    /// Those of them that have been silent for too long to admit their egress gateways.
    pub refused_clusters: BTreeSet<String>,
    /// Which tiers pairs of clusters may use, by the registry.
    pub connection_policies: Objects<ClusterConnectionPolicy>,
    /// Those of them that cannot be read: what they should take away must not be open.
    pub unreadable_policies: Keyed<Unreadable>,
    /// What the API server has of what is told of that.
    pub cluster_connections: Keyed<ClusterConnection>,
    /// Services of this cluster.
    pub services: Objects<Service>,
    /// The endpoints of these Services.
    pub endpoint_slices: Objects<EndpointSlice>,
    /// What the API server has made of the Services that clients of imports call.
    pub client_services: Keyed<ClientService>,
    /// What it has of the `ServiceImport`s of the Multi-Cluster Services API that we wrote.
    pub mcs_service_imports: Keyed<McsServiceImport>,
    /// Who may refer to Services of other namespaces.
    pub reference_grants: Objects<ReferenceGrant>,
    /// The pods of gateways.
    pub gateway_pods: Objects<Pod>,
    /// The namespaces of this cluster; none: any that is named exists.
    pub namespaces: Option<Objects<Namespace>>,
}

/// An object that is there, but not in a form that we know.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// The hosts of a `ServiceImport`, which it keeps: what is wrong with it must not leave them to another's rules.
    pub hostnames: Vec<String>,
    /// What is wrong with it.
    pub error: String,
}

/// A Service of ours that clients of an import call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientService {
    /// The Service.
    pub key: Key,
    /// The import.
    pub import: Key,
    /// Its addresses, one of each family; none of a headless one.
    pub addresses: Vec<IpAddr>,
}

/// The TCP port of a Service that has a number.
pub fn service_port(service: &Service, port: u16) -> Option<&ServicePort> {
    let mut ports = service.spec.iter().flat_map(|spec| &spec.ports).flatten();
    ports.find(|known| known.port == i32::from(port) && known.protocol.as_deref().is_none_or(|name| name == "TCP"))
}

impl Snapshot {
    /// Whether a namespace is there, and not about to go.
    pub fn has_namespace(&self, name: &str) -> bool {
        self.namespaces.as_ref().is_none_or(|all| {
            all.get("", name).is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_none())
        })
    }

    /// Whether we may read a Secret that a `Route` names.
    pub fn may_read(&self, secret: &Key) -> bool {
        self.secrets.as_ref().is_none_or(|asked| asked.get(secret) == Some(&true))
    }

    /// The slices of a Service.
    pub fn endpoint_slices_of(&self, namespace: &str, service: &str) -> impl Iterator<Item = &EndpointSlice> {
        self.endpoint_slices.in_namespace(namespace).filter(move |slice| service_name(slice) == Some(service))
    }

    /// The slices of a namespace, by Service.
    pub fn endpoint_slices_in(&self, namespace: &str) -> BTreeMap<&str, Vec<&EndpointSlice>> {
        let mut all: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for slice in self.endpoint_slices.in_namespace(namespace) {
            if let Some(service) = service_name(slice) {
                all.entry(service).or_default().push(slice);
            }
        }
        all
    }
}

/// The Secret with the certificate of a `Route`, if it names one.
pub fn named_secret(route: &OpenshiftRoute) -> Option<Key> {
    Some(Key::new(Key::of(&route.metadata).namespace, route.named_secret()?))
}

/// The Service that a slice belongs to.
fn service_of(slice: &EndpointSlice) -> Option<Key> {
    Some(Key::new(slice.metadata.namespace.as_deref().unwrap_or_default(), service_name(slice)?))
}

fn service_name(slice: &EndpointSlice) -> Option<&str> {
    slice.metadata.labels.as_ref()?.get(SERVICE_LABEL).map(String::as_str)
}

/// The label of an `EndpointSlice` that names its Service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";
