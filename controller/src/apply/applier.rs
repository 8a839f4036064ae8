//! Carries out what is to be written, one request after the other or all at once.

use std::time::Duration;

use mcwan_core::emit::object::{Object, ObjectId};
use mcwan_core::observed::Live;
use mcwan_core::outcome::WriteError;
use mcwan_core::rollout::ApplyError;
use mcwan_core::status::StatusPatch;
use serde_json::Value;
use tokio::sync::watch;

use super::contact::Contact;
use super::requests::Requests;
use crate::watch::Source;

/// How hard the API server is worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many requests are under way at once.
    pub concurrency: usize,
    /// How long a request may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { concurrency: 16, timeout: Duration::from_secs(15) }
    }
}

/// Writes and deletes, as long as we lead.
#[derive(Clone)]
pub struct Applier {
    requests: Requests,
}

impl Applier {
    /// An applier that works while `leading` holds true. Once it is false, or its sender is gone, no request is sent.
    pub fn new(source: &Source, leading: watch::Receiver<bool>, options: Options) -> Self {
        let (_, contact) = watch::channel(Contact::default());
        Self { requests: Requests { source: source.clone(), leading, contact, timeout: options.timeout } }
    }

    /// The same, which does not wait for a registry that is known not to answer.
    #[must_use]
    pub fn in_contact(mut self, contact: watch::Receiver<Contact>) -> Self {
        self.requests.contact = contact;
        self
    }

    /// Applies an object: to the one of ours with this uid, or else creates it.
    ///
    /// # Errors
    /// It was not written, or something else is there than was thought.
    pub async fn apply(&self, object: Object, uid: Option<&str>) -> Result<Live, ApplyError> {
        let id = object.id.clone();
        match self.requests.apply(object, uid).await {
            Ok(live) => Ok(live),
            Err(WriteError::Conflict) => {
                Err(self.requests.look(&id).await.map_or_else(ApplyError::Failed, ApplyError::Found))
            }
            Err(error) => Err(ApplyError::Failed(error)),
        }
    }

    /// Reads an object; none: there is no such object.
    ///
    /// # Errors
    /// It cannot be read now, or we do not lead.
    pub async fn read(&self, id: &ObjectId) -> Result<Option<Value>, WriteError> {
        self.requests.read(id).await
    }

    /// Changes nothing of an object that anybody reads, so that those who watch it look again.
    pub async fn touch(&self, id: &ObjectId) {
        if let Err(error) = self.requests.touch(id).await {
            tracing::debug!(key = %id.key, ?error, "cannot touch");
        }
    }

    /// Deletes an object of ours, if it still is. What is gone, or going, counts as deleted.
    ///
    /// # Errors
    /// It is not ours any more, or was not deleted.
    pub async fn delete(&self, id: &ObjectId, live: &Live) -> Result<(), WriteError> {
        self.requests.delete(id, live).await
    }

    /// Applies a status. Conditions of others stay; those of ours that are not in it go.
    ///
    /// # Errors
    /// It was not written.
    pub async fn apply_status(&self, patch: &StatusPatch) -> Result<(), WriteError> {
        self.requests.apply_status(&patch.kind.api_resource(), &patch.key, &patch.body).await
    }
}
