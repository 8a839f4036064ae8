//! The API server: objects with versions, and what watches see of them. The registry is the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcwan_core::api::RouteKind;
use mcwan_core::emit::kubernetes::{IMPORT_LABEL, NAMESPACE_LABEL, NO_ADDRESS, live_revision};
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::moment::Moment;
use mcwan_core::observed::{Digest, Istiod, Live, Owner};
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::ApplyError;
use mcwan_core::snapshot::Key;
use mcwan_core::status::{StatusKind, StatusPatch};
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use crate::inputs::Input;

/// An object that is there.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) version: u64,
    pub(crate) uid: Box<str>,
    pub(crate) generation: i64,
    /// Of a route: the generation that istiod speaks of.
    pub(crate) observed: Option<i64>,
    /// What one of our replicas wrote.
    pub(crate) ours: Option<Digest>,
    pub(crate) body: Arc<Value>,
    /// The uid of what it goes with.
    owner: Option<Box<str>>,
}

/// What a watch sees: an object as it is from then on, or none.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) version: u64,
    pub(crate) key: Key,
    pub(crate) stored: Option<Arc<Stored>>,
}

/// The objects, and what has become of them.
#[derive(Default)]
pub(crate) struct ApiServer {
    version: u64,
    objects: BTreeMap<Watched, BTreeMap<Key, Arc<Stored>>>,
    logs: BTreeMap<Watched, Vec<Entry>>,
    /// What went with its owner and is still to be collected, by its uid.
    pub(crate) garbage: Vec<(Watched, Key, Box<str>)>,
    /// The kinds of which something has changed since somebody asked.
    pub(crate) news: Vec<Watched>,
    /// What it refuses to write, and until when.
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) terminating: Vec<String>,
    /// What must never happen.
    pub(crate) trespasses: Vec<String>,
}

/// What the API server refuses to write.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) kind: Kind,
    /// Of one import alone.
    pub(crate) import: Option<Key>,
    pub(crate) until: Moment,
}

impl Stored {
    /// What is kept of it.
    pub(crate) fn live(&self) -> Live {
        Live {
            version: self.version,
            uid: self.uid.clone(),
            owner: self.ours.map_or(Owner::Foreign, Owner::Ours),
            has_additions: false,
            deleting: false,
            istiod: match self.observed {
                None => Istiod::Silent,
                Some(observed) if observed < self.generation => Istiod::Behind,
                Some(_) => Istiod::UpToDate,
            },
            revision: live_revision(&self.body),
            unresolved: Box::default(),
            import: import_of(&self.body).map(Box::new),
        }
    }

    /// The object as it is read.
    pub(crate) fn read(&self) -> Value {
        let mut read = (*self.body).clone();
        read["metadata"]["resourceVersion"] = self.version.to_string().into();
        read
    }
}

/// The import that an object is labelled to be for.
pub(crate) fn import_of(body: &Value) -> Option<Key> {
    let labels = body["metadata"].get("labels")?;
    let name = labels.get(IMPORT_LABEL)?.as_str()?;
    let namespace = labels.get(NAMESPACE_LABEL).or_else(|| body["metadata"].get("namespace"))?.as_str()?;
    Some(Key::new(namespace, name))
}

impl ApiServer {
    pub(crate) fn get(&self, kind: Watched, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(&kind)?.get(key)
    }

    /// Whether a namespace is there, and not about to go.
    pub(crate) fn has_namespace(&self, name: &str) -> bool {
        self.get(Watched::Namespace, &Key::new("", name)).is_some()
            && !self.terminating.iter().any(|known| known == name)
    }

    pub(crate) fn emitted(&self, id: &ObjectId) -> Option<&Arc<Stored>> {
        self.get(Watched::Emitted(id.kind), &id.key)
    }

    pub(crate) fn list(&self, kind: Watched) -> impl Iterator<Item = (&Key, &Arc<Stored>)> {
        self.objects.get(&kind).into_iter().flatten()
    }

