//! What an API server has, and what of it has changed.

use std::collections::BTreeMap;

use anyhow::Result;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use kube::discovery::{Discovery, verbs};
use kube::{Client, Error};
use mcwan_core::emit::object::Kind;
use mcwan_core::observed::FIELD_MANAGER;
use serde_json::Value;

/// Kinds that are written while nothing happens.
const RESTLESS: [&str; 2] = ["Event", "Lease"];

/// Says of an `EndpointSlice` that Kubernetes' own controller keeps it, in its own time: of a Service that is made again
/// without pods, it may keep the slice, which then goes with the Service that was.
const BY_KUBERNETES: (&str, &str) = ("endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io");

/// Every object of an API server but Leases, Events and the slices that Kubernetes keeps, by `KIND NAMESPACE/NAME`: its
/// uid and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Versions(BTreeMap<String, String>);

impl Versions {
    pub(crate) async fn of(client: &Client) -> Result<Self> {
        let mut versions = BTreeMap::new();
        let discovery = Discovery::new(client.clone()).run_aggregated().await?;
        for (resource, capabilities) in discovery.groups().flat_map(kube::discovery::ApiGroup::recommended_resources) {
            if !capabilities.supports_operation(verbs::LIST) || RESTLESS.contains(&resource.kind.as_str()) {
                continue;
            }
            for object in list(client, &resource).await?.iter().filter(|object| !is_by_kubernetes(object)) {
                let metadata = &object.metadata;
                let version = [&metadata.uid, &metadata.resource_version].map(|part| part.clone().unwrap_or_default());
                let ours = Kind::ALL
                    .into_iter()
                    .find(|kind| kind.info().group == resource.group && kind.name() == resource.kind);
                versions.insert(id(ours.map_or(&*resource.kind, |kind| kind.title()), object), version.join("@"));
            }
        }
        Ok(Self(versions))
    }

    /// What was written, made or deleted since.
    pub(crate) fn changes(&self, later: &Self) -> Vec<String> {
        let ids = self.0.keys().chain(later.0.keys().filter(|id| !self.0.contains_key(*id)));
        let mut changed: Vec<_> = ids.filter(|id| self.0.get(*id) != later.0.get(*id)).cloned().collect();
        changed.sort();
        changed
    }
}

/// The annotation of a filter with the digest of its configuration.
const CONFIG_DIGEST: &str = "mc-wan.l7mp.io/config-digest";

/// What our field manager has applied, without what differs each time that an object is made or a filter changes.
pub(crate) type Emitted = BTreeMap<String, Value>;

pub(crate) async fn emitted(client: &Client) -> Result<Emitted> {
    let mut emitted = BTreeMap::new();
    for kind in Kind::ALL {
        for object in list(client, &kind.api_resource()).await?.into_iter().filter(is_applied) {
            emitted.insert(id(kind.title(), &object), essence(object)?);
        }
    }
    Ok(emitted)
}

/// None where the kind is not installed.
async fn list(client: &Client, resource: &ApiResource) -> Result<Vec<DynamicObject>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    match api.list(&ListParams::default()).await {
        Ok(list) => Ok(list.items),
        Err(Error::Api(status)) if [404, 405].contains(&status.code) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn id(kind: &str, object: &DynamicObject) -> String {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    match &object.metadata.namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

pub(crate) fn is_by_kubernetes(object: &DynamicObject) -> bool {
    let (key, value) = BY_KUBERNETES;
    object.metadata.labels.as_ref().and_then(|labels| labels.get(key)).is_some_and(|by| by == value)
}

fn is_applied(object: &DynamicObject) -> bool {
    let mut entries = object.metadata.managed_fields.iter().flatten();
    entries.any(|entry| {
        entry.manager.as_deref() == Some(FIELD_MANAGER)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.is_none()
    })
}

fn essence(mut object: DynamicObject) -> Result<Value> {
    for owner in object.metadata.owner_references.iter_mut().flatten() {
        owner.uid.clear();
    }
    let mut object = serde_json::to_value(object)?;
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"] {
            metadata.remove(field);
        }
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        // Of a Service: the API server gives the address.
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    for (place, field) in [("/spec/pluginConfig", "revision"), ("/metadata/annotations", CONFIG_DIGEST)] {
        object.pointer_mut(place).and_then(Value::as_object_mut).and_then(|fields| fields.remove(field));
    }
    Ok(object)
}
