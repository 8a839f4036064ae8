//! The endpoints of a service of several clusters, as the Multi-Cluster Services API has them: by these DNS knows the pods of
//! a headless one.
//!
//! They lack the label `kubernetes.io/service-name`, as nobody is to be led to pods by them: requests pass the egress gateway.

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use crate::api::MCS_GROUP;
use crate::emit::object::{Kind, Object};
use crate::snapshot::{Key, Snapshot};
use crate::translate::Translator;

use super::draft::Draft;
use super::{MANAGER, names};

/// The labels of the API: of which service, and in which cluster.
const SERVICE_NAME: &str = "multicluster.kubernetes.io/service-name";
const SOURCE_CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";

/// The families of addresses that pods have.
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

/// The slices of a service: one for each that Kubernetes has of this cluster's pods, so none is larger than Kubernetes lets
/// it be (1,000 endpoints). None where the registry does not have our export, and as long as the `ServiceImport` is not there,
/// to which they belong.
pub fn slice_objects(service: &Key, translator: &Translator, snapshot: &Snapshot) -> Vec<Object> {
    let exports = translator.exports();
    let Some(shown) = snapshot.mcs_service_imports.get(&service.namespace, &service.name) else { return Vec::new() };
    let owner = OwnerReference {
        api_version: format!("{MCS_GROUP}/{}", translator.mcs_version().as_str()),
        kind: Kind::McsServiceImport.name().to_owned(),
        name: service.name.to_string(),
        uid: shown.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let mut clusters = exports.declared(&service.namespace, &service.name).map(|one| &*one.precedence.cluster);
    let Some(cluster) = clusters.find(|cluster| exports.is_own(cluster)) else { return Vec::new() };
    let slices = snapshot.endpoint_slices_of(&service.namespace, &service.name);
    let slices = slices.filter(|slice| FAMILIES.contains(&&*slice.address_type));
    slices.map(|slice| copy(service, cluster, slice, &owner)).collect()
}

fn copy(service: &Key, cluster: &str, slice: &EndpointSlice, owner: &OwnerReference) -> Object {
    let name = names::clusterset_slice(slice.metadata.name.as_deref().unwrap_or_default(), cluster);
    let draft = Draft::new(Kind::EndpointSlice, &service.namespace, name)
        .of_import(&service.namespace, &service.name)
        .label("endpointslice.kubernetes.io/managed-by", MANAGER)
        .label(SERVICE_NAME, &service.name)
        .label(SOURCE_CLUSTER, cluster)
        .owned_by(Some(owner));
    let endpoints: Vec<_> = slice.endpoints.iter().flatten().map(endpoint).collect();
    draft.with(json!({"addressType": slice.address_type, "endpoints": endpoints, "ports": slice.ports}))
}

/// An endpoint as other clusters can know it: without its node, and the pod.
fn endpoint(endpoint: &Endpoint) -> Value {
    json!(Endpoint {
        addresses: endpoint.addresses.clone(),
        conditions: endpoint.conditions.clone(),
        hostname: endpoint.hostname.clone(),
        zone: endpoint.zone.clone(),
        ..Endpoint::default()
    })
}