    /// Everything that has happened to objects of a kind.
    pub(crate) fn log(&self, kind: Watched) -> &[Entry] {
        self.logs.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Somebody else than us writes an object.
    pub(crate) fn put(&mut self, input: Input) -> Value {
        let Input { kind, key, mut body } = input;
        let known = self.get(kind, &key).cloned();
        let uid = known.as_ref().map_or_else(|| format!("u{}", self.version + 1).into(), |known| known.uid.clone());
        let metadata = &mut body["metadata"];
        metadata["uid"] = (*uid).into();
        metadata["creationTimestamp"] = match &known {
            Some(known) => known.body["metadata"]["creationTimestamp"].clone(),
            None => Some(metadata["creationTimestamp"].take())
                .filter(|told| !told.is_null())
                .unwrap_or_else(|| created(self.version).into()),
        };
        let generation = known.as_ref().map_or(1, |known| known.generation + 1);
        metadata["generation"] = generation.into();
        let told = body.clone();
        if let Some(status) =
            known.as_ref().and_then(|known| known.body.get("status")).filter(|_| kind.emitted().is_none())
        {
            body["status"] = body.get("status").unwrap_or(status).clone();
        }
        let observed = known.and_then(|known| known.observed);
        let ours = None;
        self.store(kind, key, Stored { version: 0, uid, generation, observed, ours, body: body.into(), owner: None });
        told
    }

    /// The version of what was written or deleted last.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Somebody deletes an object; what it owns is garbage by then.
    pub(crate) fn remove(&mut self, kind: Watched, key: &Key) -> bool {
        let Some(gone) = self.objects.get_mut(&kind).and_then(|objects| objects.remove(key)) else { return false };
        self.version += 1;
        let entry = Entry { version: self.version, key: key.clone(), stored: None };
        self.logs.entry(kind).or_default().push(entry);
        self.news.push(kind);
        let owned = self.objects.iter().flat_map(|(kind, objects)| objects.iter().map(move |known| (*kind, known)));
        let owned = owned.filter(|(_, (_, stored))| stored.owner.as_ref() == Some(&gone.uid));
        self.garbage.extend(owned.map(|(kind, (key, stored))| (kind, key.clone(), stored.uid.clone())));
        true
    }

    /// Objects of a kind are again as they were in this version, each in its version of then. Gives those that were otherwise.
    pub(crate) fn restore(&mut self, kind: Watched, then: u64) -> BTreeSet<Key> {
        let log = self.logs.entry(kind).or_default();
        let later: BTreeSet<Key> =
            log.iter().filter(|entry| entry.version > then).map(|entry| entry.key.clone()).collect();
        let objects = self.objects.entry(kind).or_default();
        for key in &later {
            let known = log.iter().rfind(|entry| entry.key == *key && entry.version <= then);
            let stored = known.and_then(|entry| entry.stored.clone());
            match &stored {
                Some(stored) => objects.insert(key.clone(), Arc::clone(stored)),
                None => objects.remove(key),
            };
            self.version += 1;
            log.push(Entry { version: self.version, key: key.clone(), stored });
            self.news.push(kind);
        }
        later
    }

    /// We apply an object: to the one with this uid, or create it.
    pub(crate) fn apply(
        &mut self,
        id: &ObjectId,
        body: &Value,
        desired: Digest,
        uid: Option<&str>,
        now: Moment,
    ) -> Result<Live, ApplyError> {
        let kind = Watched::Emitted(id.kind);
        let known = self.emitted(id).cloned();
        if known.as_ref().map(|known| &*known.uid) != uid {
            return Err(ApplyError::Found(known.map(|known| known.live())));
        }
        if self.terminating.iter().any(|namespace| **namespace == *id.key.namespace) && known.is_none() {
            let error = WriteError::passing(Reason::NamespaceTerminating, "the namespace is about to go");
            return Err(ApplyError::Failed(error));
        }
        if !self.has_namespace(&id.key.namespace) && known.is_none() {
            let error = WriteError::passing(Reason::NamespaceNotFound, "there is no such namespace");
            return Err(ApplyError::Failed(error));
        }
        if let Some(error) = self.refusal(id.kind, import_of(body).as_ref(), now) {
            return Err(ApplyError::Failed(error));
        }
        if known.as_ref().is_some_and(|known| known.ours == Some(desired)) {
            return Ok(known.map(|known| known.live()).unwrap_or_default());
        }
        if known.as_ref().is_some_and(|known| known.ours.is_none()) {
            self.trespasses.push(format!("{} {} of another is written", id.kind.name(), id.key));
        }
        let mut body = body.clone();
        // What is applied says nothing of it.
        if let Some(status) = known.as_ref().and_then(|known| known.body.get("status")) {
            body["status"] = status.clone();
        }
        if id.kind == Kind::Service {
            let asked = body["spec"]["clusterIP"].clone();
            let kept = known.as_ref().map(|known| known.body["spec"]["clusterIPs"].clone());
            body["spec"]["clusterIPs"] = match kept {
                Some(kept) if asked.is_null() || kept[0] == asked => kept,
                Some(_) => return Err(taken("spec.clusterIPs[0]: may not change once set")),
                None if asked == NO_ADDRESS => json!([NO_ADDRESS]),
                None => self.allocate(&id.key, &asked)?,
            };
        }
        let uid = known.as_ref().map_or_else(|| format!("u{}", self.version + 1).into(), |known| known.uid.clone());
        body["metadata"]["uid"] = (*uid).into();
        let owner = body.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str).map(Box::from);
        let generation = known.as_ref().map_or(1, |known| known.generation + 1);
        let observed = known.and_then(|known| known.observed);
        let stored = Stored { version: 0, uid, generation, observed, ours: Some(desired), body: body.into(), owner };
        self.store(kind, id.key.clone(), stored);
        Ok(self.emitted(id).map(|stored| stored.live()).unwrap_or_default())
    }

