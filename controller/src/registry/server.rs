//! The API server that holds the registry, as its administrator uses it.

use std::time::Duration;

use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use mcwan_core::emit::kubernetes::MANAGED_BY_LABEL;
use mcwan_core::kind::{self, KindInfo};
use serde_json::Value;

use super::deadline::until;
use super::manifest::Shared;
use super::{ClusterName, MANAGER, Manifest, ObjectName, RegistryError};

/// How many objects are listed at once.
const PAGE: u32 = 500;

/// The API server that holds the registry.
#[derive(Clone)]
pub struct Server {
    pub(super) client: Client,
    /// How long may take what the API server does in its own time.
    pub(super) deadline: Duration,
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is new.
    Created,
    /// It was otherwise.
    Configured,
    /// It is as it was.
    Unchanged,
    /// It is not as we would have it, but not ours to change.
    Left {
        /// The field manager that made it what it is.
        to: String,
    },
}

impl Server {
    /// The API server that a client reaches. `deadline`: how long it may take until what is written is in force.
    pub fn new(client: Client, deadline: Duration) -> Self {
        Self { client, deadline }
    }

    /// Brings an object into its wanted state.
    ///
    /// # Errors
    /// The API server refuses, or does not answer.
    pub async fn apply(&self, manifest: &Manifest) -> Result<Applied, RegistryError> {
        let Some(before) = self.look(&manifest.object).await? else {
            return self.send(manifest, &applied()).await.map(|_| Applied::Created);
        };
        let after = match manifest.shared {
            Shared::WithMcwan if !is_ours(&before) => {
                let after = self.send(manifest, &applied().dry_run()).await?;
                let to = installer(&before).unwrap_or("somebody").to_owned();
                let is_same = content(&before) == content(&after);
                return Ok(if is_same { Applied::Unchanged } else { Applied::Left { to } });
            }
            Shared::WithMcwan | Shared::WithKubernetes => self.send(manifest, &applied()).await?,
            Shared::No => self.replace(manifest, before.clone()).await?,
        };
        let is_same = before.metadata.resource_version == after.metadata.resource_version;
        Ok(if is_same { Applied::Unchanged } else { Applied::Configured })
    }

    /// Waits until the kind that a manifest defines is served.
    ///
    /// # Errors
    /// It is not in time, or the API server does not answer.
    pub async fn wait_until_served(&self, manifest: &Manifest) -> Result<(), RegistryError> {
        let served = until(self.deadline, async || {
            let definition = self.look(&manifest.object).await?;
            Ok(definition.filter(is_established))
        });
        let overdue = || self.overdue(format!("{} is established", manifest.object));
        served.await?.map(drop).ok_or_else(overdue)
    }

    /// Deletes an object and waits until it is gone; false if there is none.
    ///
    /// # Errors
    /// It is not gone in time, or the API server refuses or does not answer.
    pub async fn delete(&self, object: &ObjectName) -> Result<bool, RegistryError> {
        match self.api(object).delete(&object.name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(false),
            Err(error) => return Err(RegistryError::new(object, error)),
        }
        let mut finalizers = Vec::new();
        let gone = until(self.deadline, async || {
            let left = self.look(object).await?;
            finalizers = left.iter().filter_map(|left| left.metadata.finalizers.clone()).flatten().collect();
            Ok(left.is_none().then_some(()))
        });
        let gone = gone.await?.is_some();
        let overdue = || self.overdue(format!("{object} is gone; its finalizers: {}", finalizers.join(", ")));
        if gone { Ok(true) } else { Err(overdue()) }
    }

    /// Deletes everything that a cluster exports, and says how many objects of each kind there were.
    ///
    /// # Errors
    /// As for [`Server::delete`].
    pub async fn delete_exports(
        &self,
        cluster: &ClusterName,
    ) -> Result<Vec<(&'static KindInfo, usize)>, RegistryError> {
        let services = self.delete_each(cluster, ObjectName::export).await?;
        let endpoints = self.delete_each(cluster, ObjectName::endpoints).await?;
        Ok(vec![(&kind::EXPORTED_SERVICE, services), (&kind::EXPORTED_ENDPOINTS, endpoints)])
    }

    /// Deletes what a cluster has of a kind whose names begin with its own.
    async fn delete_each(
        &self,
        cluster: &ClusterName,
        object: fn(String) -> ObjectName,
    ) -> Result<usize, RegistryError> {
        let any = object(String::new());
        let prefix = format!("{cluster}.");
        let mut deleted = 0;
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match self.api(&any).list_metadata(&params).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(deleted),
                page => page.map_err(|error| RegistryError::new(&any, error))?,
            };
            let names = page.items.into_iter().filter_map(|export| export.metadata.name);
            for name in names.filter(|name| name.starts_with(&prefix)) {
                deleted += usize::from(self.delete(&object(name)).await?);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(deleted),
            }
        }
    }

    /// What is there of an object; none, too, where its kind is not served.
    pub(super) async fn look(&self, object: &ObjectName) -> Result<Option<DynamicObject>, RegistryError> {
        self.api(object).get_opt(&object.name).await.map_err(|error| RegistryError::new(object, error))
    }

    /// What did not happen in time.
    pub(super) fn overdue(&self, what: String) -> RegistryError {
        RegistryError::Overdue { what, deadline: self.deadline }
    }

    async fn send(&self, manifest: &Manifest, params: &PatchParams) -> Result<DynamicObject, RegistryError> {
        let Manifest { object, body, .. } = manifest;
        let sent = self.api(object).patch(&object.name, params, &Patch::Apply(body)).await;
        sent.map_err(|error| RegistryError::new(object, error))
    }

    /// Takes away, too, what somebody has added.
    async fn replace(&self, manifest: &Manifest, mut content: DynamicObject) -> Result<DynamicObject, RegistryError> {
        let Manifest { object, body, .. } = manifest;
        content.data = body.clone();
        if let Some(fields) = content.data.as_object_mut() {
            fields.retain(|field, _| !["apiVersion", "kind", "metadata"].contains(&field.as_str()));
        }
        content.metadata.managed_fields = None;
        content.labels_mut().insert(MANAGED_BY_LABEL.to_owned(), MANAGER.to_owned());
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let sent = self.api(object).replace(&object.name, &params, &content).await;
        sent.map_err(|error| RegistryError::new(object, error))
    }

    pub(super) fn api(&self, object: &ObjectName) -> Api<DynamicObject> {
        let client = self.client.clone();
        match object.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &object.resource),
            None => Api::all_with(client, &object.resource),
        }
    }
}

/// With which a manifest is applied.
fn applied() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}

/// Whether we have applied an object before.
fn is_ours(object: &DynamicObject) -> bool {
    let mut writers = object.metadata.managed_fields.iter().flatten();
    writers.any(|writer| writer.manager.as_deref() == Some(MANAGER))
}

/// Who has installed an object.
fn installer(object: &DynamicObject) -> Option<&str> {
    let mut writers = object.metadata.managed_fields.iter().flatten();
    writers.find(|writer| writer.subresource.is_none()).and_then(|writer| writer.manager.as_deref())
}

/// What somebody wants of an object.
fn content(object: &DynamicObject) -> Value {
    let mut content = object.data.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    content
}

fn is_established(definition: &DynamicObject) -> bool {
    let conditions = definition.data.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}
