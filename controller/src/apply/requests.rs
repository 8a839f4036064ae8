//! The requests that write.

use std::time::Duration;

use http::Request as HttpRequest;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions, ValidationDirective};
use kube::core::{DynamicObject, Request, Resource, request};
use kube::discovery::ApiResource;
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::json::put;
use mcwan_core::observed::FIELD_MANAGER;
use mcwan_core::observed::{Live, registry_writer};
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::snapshot::Key;
use mcwan_core::status::{StatusKind, StatusPatch};
use mcwan_core::watched::Watched;
use serde_json::Value;
use tokio::time::timeout;

use super::applier::Applier;
use super::contact::Contact;
use super::failure::failure;

/// A version that no object has: an apply that asks for it creates the object, or is refused.
pub(crate) const NO_VERSION: &str = "1";
/// The annotation that says when an object was touched.
const TOUCHED: &str = "mc-wan.l7mp.io/touched-at";
/// The field manager of that annotation: it is no part of what is compared.
const TOUCHER: &str = "mcwan-touch";
/// How long a request may take: an API server that is well answers within a second.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// How often an object that changes while it is deleted is looked at again.
const DELETE_TRIES: usize = 3;

impl Applier {
    /// Applies an object: to the one of ours with this uid, or else creates it.
    pub(super) async fn write(&self, mut object: Object, uid: Option<&str>) -> Result<Live, WriteError> {
        put(&mut object.body, "apiVersion", self.resource(object.id.kind).api_version);
        let metadata = object.body.get_mut("metadata").and_then(Value::as_object_mut);
        let (field, value) = uid.map_or(("resourceVersion", NO_VERSION), |uid| ("uid", uid));
        metadata.map(|metadata| metadata.insert(field.to_owned(), value.into()));
        match self.send(&object, uid.is_some()).await {
            Ok(live) => Ok(Live::of(&self.undo_additions(&object, live).await)),
            // The object itself may be sound, and what somebody has made of it in the way.
            Err(WriteError::Lasting { reason: Reason::Invalid, message }) if uid.is_some() => {
                self.repair(&object).await.map_err(|failure| match failure {
                    passing @ WriteError::Passing { .. } => passing,
                    _ => WriteError::Lasting { reason: Reason::Invalid, message },
                })
            }
            Err(failure) => Err(failure),
        }
    }

    /// What kube needs to know of a kind, in the version that is served.
    pub(super) fn resource(&self, kind: Kind) -> ApiResource {
        Watched::Emitted(kind).resource(self.source.mcs.get())
    }

    /// Applies a body as it is; with `force` the fields of others, too.
    pub(super) async fn send(&self, object: &Object, force: bool) -> Result<Value, WriteError> {
        let params = PatchParams { force, ..applying() };
        let ObjectId { kind, key } = &object.id;
        let request = at(&self.resource(*kind), key).patch(&key.name, &params, &Patch::Apply(&object.body));
        self.ask(*kind, request).await
    }

    /// Applies the status of an object, which is sent whole, as a manifest. Conditions of others stay; those of ours that
    /// are not in it go. Not so of a `ServiceImport` of the Multi-Cluster Services API, which nobody else is to write: its
    /// status is merged in, with all of its conditions, so that a field that an older definition lacks is left out; server-side
    /// apply would fail there (HTTP 500). What a route is told is one list for all who tell it something: it is written whole,
    /// and refused where somebody else was faster.
    ///
    /// # Errors
    /// It was not written.
    pub async fn apply_status(&self, patch: &StatusPatch) -> Result<(), WriteError> {
        let StatusPatch { kind, key, body, .. } = patch;
        let (params, patch) = match kind {
            StatusKind::McsServiceImport(_) | StatusKind::Route(_) | StatusKind::OpenshiftRoute => {
                let manager = Some(FIELD_MANAGER.to_owned());
                (PatchParams { field_manager: manager, ..PatchParams::default() }, Patch::Merge(body))
            }
            StatusKind::ServiceImport
            | StatusKind::WanPolicy
            | StatusKind::ClusterConnection
            | StatusKind::ServiceExport(_)
            | StatusKind::Pod => (applying().force(), Patch::Apply(body)),
        };
        let request = at(&kind.api_resource(), key).patch_subresource("status", &key.name, &params, &patch);
        self.answer(&self.source.client, request).await.map(drop)
    }

    /// Tells a pod that it takes requests, whether we lead or not: no other replica would tell it anything else.
    pub async fn open_gate(&self, patch: &StatusPatch) {
        let StatusPatch { kind, key, body, .. } = patch;
        let params = applying().force();
        let request =
            at(&kind.api_resource(), key).patch_subresource("status", &key.name, &params, &Patch::Apply(body));
        if let Err(error) = send(&self.source.client, request).await {
            tracing::warn!(pod = %key, ?error, "a pod cannot be told that it takes requests");
        }
    }

