//! From where resources come.

pub mod files;
pub mod finding;

mod document;
mod documents;
mod field;
mod hint;
mod item;
mod kind;
mod slip;
mod typed;
mod yaml;

use gateway_api::referencegrants::ReferenceGrant;
use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::api::{ExportedService, ServiceImport, WanCluster, WanPolicy};

/// Everything that the rest is computed from. Each list has the oldest first; what has no `creationTimestamp` comes
/// last, in the order of the documents. Every namespaced object has its namespace.
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

/// The TCP port of a Service that has a number.
pub fn service_port(service: &Service, port: u16) -> Option<&ServicePort> {
    let mut ports = service.spec.iter().flat_map(|spec| &spec.ports).flatten();
    ports.find(|known| known.port == i32::from(port) && known.protocol.as_deref().is_none_or(|name| name == "TCP"))
}

impl Snapshot {
    /// A Service of this cluster.
    pub fn service(&self, namespace: &str, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| {
            let ObjectMeta { namespace: own, name: own_name, .. } = &service.metadata;
            own.as_deref() == Some(namespace) && own_name.as_deref() == Some(name)
        })
    }

    fn sort(&mut self) {
        let Self {
            wan_policies,
            service_imports,
            exported_services,
            wan_clusters,
            services,
            endpoint_slices,
            reference_grants,
        } = self;
        sort(wan_policies);
        sort(service_imports);
        sort(exported_services);
        sort(wan_clusters);
        sort(services);
        sort(endpoint_slices);
        sort(reference_grants);
    }
}

/// The oldest first.
fn sort<T: Resource>(objects: &mut [T]) {
    objects.sort_by_key(|object| {
        let created = object.meta().creation_timestamp.clone();
        (created.is_none(), created)
    });
}
