//! What an event changes in a [`Snapshot`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gateway_api::referencegrants::ReferenceGrant;
use k8s_openapi::api::core::v1::{Namespace, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_core::{Resource, ResourceExt};

use super::pod::Pod;
use super::{ClientService, Key, Objects, RouteRef, Snapshot, Unreadable};
use crate::api::{
    ClusterConnection, ClusterConnectionPolicy, ExportedEndpoints, ExportedService, McsServiceImport, OpenshiftRoute,
    REGISTRY_NAMESPACE, Route, RouteKind, ServiceExport, ServiceImport, WanCluster, WanPolicy,
};

/// An object that a [`Snapshot`] holds.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is described at the snapshot's field")]
pub enum Input {
    WanPolicy(WanPolicy),
    ServiceImport(ServiceImport),
    UnreadableImport(Unreadable),
    ServiceExport(ServiceExport),
    ExportedService(ExportedService),
    ExportedEndpoints(ExportedEndpoints),
    WanCluster(WanCluster),
    ConnectionPolicy(ClusterConnectionPolicy),
    UnreadablePolicy(Unreadable),
    ClusterConnection(ClusterConnection),
    Service(Service),
    EndpointSlice(EndpointSlice),
    ReferenceGrant(ReferenceGrant),
    GatewayPod(Pod),
    Namespace(Namespace),
    ClientService(ClientService),
    McsServiceImport(McsServiceImport),
    Route(Route),
    OpenshiftRoute(OpenshiftRoute),
}

/// The kind of an [`Input`] that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "as in `Input`")]
pub enum InputKind {
    WanPolicy,
    ServiceImport,
    ServiceExport,
    ExportedService,
    ExportedEndpoints,
    WanCluster,
    ConnectionPolicy,
    ClusterConnection,
    Service,
    EndpointSlice,
    ReferenceGrant,
    GatewayPod,
    Namespace,
    ClientService,
    McsServiceImport,
    Route(RouteKind),
    OpenshiftRoute,
}

/// What may mean something else than before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Everything.
    Everything,
    /// The status of a `WANPolicy`, and nothing else of it.
    PolicyStatus(Key),
    /// The egress gateways of a namespace in another cluster.
    RemoteEgress(Arc<str>),
    /// A `ServiceImport`.
    Import(Key),
    /// The status of a `ServiceImport`, and nothing else of it.
    ImportStatus(Key),
    /// Whether a cluster shows that it is alive.
    Liveness(Arc<str>),
    /// What policies go by of a cluster: its labels, or the cable drivers that it supports.
    Cluster(Arc<str>),
    /// On which tiers a cluster says that it admits others.
    Admission(Arc<str>),
    /// Which gateways of others a cluster says that it admits.
    Admitted(Arc<str>),
    /// The policies of which tiers pairs of clusters may use.
    ConnectionPolicies,
    /// The status of the `ClusterConnection` to a cluster.
    ConnectionStatus(Arc<str>),
    /// What the registry says of a service.
    Exported {
        /// The service.
        service: Key,
        /// The `ExportedService`.
        export: Key,
    },
    /// A Service of this cluster.
    Service(Key),
    /// The endpoints of a Service.
    Endpoints(Key),
    /// Pods behind a service in another cluster.
    RemoteEndpoints(Key),
    /// The `ReferenceGrant`s of a namespace.
    Grants(Arc<str>),
    /// A `ServiceExport`.
    Export(Key),
    /// The pods of the gateways of a namespace.
    GatewayPods(Arc<str>),
    /// A namespace has come, or goes.
    Namespace(Arc<str>),
    /// The addresses that clients call an import by.
    Addresses(Key),
    /// The status of the `ServiceImport` of the Multi-Cluster Services API that we wrote for an import.
    McsImportStatus(Key),
    /// A `Route` of `OpenShift`.
    OpenshiftRoute(Key),
    /// What it is told, and nothing else of it.
    OpenshiftRouteStatus(Key),
    /// Which Secrets of a namespace we may read.
    Secrets(Arc<str>),
    /// A route, or what it is told; the imports that it has as parents change by themselves.
    Route(RouteRef),
}

