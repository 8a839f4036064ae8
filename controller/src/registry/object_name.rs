//! Which object.

use std::fmt;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Resource;
use kube::discovery::ApiResource;
use mcwan_core::api::{ExportedEndpoints, ExportedService, REGISTRY_NAMESPACE, WanCluster};

use super::{ClusterName, ROLE};

/// An object of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectName {
    pub(super) resource: ApiResource,
    /// None for what has no namespace.
    pub(super) namespace: Option<&'static str>,
    pub(super) name: String,
}

impl ObjectName {
    /// An object without a namespace.
    pub(super) fn global<K: Resource<DynamicType = ()>>(name: impl Into<String>) -> Self {
        Self { resource: ApiResource::erase::<K>(&()), namespace: None, name: name.into() }
    }

    /// An object of the registry's namespace.
    pub(super) fn of_registry<K: Resource<DynamicType = ()>>(name: impl Into<String>) -> Self {
        Self { namespace: Some(REGISTRY_NAMESPACE), ..Self::global::<K>(name) }
    }

    /// Who a cluster is.
    pub fn account(cluster: &ClusterName) -> Self {
        Self::of_registry::<ServiceAccount>(cluster.as_str())
    }

    /// What gives a cluster its rights. (The Helm chart has a binding `mcwan` here.)
    pub fn rights(cluster: &ClusterName) -> Self {
        Self::of_registry::<RoleBinding>(format!("{ROLE}.{cluster}"))
    }

    /// By what a cluster proves who it is.
    pub fn token(cluster: &ClusterName) -> Self {
        Self::of_registry::<Secret>(cluster.as_str())
    }

    /// What a cluster says of itself.
    pub fn wan_cluster(cluster: &ClusterName) -> Self {
        Self::of_registry::<WanCluster>(cluster.as_str())
    }

    /// What a cluster shows that it lives by.
    pub fn lease(cluster: &ClusterName) -> Self {
        Self::of_registry::<Lease>(cluster.as_str())
    }

    /// One of the exports of all clusters.
    pub(super) fn export(name: impl Into<String>) -> Self {
        Self::of_registry::<ExportedService>(name)
    }

    /// Pods behind one of them.
    pub(super) fn endpoints(name: impl Into<String>) -> Self {
        Self::of_registry::<ExportedEndpoints>(name)
    }
}

impl fmt::Display for ObjectName {
    /// As kubectl prints it: `KIND.GROUP/NAME`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, namespace: _, name } = self;
        write!(formatter, "{}", resource.kind.to_lowercase())?;
        if !resource.group.is_empty() {
            write!(formatter, ".{}", resource.group)?;
        }
        write!(formatter, "/{name}")
    }
}