    /// Changes an annotation of an object that only we write, and not as what we apply, so that those who watch it look
    /// again.
    pub async fn touch(&self, id: &ObjectId) {
        let now = Timestamp::now().to_string();
        let patch = serde_json::json!({"metadata": {"annotations": {TOUCHED: now}}});
        let params = PatchParams { field_manager: Some(TOUCHER.to_owned()), ..PatchParams::default() };
        let request = at(&self.resource(id.kind), &id.key).patch(&id.key.name, &params, &Patch::Merge(&patch));
        if let Err(error) = self.ask(id.kind, request).await {
            tracing::debug!(key = %id.key, ?error, "cannot touch");
        }
    }

    /// Deletes an object of ours, if it still is. What is gone, or going, counts as deleted.
    ///
    /// # Errors
    /// It is not ours any more, or was not deleted.
    pub async fn delete(&self, id: &ObjectId, live: &Live) -> Result<(), WriteError> {
        let request = at(&self.resource(id.kind), &id.key);
        let mut version = live.version;
        for _ in 0..DELETE_TRIES {
            let preconditions =
                Preconditions { resource_version: Some(version.to_string()), uid: Some(live.uid.to_string()) };
            let params = DeleteParams::background().preconditions(preconditions);
            match self.ask(id.kind, request.delete(&id.key.name, &params)).await {
                Ok(_) | Err(WriteError::NotFound { .. }) => return Ok(()),
                Err(WriteError::Conflict) => {}
                Err(failure) => return Err(failure),
            }
            match self.look(id).await? {
                Some(now) if now.uid == live.uid && now.is_ours() => version = now.version,
                Some(now) if now.uid == live.uid => return Err(WriteError::Conflict),
                _ => return Ok(()),
            }
        }
        Err(WriteError::passing(Reason::Changing, "the object changes all the time"))
    }

    /// What is there of an object.
    pub(super) async fn look(&self, id: &ObjectId) -> Result<Option<Live>, WriteError> {
        let live = |object: Value| Live::of(&object).seen_from(&self.source.cluster, registry_writer(&object));
        Ok(self.read(id).await?.map(live))
    }

    /// Reads an object; none: there is no such object.
    ///
    /// # Errors
    /// It cannot be read now, or we do not lead.
    pub async fn read(&self, id: &ObjectId) -> Result<Option<Value>, WriteError> {
        let request = at(&self.resource(id.kind), &id.key).get(&id.key.name, &GetParams::default());
        match self.ask(id.kind, request).await {
            Ok(object) => Ok(Some(object)),
            Err(WriteError::NotFound { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Sends a request to where the objects of a kind are. No one waits for a registry that is known not to answer:
    /// there may be thousands of requests, and others that have nothing to do with it.
    pub(super) async fn ask(
        &self,
        kind: Kind,
        request: Result<HttpRequest<Vec<u8>>, request::Error>,
    ) -> Result<Value, WriteError> {
        if !Watched::Emitted(kind).is_in_registry() {
            return self.answer(&self.source.client, request).await;
        }
        let silence = async {
            let mut contact = self.contact.clone();
            match contact.wait_for(Contact::is_silent).await.map(|contact| contact.complaint().map(str::to_owned)) {
                Ok(why) => why.unwrap_or_default(),
                // Nobody asks it all the time.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            why = silence => Err(WriteError::passing(Reason::RegistryUnreachable, why)),
            answer = self.answer(&self.source.registry, request) => answer,
        }
    }

    /// Sends a request, unless we do not lead, and waits for its answer, unless we stop leading.
    async fn answer(
        &self,
        client: &Client,
        request: Result<HttpRequest<Vec<u8>>, request::Error>,
    ) -> Result<Value, WriteError> {
        let mut leading = self.leading.clone();
        tokio::select! {
            biased;
            _ = leading.wait_for(|leads| !leads) => Err(WriteError::NotLeading),
            answer = send(client, request) => answer,
        }
    }
}

/// How bodies of ours are applied. Server-side apply refuses a field that a kind does not have, whatever the validation; all
/// that validation adds is a look for fields that a body has twice, which ours cannot have, and for it the API server reads all
/// of the body as YAML once more: 10 to 20 ms for the filter of a hundred imports.
fn applying() -> PatchParams {
    PatchParams { field_validation: Some(ValidationDirective::Ignore), ..PatchParams::apply(FIELD_MANAGER) }
}

/// Sends a request, and waits for its answer.
async fn send(client: &Client, request: Result<HttpRequest<Vec<u8>>, request::Error>) -> Result<Value, WriteError> {
    let request = request.map_err(kube::Error::BuildRequest).map_err(failure)?;
    match timeout(ANSWER_TIMEOUT, client.request(request)).await {
        Ok(answer) => answer.map_err(failure),
        Err(_) => Err(WriteError::passing(Reason::Timeout, format!("no answer within {ANSWER_TIMEOUT:?}"))),
    }
}

/// Where the objects of a kind are.
pub(super) fn at(resource: &ApiResource, key: &Key) -> Request {
    let namespace = (!key.namespace.is_empty()).then_some(&*key.namespace);
    Request::new(DynamicObject::url_path(resource, namespace))
}
