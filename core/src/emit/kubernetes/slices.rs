//! The endpoints of a service of several clusters: this cluster's pods, and those of the clusters on its network.
//!
//! The Multi-Cluster Services API has slices of its own, by which DNS knows the pods of a headless service. They lead
//! nobody to pods, as requests pass the egress gateway: they belong to no Service. Connections that are no requests go
//! straight to pods: for these, the Service that clients call has slices of ours beside Kubernetes'.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use crate::api::{
    AddressType, ExportedEndpointsSpec, ExportedPort, MCS_GROUP, PodEndpoint, PodPort, Protocol, REGISTRY_NAMESPACE,
};
use crate::emit::object::{Kind, Object};
use crate::json::put_at;
use crate::liveness::Liveness;
use crate::snapshot::{Key, Snapshot};
use crate::translate::{Clusterset, Declared, DirectPort, Import, Translator, is_usable};

use super::draft::Draft;
use super::{MANAGER, Settings, names};

/// The labels of the API: of which service, and in which cluster.
const SERVICE_NAME: &str = "multicluster.kubernetes.io/service-name";
const SOURCE_CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";

/// The label by which Kubernetes finds the endpoints of a Service.
const OF_SERVICE: &str = "kubernetes.io/service-name";

/// A name that no Service has, as it is no label (RFC 1035). Without any, `CoreDNS` 1.15 gives no answer to who asks for the
/// name of a pod's address.
const NO_SERVICE: &str = "clusterset.mcwan";

/// Pods of a service in one slice of their cluster.
#[derive(Debug)]
struct Pods {
    /// What the slice is called there.
    slice: String,
    spec: ExportedEndpointsSpec,
}

