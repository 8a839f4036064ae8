//! What the controller has made for one import.

use anyhow::Context;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use mcwan_core::api::TIER_NAMESPACE;
use mcwan_core::emit::kubernetes::names::{PLUGIN, clusterset_service};
use mcwan_core::emit::kubernetes::{FilterKind, IMPORT_LABEL, NAMESPACE_LABEL};
use mcwan_core::emit::object::Kind;
use serde_json::Value;

use crate::watch::served::is_not_there;

/// What the controller has made for one import, as the API server has it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) services: Vec<Value>,
    pub(super) slices: Vec<Value>,
    pub(super) routes: Vec<Value>,
    pub(super) plugin: Option<Value>,
    pub(super) gateway: Option<Value>,
    /// What clients call.
    pub(super) client: Option<Value>,
}

impl Found {
    pub(super) async fn read(
        client: &Client,
        namespace: &str,
        name: &str,
        gateway: &str,
        filter: FilterKind,
    ) -> anyhow::Result<Self> {
        let here = format!("{IMPORT_LABEL}={name}");
        let there = format!("{here},{NAMESPACE_LABEL}={namespace}");
        Ok(Self {
            services: list(client, Kind::Service, TIER_NAMESPACE, &there).await?,
            slices: list(client, Kind::EndpointSlice, TIER_NAMESPACE, &there).await?,
            routes: list(client, Kind::HttpRoute, namespace, &here).await?,
            plugin: get(client, filter.kind(), namespace, PLUGIN).await?,
            gateway: get(client, Kind::Gateway, namespace, gateway).await?,
            client: get(client, Kind::Service, namespace, &clusterset_service(name)).await?,
        })
    }
}

/// Lists objects of a kind; there are none of a kind that is not installed.
async fn list(client: &Client, kind: Kind, namespace: &str, labels: &str) -> anyhow::Result<Vec<Value>> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.api_resource());
    let list = match api.list(&ListParams::default().labels(labels)).await {
        Err(error) if is_not_there(&error) => return Ok(Vec::new()),
        answer => answer.with_context(|| format!("{} objects of {namespace} cannot be listed", kind.name()))?,
    };
    Ok(list.items.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
}

async fn get(client: &Client, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.api_resource());
    let object =
        api.get_opt(name).await.with_context(|| format!("{} {namespace}/{name} cannot be read", kind.name()))?;
    Ok(object.map(serde_json::to_value).transpose()?)
}