impl Snapshot {
    /// Puts an object in.
    pub fn put(&mut self, input: Input) -> Vec<Change> {
        match input {
            Input::WanPolicy(policy) => {
                let same = |old: &WanPolicy, new: &WanPolicy| is_same(old, new) && old.spec == new.spec;
                let key = Key::of(&policy.metadata);
                vec![
                    put(&mut self.wan_policies, policy, same).map_or(Change::PolicyStatus(key), |_| Change::Everything),
                ]
            }
            Input::ServiceImport(import) => {
                let key = Key::of(&import.metadata);
                let was_unreadable = self.unreadable_imports.remove(&key).is_some();
                let same = |old: &ServiceImport, new: &ServiceImport| is_same(old, new) && old.spec == new.spec;
                match put(&mut self.service_imports, import, same) {
                    None if !was_unreadable => vec![Change::ImportStatus(key)],
                    _ => vec![Change::Import(key)],
                }
            }
            Input::UnreadableImport(unreadable) => {
                let key = Key::of(&unreadable.metadata);
                self.service_imports.remove(&key);
                self.unreadable_imports.insert(&key, unreadable);
                vec![Change::Import(key)]
            }
            Input::ServiceExport(export) => {
                changed(put(&mut self.service_exports, export, |_, _| false), Change::Export)
            }
            Input::ExportedService(export) => {
                let service = |export: &ExportedService| Key::new(&*export.spec.namespace, &*export.spec.name);
                let key = Key::of(&export.metadata);
                let now = service(&export);
                let before = self.exported_services.get(&key.namespace, &key.name).map(service);
                let same = |old: &ExportedService, new: &ExportedService| is_same(old, new) && old.spec == new.spec;
                if put(&mut self.exported_services, export, same).is_none() {
                    return Vec::new();
                }
                let moved = before.filter(|before| *before != now).into_iter();
                let exported = |service| Change::Exported { service, export: key.clone() };
                moved.chain([now]).map(exported).collect()
            }
            Input::ExportedEndpoints(exported) => {
                let same = |old: &ExportedEndpoints, new: &ExportedEndpoints| old.spec == new.spec;
                let service = Key::new(exported.spec.namespace.as_str(), exported.spec.name.as_str());
                changed(put(&mut self.exported_endpoints, exported, same), |_| Change::RemoteEndpoints(service.clone()))
            }
            Input::WanCluster(cluster) => self.put_cluster(cluster),
            Input::ConnectionPolicy(policy) => self.put_connection_policy(policy),
            Input::UnreadablePolicy(unreadable) => self.put_unreadable_policy(unreadable),
            Input::ClusterConnection(connection) => self.put_connection(connection),
            Input::Service(service) => {
                let same = |old: &Service, new: &Service| is_same(old, new) && old.spec == new.spec;
                changed(put(&mut self.services, service, same), Change::Service)
            }
            Input::EndpointSlice(slice) => {
                let (key, service) = (Key::of(&slice.metadata), super::service_of(&slice));
                let before = self.endpoint_slices.get(&key.namespace, &key.name).and_then(super::service_of);
                self.endpoint_slices.insert(slice);
                let moved = before.filter(|before| Some(before) != service.as_ref());
                moved.into_iter().chain(service).map(Change::Endpoints).collect()
            }
            Input::ReferenceGrant(grant) => {
                let same = |old: &ReferenceGrant, new: &ReferenceGrant| is_same(old, new) && old.spec == new.spec;
                changed(put(&mut self.reference_grants, grant, same), |key| Change::Grants(key.namespace))
            }
            Input::GatewayPod(pod) => {
                changed(put(&mut self.gateway_pods, pod, is_same_pod), |key| Change::GatewayPods(key.namespace))
            }
            Input::Namespace(namespace) => {
                let name = Arc::from(namespace.name_any());
                let was_there = self.namespaces.is_some() && self.has_namespace(&name);
                self.namespaces.get_or_insert_default().insert(namespace);
                if was_there == self.has_namespace(&name) { Vec::new() } else { vec![Change::Namespace(name)] }
            }
            Input::ClientService(service) => {
                let (key, import) = (service.key.clone(), service.import.clone());
                let before = self.client_services.insert(&key, service);
                let is_same = self.client_services.get(&key.namespace, &key.name) == before.as_ref();
                let moved = before.map(|before| before.import).filter(|before| *before != import);
                if is_same {
                    return Vec::new();
                }
                moved.into_iter().chain([import]).map(Change::Addresses).collect()
            }
            Input::Route(route) => self.put_route(route),
            Input::OpenshiftRoute(route) => {
                let key = Key::of(&route.metadata);
                let same = |old: &OpenshiftRoute, new: &OpenshiftRoute| is_same(old, new) && old.says(new);
                match put(&mut self.openshift_routes, route, same) {
                    None => vec![Change::OpenshiftRouteStatus(key)],
                    Some(key) => vec![Change::OpenshiftRoute(key)],
                }
            }
            Input::McsServiceImport(import) => {
                let key = Key::of(&import.metadata);
                let ips = import.spec.ips.clone();
                let before = self.mcs_service_imports.insert(&key, import);
                let is_same = before.is_some_and(|before| before.spec.ips == ips);
                vec![if is_same { Change::McsImportStatus(key) } else { Change::Addresses(key) }]
            }
        }
    }