/// The endpoints of a service: what the registry is told of this cluster's pods, while another cluster reaches them, and the
/// slices of all that are reached. Each is of one slice that Kubernetes has of the pods, so none is larger than Kubernetes
/// lets it be (1,000 endpoints). Of this cluster's there are none where the registry does not have our export, and no slices
/// as long as the `ServiceImport` is not there, to which they belong.
pub fn slice_objects(service: &Key, translator: &Translator, snapshot: &Snapshot, settings: &Settings) -> Vec<Object> {
    let own = own_pods(service, translator, snapshot);
    let mut objects = Vec::new();
    if translator.exports().has_neighbours() {
        objects.extend(own.iter().map(|pods| told(service, pods, settings)));
    }
    let Some(shown) = snapshot.mcs_service_imports.get(&service.namespace, &service.name) else { return objects };
    let owner = OwnerReference {
        api_version: format!("{MCS_GROUP}/{}", translator.mcs_version().as_str()),
        kind: Kind::McsServiceImport.name().to_owned(),
        name: service.name.to_string(),
        uid: shown.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let import = translator.imports().get(&service.namespace, &service.name);
    let is_ready = |pods: &&Pods| pods.spec.endpoints.iter().any(|endpoint| endpoint.ready != Some(false));
    let stays_close = import.and_then(|import| import.clusterset.as_ref()).is_some_and(Clusterset::stays_close);
    let first = own.iter().find(is_ready).map(|pods| &*pods.spec.cluster).filter(|_| stays_close);
    let others = others_pods(service, translator, snapshot);
    let is_any_live = !own.is_empty() || others.iter().any(|(liveness, _)| *liveness == Liveness::Live);
    let used = others.iter().filter(|(liveness, _)| *liveness == Liveness::Live || !is_any_live);
    for pods in own.iter().chain(used.map(|(_, pods)| pods)) {
        let ports =
            import.map(|import| direct_ports(import, translator, &pods.spec.cluster, first)).unwrap_or_default();
        objects.push(of_api(service, pods, &owner));
        objects.extend(of_service(service, pods, &ports, &owner));
    }
    // Another cluster may call its slices so that two of ours have one name.
    let mut ids = BTreeSet::new();
    objects.retain(|object| ids.insert(object.id.clone()));
    objects
}

/// The pods of this cluster, as far as the registry has our export.
fn own_pods(service: &Key, translator: &Translator, snapshot: &Snapshot) -> Vec<Pods> {
    let exports = translator.exports();
    let mut declared = exports.declared(&service.namespace, &service.name).map(|one| &*one.precedence.cluster);
    let Some(cluster) = declared.find(|cluster| exports.is_own(cluster)) else { return Vec::new() };
    let slices = snapshot.endpoint_slices_of(&service.namespace, &service.name);
    slices.filter_map(|slice| Pods::of(slice, service, cluster)).collect()
}

/// The pods of other clusters that are reached, and whether these clusters are alive: those of one that is not are used only
/// where nobody else has any.
fn others_pods(service: &Key, translator: &Translator, snapshot: &Snapshot) -> Vec<(Liveness, Pods)> {
    let exports = translator.exports();
    let sources = exports.sources(&service.namespace, &service.name);
    let near = sources.filter(|source| !source.is_own && exports.is_near(&source.cluster));
    let pods = near.flat_map(|source| {
        let prefix = format!("{}.", names::exported_service(&source.cluster, &service.namespace, &service.name));
        let exported = snapshot.exported_endpoints.beginning(REGISTRY_NAMESPACE, &prefix);
        let pods = exported.map(|exported| {
            let name = exported.metadata.name.as_deref().unwrap_or_default();
            let slice = name.strip_prefix(&prefix).unwrap_or(name).to_owned();
            let mut spec = exported.spec.clone();
            // One that a slice may not hold would keep out all others of it.
            spec.endpoints.retain(|endpoint| is_usable(endpoint.address) && !exports.refuses(&endpoint.address));
            (source.liveness, Pods { slice, spec })
        });
        pods.collect::<Vec<_>>()
    });
    pods.filter(|(_, pods)| !pods.spec.endpoints.is_empty()).collect()
}

impl Pods {
    /// Those of a slice of this cluster; none where there are none: the API server gives these back with null. Other clusters
    /// know nothing of nodes and names of pods.
    fn of(slice: &EndpointSlice, service: &Key, cluster: &str) -> Option<Self> {
        let endpoint = |endpoint: &Endpoint| {
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            Some(PodEndpoint {
                // Kubernetes gives one address each (`Endpoint.addresses`).
                address: endpoint.addresses.first()?.parse().ok()?,
                ready: conditions.ready,
                serving: conditions.serving,
                terminating: conditions.terminating,
                hostname: endpoint.hostname.clone(),
                zone: endpoint.zone.clone(),
            })
        };
        let port = |port: &EndpointPort| {
            Some(PodPort {
                name: port.name.clone().filter(|name| !name.is_empty()),
                port: u16::try_from(port.port?).ok()?.try_into().ok()?,
                protocol: Protocol::of(port.protocol.as_deref())?,
                app_protocol: port.app_protocol.clone(),
            })
        };
        let spec = ExportedEndpointsSpec {
            cluster: cluster.to_owned(),
            namespace: service.namespace.to_string(),
            name: service.name.to_string(),
            address_type: AddressType::of(&slice.address_type)?,
            ports: slice.ports.iter().flatten().filter_map(port).collect(),
            endpoints: slice.endpoints.iter().flatten().filter_map(endpoint).collect(),
        };
        let slice = slice.metadata.name.clone().unwrap_or_default();
        (!spec.endpoints.is_empty()).then_some(Self { slice, spec })
    }
}

/// What the registry is told of pods of this cluster.
fn told(service: &Key, Pods { slice, spec }: &Pods, settings: &Settings) -> Object {
    let name = names::exported_endpoints(&spec.cluster, service, slice);
    let draft = Draft::new(Kind::ExportedEndpoints, REGISTRY_NAMESPACE, name)
        .of_cluster(&spec.cluster)
        .of_export(&service.namespace, &service.name)
        .owned_by(settings.wan_cluster.as_ref());
    draft.with_spec(json!(spec))
}

/// The ports of an import whose connections go straight to the pods of a cluster: what it calls each, and what the Service
/// that clients call does. Where a cluster comes first, others take no connections on ports that it has. A headless one leads
/// to its pods by itself.
fn direct_ports(
    import: &Import,
    translator: &Translator,
    cluster: &str,
    first: Option<&str>,
) -> Vec<(Option<String>, String)> {
    if import.clusterset.as_ref().is_some_and(Clusterset::is_headless) {
        return Vec::new();
    }
    let mut declared = translator.exports().declared(&import.wire.namespace, &import.wire.name);
    let Some(Declared { ports, .. }) = declared.find(|one| one.precedence.cluster == cluster) else {
        return Vec::new();
    };
    let has = |direct: &DirectPort, cluster: &str| direct.near.iter().any(|near| near == cluster);
    let comes_first = |direct: &DirectPort| first.is_none_or(|first| first == cluster || !has(direct, first));
    let near = import.direct.iter().filter(|direct| has(direct, cluster) && comes_first(direct));
    let named = near.filter_map(|direct| {
        let is_it = |port: &&ExportedPort| port.number() == direct.port.number();
        Some((ports.iter().find(is_it)?.name.clone(), direct.name()))
    });
    named.collect()
}

/// A slice of the API.
fn of_api(service: &Key, pods: &Pods, owner: &OwnerReference) -> Object {
    let draft = draft(service, pods, &pods.spec.cluster, NO_SERVICE, owner);
    let draft = draft.label(SERVICE_NAME, &service.name).label(SOURCE_CLUSTER, &pods.spec.cluster);
    slice(draft, pods, &pods.spec.ports)
}

/// A slice of the Service that clients call, for these ports; none where the pods have none of them.
fn of_service(
    service: &Key,
    pods: &Pods,
    names: &[(Option<String>, String)],
    owner: &OwnerReference,
) -> Option<Object> {
    let renamed = pods.spec.ports.iter().filter_map(|port| {
        let (_, name) = names.iter().find(|(name, _)| *name == port.name)?;
        Some(PodPort { name: Some(name.clone()), ..port.clone() })
    });
    let ports: Vec<_> = renamed.collect();
    let of = names::clusterset_service(&service.name);
    let draft = || draft(service, pods, &format!("direct.{}", pods.spec.cluster), &of, owner);
    (!ports.is_empty()).then(|| slice(draft(), pods, &ports))
}

fn draft(service: &Key, pods: &Pods, suffix: &str, of: &str, owner: &OwnerReference) -> Draft {
    Draft::new(Kind::EndpointSlice, &service.namespace, names::clusterset_slice(&pods.slice, suffix))
        .of_import(service)
        .label("endpointslice.kubernetes.io/managed-by", MANAGER)
        .label(OF_SERVICE, of)
        .owned_by(Some(owner))
}

fn slice(draft: Draft, pods: &Pods, ports: &[PodPort]) -> Object {
    let endpoints: Vec<_> = pods.spec.endpoints.iter().map(endpoint).collect();
    // The API server gives an unnamed one an empty name.
    let port = |port: &PodPort| {
        json!(EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(port.port.get().into()),
            protocol: Some(port.protocol.name().to_owned()),
            app_protocol: port.app_protocol.clone(),
        })
    };
    let mut slice = json!({"addressType": pods.spec.address_type, "endpoints": endpoints});
    // The API server gives none back with null.
    if !ports.is_empty() {
        put_at(&mut slice, &["ports"], ports.iter().map(port).collect::<Value>());
    }
    draft.with(slice)
}

fn endpoint(endpoint: &PodEndpoint) -> Value {
    let mut object = json!({"addresses": [endpoint.address], "conditions": {}});
    let PodEndpoint { address: _, ready, serving, terminating, hostname, zone } = endpoint;
    for (condition, value) in [("ready", ready), ("serving", serving), ("terminating", terminating)] {
        if let Some(value) = value {
            put_at(&mut object, &["conditions", condition], *value);
        }
    }
    for (field, value) in [("hostname", hostname), ("zone", zone)] {
        if let Some(value) = value {
            put_at(&mut object, &[field], value.as_str());
        }
    }
    object
}
