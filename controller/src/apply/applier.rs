//! Writes what differs, and deletes what is not to be.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use kube::discovery::ApiResource;
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::observed::Digest;
use mcwan_core::observed::Live;
use mcwan_core::observed::{Comparison, Observed};
use mcwan_core::outcome::Outcome;
use mcwan_core::snapshot::Key;
use serde_json::Value;
use tokio::sync::watch;

use super::contact::Contact;
use super::failure::Failure;
use super::requests::Requests;
use super::waits::Waits;
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

/// The status of an object, as far as it is ours to say.
#[derive(Clone, Debug)]
pub struct Status {
    /// The kind of the object.
    pub resource: ApiResource,
    /// Its namespace and name.
    pub key: Key,
    /// What to say. The conditions of others stay; those of ours that are not in it go.
    pub status: Value,
}

/// Writes what differs, and deletes what is not to be, as long as we lead.
pub struct Applier {
    requests: Requests,
    concurrency: usize,
    waits: Waits,
    /// The kinds of which the API server has made something else than we applied.
    unsettled: BTreeSet<Kind>,
}

impl Applier {
    /// An applier that works while `leading` holds true. Once it is false, or its sender is gone, no request is sent.
    pub fn new(source: &Source, leading: watch::Receiver<bool>, options: Options) -> Self {
        let (_, contact) = watch::channel(Contact::default());
        let requests = Requests { source: source.clone(), leading, contact, timeout: options.timeout };
        Self { requests, concurrency: options.concurrency.max(1), waits: Waits::default(), unsettled: BTreeSet::new() }
    }

    /// The same, which does not wait for a registry that is known not to answer.
    #[must_use]
    pub fn in_contact(mut self, contact: watch::Receiver<Contact>) -> Self {
        self.requests.contact = contact;
        self
    }

    /// Applies what is not there yet, all at once; what must be in order takes several calls. The outcomes are in any
    /// order. What failed a moment ago is not sent again: see [`Outcome::retry_after`].
    pub async fn apply_all(&mut self, observed: &mut Observed, objects: Vec<Object>) -> Vec<(ObjectId, Outcome)> {
        let mut outcomes = Vec::with_capacity(objects.len());
        let mut differing = Vec::new();
        for object in objects {
            let desired = Digest::of_desired(&object.body);
            let uid = match observed.compare(&object.id, desired) {
                Comparison::Same => Err(Outcome::Same),
                Comparison::Foreign => Err(Outcome::Conflict),
                Comparison::Missing => Ok(None),
                Comparison::Different { uid } => Ok(Some(uid)),
                Comparison::Deleting => Err(going_first()),
            };
            match (uid, self.waits.recent(&object.id, Some(desired))) {
                (Err(outcome), _) | (Ok(_), Some(outcome)) => outcomes.push((object.id, outcome)),
                (Ok(uid), None) => differing.push((object, desired, uid)),
            }
        }
        let requests = &self.requests;
        let answers: Vec<_> = stream::iter(differing)
            .map(|(object, desired, uid)| async move {
                let id = object.id.clone();
                let answer = requests.apply(object, uid.as_deref()).await;
                let found = if answer == Err(Failure::Conflict) { Some(requests.look(&id).await) } else { None };
                (id, desired, answer, found)
            })
            .buffer_unordered(self.concurrency)
            .collect()
            .await;
        for (id, desired, answer, found) in answers {
            let outcome = match (answer, found) {
                (Ok(live), _) => self.applied(observed, &id, desired, live),
                (Err(_), Some(Ok(found))) => self.found(observed, &id, desired, found),
                (Err(failure), None) | (Err(_), Some(Err(failure))) => self.failed(&id, Some(desired), failure),
            };
            outcomes.push((id, outcome));
        }
        outcomes
    }

    /// Reads an object; none: there is no such object.
    ///
    /// # Errors
    /// It cannot be read now, or we do not lead; [`Outcome::retry_after`] says when to try again.
    pub async fn read(&mut self, id: &ObjectId) -> Result<Option<Value>, Outcome> {
        self.requests.read(id).await.map_err(|failure| self.failed(id, None, failure))
    }

    /// Sends an object the next time even if that failed a moment ago.
    pub fn insist_on(&mut self, id: &ObjectId) {
        self.waits.insist(id);
    }

    /// Changes nothing of an object that anybody reads, so that those who watch it look again.
    pub async fn touch(&self, id: &ObjectId) {
        if let Err(failure) = self.requests.touch(id).await {
            tracing::debug!(key = %id.key, ?failure, "cannot touch");
        }
    }