    /// Takes an object out, which is gone.
    pub fn remove(&mut self, kind: InputKind, key: &Key) -> Vec<Change> {
        let key = key.clone();
        let (was_there, change) = match kind {
            InputKind::WanPolicy => (self.wan_policies.remove(&key).is_some(), Change::Everything),
            InputKind::ServiceImport => {
                let was_unreadable = self.unreadable_imports.remove(&key).is_some();
                (self.service_imports.remove(&key).is_some() || was_unreadable, Change::Import(key))
            }
            InputKind::ServiceExport => (self.service_exports.remove(&key).is_some(), Change::Export(key)),
            InputKind::ExportedService => {
                let Some(export) = self.exported_services.remove(&key) else { return Vec::new() };
                let service = Key::new(export.spec.namespace, export.spec.name);
                (true, Change::Exported { service, export: key })
            }
            InputKind::ExportedEndpoints => {
                let Some(exported) = self.exported_endpoints.remove(&key) else { return Vec::new() };
                (true, Change::RemoteEndpoints(Key::new(exported.spec.namespace, exported.spec.name)))
            }
            InputKind::WanCluster => (self.wan_clusters.remove(&key).is_some(), Change::Everything),
            InputKind::ConnectionPolicy => {
                let was_unreadable = self.unreadable_policies.remove(&key).is_some();
                let was_there = self.connection_policies.remove(&key).is_some() || was_unreadable;
                (was_there, Change::ConnectionPolicies)
            }
            InputKind::ClusterConnection => {
                (self.cluster_connections.remove(&key).is_some(), Change::ConnectionStatus(key.name))
            }
            InputKind::Service => (self.services.remove(&key).is_some(), Change::Service(key)),
            InputKind::EndpointSlice => {
                let slice = self.endpoint_slices.remove(&key);
                let Some(service) = slice.as_ref().and_then(super::service_of) else { return Vec::new() };
                (true, Change::Endpoints(service))
            }
            InputKind::ReferenceGrant => (self.reference_grants.remove(&key).is_some(), Change::Grants(key.namespace)),
            InputKind::GatewayPod => (self.gateway_pods.remove(&key).is_some(), Change::GatewayPods(key.namespace)),
            InputKind::Namespace => {
                let known = self.namespaces.as_mut().and_then(|all| all.remove(&key));
                (known.is_some(), Change::Namespace(key.name))
            }
            InputKind::ClientService => {
                let Some(service) = self.client_services.remove(&key) else { return Vec::new() };
                (true, Change::Addresses(service.import))
            }
            InputKind::Route(kind) => return self.remove_route(&RouteRef { kind, key }),
            InputKind::OpenshiftRoute => (self.openshift_routes.remove(&key).is_some(), Change::OpenshiftRoute(key)),
            InputKind::McsServiceImport => (self.mcs_service_imports.remove(&key).is_some(), Change::Addresses(key)),
        };
        was_there.then_some(change).into_iter().collect()
    }

    /// Takes note of which clusters do not show that they are alive.
    pub fn judge(&mut self, stale: BTreeSet<String>) -> Vec<Change> {
        let differing = self.stale_clusters.symmetric_difference(&stale);
        let changes = differing.map(|cluster| Change::Liveness(cluster.as_str().into())).collect();
        self.stale_clusters = stale;
        changes
    }

    /// Takes note of whose egress gateways are refused.
    pub fn refuse(&mut self, refused: BTreeSet<String>) -> Vec<Change> {
        let differing = self.refused_clusters.symmetric_difference(&refused);
        let clusters = differing.filter_map(|cluster| self.wan_clusters.get(REGISTRY_NAMESPACE, cluster));
        let gateways = clusters.flat_map(|cluster| &cluster.spec.egress_gateways);
        let changes = gateways.map(|gateway| Change::RemoteEgress(gateway.namespace.as_str().into())).collect();
        self.refused_clusters = refused;
        changes
    }

    /// Takes note of which Secrets that `Route`s name we may read.
    pub fn allow(&mut self, secrets: BTreeMap<Key, bool>) -> Vec<Change> {
        let before = self.secrets.replace(secrets);
        let (Some(before), Some(now)) = (before, &self.secrets) else { return vec![Change::Everything] };
        let differing = before.keys().chain(now.keys()).filter(|secret| before.get(*secret) != now.get(*secret));
        differing.map(|secret| Change::Secrets(Arc::clone(&secret.namespace))).collect()
    }
}

/// Puts an object in; gives its key unless it means the same as before.
pub(super) fn put<T: Resource>(objects: &mut Objects<T>, object: T, same: impl Fn(&T, &T) -> bool) -> Option<Key> {
    let key = Key::of(object.meta());
    let is_same = objects.get(&key.namespace, &key.name).is_some_and(|old| same(old, &object));
    objects.insert(object);
    (!is_same).then_some(key)
}

pub(super) fn changed(key: Option<Key>, change: impl Fn(Key) -> Change) -> Vec<Change> {
    key.map(change).into_iter().collect()
}

/// Whether two states of a pod tell the same. A label says of which gateway it is.
fn is_same_pod(old: &Pod, new: &Pod) -> bool {
    is_same(old, new) && old.metadata.labels == new.metadata.labels && old.status == new.status
}

/// Whether two states are of one object, which is there in both.
pub(super) fn is_same<T: Resource>(old: &T, new: &T) -> bool {
    let (old, new) = (old.meta(), new.meta());
    old.uid == new.uid && old.deletion_timestamp == new.deletion_timestamp
}