    /// Gives a Service the address that it asks for, or one that nobody has.
    fn allocate(&mut self, service: &Key, asked: &Value) -> Result<Value, ApplyError> {
        let is_taken = |address: &Value| {
            let mut services = self.list(Watched::Emitted(Kind::Service));
            services.any(|(key, stored)| key != service && stored.body["spec"]["clusterIPs"][0] == *address)
        };
        if !asked.is_null() && is_taken(asked) {
            return Err(taken("spec.clusterIPs: provided IP is already allocated"));
        }
        let free = (1..=u8::MAX).map(|last| Value::from(format!("10.96.0.{last}"))).find(|address| !is_taken(address));
        let address = if asked.is_null() { free.unwrap_or_default() } else { asked.clone() };
        Ok(Value::Array(vec![address]))
    }

    /// We write the status of a user's object.
    pub(crate) fn write_status(&mut self, patch: &StatusPatch) -> Result<(), WriteError> {
        let kind = match patch.kind {
            StatusKind::ServiceImport => Watched::ServiceImport,
            StatusKind::WanPolicy => Watched::WanPolicy,
            StatusKind::ClusterConnection => Watched::Emitted(Kind::ClusterConnection),
            StatusKind::ServiceExport(_) => Watched::ServiceExport,
            StatusKind::McsServiceImport(_) => Watched::Emitted(Kind::McsServiceImport),
            StatusKind::Route(RouteKind::Http) => Watched::Emitted(Kind::HttpRoute),
            StatusKind::Route(RouteKind::Grpc) => Watched::GrpcRoute,
            StatusKind::OpenshiftRoute => Watched::OpenshiftRoute,
            StatusKind::Pod => Watched::Pod,
        };
        let known =
            self.get(kind, &patch.key).filter(|known| patch.uid.as_deref().is_none_or(|uid| *uid == *known.uid));
        let Some(known) = known.cloned() else {
            return Err(WriteError::NotFound { message: "404 page not found".to_owned() });
        };
        let asked = patch.body.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        if asked.is_some_and(|asked| asked != known.version.to_string()) {
            return Err(WriteError::Conflict);
        }
        let mut body = (*known.body).clone();
        if patch.kind == StatusKind::Pod {
            // Conditions of others stay, and so does all else.
            let conditions = patch.body.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
            if let Some(known) = body.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                for condition in conditions {
                    known.retain(|known| known["type"] != condition["type"]);
                    known.push(condition.clone());
                }
            }
        } else {
            body["status"] = patch.body["status"].clone();
        }
        self.store(kind, patch.key.clone(), Stored { body: body.into(), ..(*known).clone() });
        Ok(())
    }

    /// We delete an object, if it still is ours and the same.
    pub(crate) fn delete(&mut self, id: &ObjectId, live: &Live) -> Result<(), WriteError> {
        let Some(known) = self.emitted(id) else { return Ok(()) };
        if known.uid != live.uid {
            return Ok(());
        }
        if known.ours.is_none() {
            return Err(WriteError::Conflict);
        }
        self.remove(Watched::Emitted(id.kind), &id.key);
        Ok(())
    }

    /// Istiod tells which generation of a route it has heard of, unless a backup has taken that away. Returns whether the route is
    /// there, so that others hear of it.
    pub(crate) fn observe(&mut self, key: &Key, uid: &str, generation: i64) -> bool {
        let kind = Watched::Emitted(Kind::HttpRoute);
        let is_it = |known: &&Arc<Stored>| &*known.uid == uid && generation <= known.generation;
        let Some(known) = self.get(kind, key).filter(is_it) else { return false };
        if known.observed.is_none_or(|observed| observed < generation) {
            let stored = Stored { observed: Some(generation), ..(**known).clone() };
            self.store(kind, key.clone(), stored);
        }
        true
    }

    /// Why it does not take an object, if so: a policy is against it, or nobody knows the kind.
    fn refusal(&self, kind: Kind, import: Option<&Key>, now: Moment) -> Option<WriteError> {
        let is_of = |refusal: &&Refusal| refusal.kind == kind && refusal.until > now;
        let refused = self.refusals.iter().filter(is_of).map(|refusal| refusal.import.as_ref());
        let refused = refused.into_iter().find(|refused| refused.is_none_or(|refused| Some(refused) == import))?;
        Some(match refused {
            Some(_) => WriteError::Lasting { reason: Reason::Forbidden, message: "a policy refuses it".to_owned() },
            None => WriteError::NotFound { message: "404 page not found".to_owned() },
        })
    }

    fn store(&mut self, kind: Watched, key: Key, stored: Stored) {
        self.version += 1;
        let stored = Arc::new(Stored { version: self.version, ..stored });
        let entry = Entry { version: self.version, key: key.clone(), stored: Some(Arc::clone(&stored)) };
        self.logs.entry(kind).or_default().push(entry);
        self.objects.entry(kind).or_default().insert(key, stored);
        self.news.push(kind);
    }
}

fn taken(message: &str) -> ApplyError {
    ApplyError::Failed(WriteError::passing(Reason::AddressTaken, message))
}

/// A time of creation: each object is younger than those before it.
fn created(version: u64) -> String {
    format!("2026-11-22T{:02}:{:02}:{:02}Z", version / 3600 % 24, version / 60 % 60, version % 60)
}