    /// Deletes objects of ours, all at once. What is gone, or going, counts as deleted; what is not ours stays.
    pub async fn delete_all(&mut self, observed: &mut Observed, ids: Vec<ObjectId>) -> Vec<(ObjectId, Outcome)> {
        let mut outcomes = Vec::with_capacity(ids.len());
        let mut going = Vec::new();
        for id in ids {
            let outcome = match observed.get(&id) {
                None => Outcome::Deleted,
                Some(live) if !live.is_ours() => Outcome::Conflict,
                Some(live) if live.deleting => Outcome::Deleted,
                Some(live) => {
                    let Some(outcome) = self.waits.recent(&id, None) else {
                        going.push((id, live.clone()));
                        continue;
                    };
                    outcome
                }
            };
            outcomes.push((id, outcome));
        }
        let requests = &self.requests;
        let answers: Vec<_> = stream::iter(going)
            .map(|(id, live)| async move {
                let answer = requests.delete(&id, &live).await;
                (id, answer)
            })
            .buffer_unordered(self.concurrency)
            .collect()
            .await;
        for (id, answer) in answers {
            let outcome = match answer {
                Ok(()) => {
                    self.waits.succeeded(&id);
                    observed.going(&id);
                    Outcome::Deleted
                }
                Err(failure) => self.failed(&id, None, failure),
            };
            outcomes.push((id, outcome));
        }
        outcomes
    }

    /// Applies statuses, all at once. An object that is gone needs none: [`Outcome::Deleted`].
    pub async fn apply_statuses(&self, statuses: Vec<Status>) -> Vec<(Key, Outcome)> {
        let apply = async |status: Status| {
            let answer = self.requests.apply_status(&status.resource, &status.key, &status.manifest()).await;
            let outcome = match answer {
                Ok(()) => Outcome::Applied,
                Err(Failure::Conflict | Failure::NotFound { .. }) => Outcome::Deleted,
                Err(Failure::Passing { reason, message, after }) => {
                    Outcome::Retry { after: after.unwrap_or(STATUS_WAIT), reason, message }
                }
                Err(Failure::Lasting { reason, message }) => Outcome::Refused { reason, message },
                Err(Failure::NotLeading) => Outcome::NotLeading,
            };
            (status.key, outcome)
        };
        stream::iter(statuses).map(apply).buffer_unordered(self.concurrency).collect().await
    }

    fn applied(&mut self, observed: &mut Observed, id: &ObjectId, desired: Digest, live: Live) -> Outcome {
        self.waits.succeeded(id);
        let is_same = observed.applied(id, desired, live);
        if !is_same && self.unsettled.insert(id.kind) {
            // The manifest lacks a default. It is applied once more after each start, and no harm is done.
            tracing::warn!(kind = id.kind.name(), key = %id.key, "the API server makes something else of what we apply");
        }
        Outcome::Applied
    }

    /// Something was there that we had not seen, or not what we had seen.
    fn found(&mut self, observed: &mut Observed, id: &ObjectId, desired: Digest, found: Option<Live>) -> Outcome {
        match found {
            Some(live) if !live.is_ours() => self.waits.refused(id, Some(desired), Outcome::Conflict),
            Some(live) => {
                observed.changed(id.kind, &id.key, live);
                self.failed(id, Some(desired), Failure::passing("Changed", "the object has just been written"))
            }
            None => {
                observed.deleted(id.kind, &id.key, None);
                self.failed(id, Some(desired), Failure::passing("Changed", "the object has just been deleted"))
            }
        }
    }

    fn failed(&mut self, id: &ObjectId, wanted: Option<Digest>, failure: Failure) -> Outcome {
        match failure {
            Failure::Passing { reason, message, after } => self.waits.failed(id, wanted, reason, message, after),
            Failure::NotFound { message } => {
                let message = format!("{} is not installed: {message}", id.kind.name());
                self.waits.failed(id, wanted, "NotInstalled", message, None)
            }
            Failure::Lasting { reason, message } => {
                self.waits.refused(id, wanted, Outcome::Refused { reason, message })
            }
            Failure::Conflict => self.waits.refused(id, wanted, Outcome::Conflict),
            Failure::NotLeading => Outcome::NotLeading,
        }
    }
}

/// When a status that could not be written is tried again.
const STATUS_WAIT: Duration = Duration::from_secs(5);

/// When it is looked again whether an object is gone, if no event says so.
const DELETING_WAIT: Duration = Duration::from_secs(10);

fn going_first() -> Outcome {
    let message = "the object of that name is being deleted".to_owned();
    Outcome::Retry { after: DELETING_WAIT, reason: "Deleting", message }
}

impl Status {
    /// The whole manifest.
    fn manifest(&self) -> Value {
        let mut metadata = serde_json::Map::from_iter([("name".to_owned(), Value::from(&*self.key.name))]);
        if !self.key.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), Value::from(&*self.key.namespace));
        }
        serde_json::json!({
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": metadata,
            "status": self.status,
        })
    }
}
