//! Whom gateways here admit: other clusters hear of it when gateways have had the time.
//!
//! The registry and a gateway's admission are two channels that know nothing of each other: a cluster that hears that it may
//! use a tier would be refused by gateways that do not know it yet. What is taken away is told at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::event::Command;
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::version::StageProgress;
use super::{Rollout, Timing, Work};
use crate::api::{REGISTRY_NAMESPACE, WanClusterSpec};
use crate::emit::object::{Kind, Object, ObjectId};
use crate::moment::Moment;
use crate::observed::Istiod;
use crate::outcome::WriteOutcome;
use crate::translate::Admissions;

/// What other clusters are told of whom gateways here admit.
#[derive(Debug, Default)]
pub(super) struct Admission {
    /// The namespaces whose gateways have another admission than they are to have.
    unwritten: BTreeSet<Arc<str>>,
    /// On which tiers; none: nothing was told yet.
    tiers: Option<Told<Admissions>>,
}

/// What others are told, and what they are to be told once gateways have had the time for it.
#[derive(Debug)]
struct Told<T> {
    now: T,
    next: Option<(T, StageProgress)>,
}

impl<T: Clone + PartialEq> Told<T> {
    fn new(now: T) -> Self {
        Self { now, next: None }
    }

    /// This is to be told. Gives when it may be, if that is later. `is_written`: whether gateways are told of it.
    fn want(&mut self, wanted: T, is_written: bool, timing: Timing, now: Moment) -> Option<Moment> {
        if self.now == wanted {
            self.next = None;
            return None;
        }
        let known = self.next.take().filter(|(next, _)| *next == wanted);
        let mut progress = known.map_or_else(|| StageProgress::begin(now), |(_, progress)| progress);
        // Of an admission, istiod says nothing.
        progress.look(is_written, Istiod::UpToDate, now);
        let until = progress.known(timing);
        if until.is_some_and(|until| until <= now) {
            self.now = wanted;
            return None;
        }
        self.next = Some((wanted, progress));
        until
    }

    /// Whether it waits for gateways to be told.
    fn is_waiting(&self) -> bool {
        self.next.as_ref().is_some_and(|(_, progress)| progress.written.is_none())
    }
}

impl Rollout {
    /// Writes what the exports of a namespace share, whose gateways' admission is waited for.
    pub(super) fn write_ingress(
        &mut self,
        key: &ReconcileKey,
        objects: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let ids: Vec<_> = objects.iter().map(|object| object.id.clone()).collect();
        self.consists_of(key, &ids, now);
        self.admission.unwritten.remove(&key.namespace);
        for object in objects {
            let id = object.id.clone();
            let state = self.write(key, object, now, out);
            if id.kind == Kind::AuthorizationPolicy && state != WriteState::Written && self.is_refusing(&id) {
                self.admission.unwritten.insert(Arc::clone(&key.namespace));
            }
        }
        let is_waiting = self.admission.tiers.as_ref().is_some_and(Told::is_waiting);
        if is_waiting && self.admission.unwritten.is_empty() {
            let [_, cluster] = ReconcileKey::shared();
            self.queue.add(Work::Reconcile(cluster));
        }
    }

    /// Whether gateways refuse by the admission that is there. Where it cannot be changed, nobody waits: other namespaces are
    /// not to suffer from it.
    fn is_refusing(&self, id: &ObjectId) -> bool {
        self.is_there(id) && !self.objects.failure(id).is_some_and(WriteOutcome::is_lasting)
    }

    /// Whether the API server has every admission as it is to be.
    fn is_admission_written(&self) -> bool {
        let is_due = |namespace: &Arc<str>| self.queue.is_due(&Work::Reconcile(ReconcileKey::ingress(namespace)));
        self.admission.unwritten.is_empty() && !self.model.translator.outgoing().namespaces().any(is_due)
    }

    /// What the registry is told of the cluster by now.
    pub(super) fn cluster_to_tell(&mut self, key: &ReconcileKey, now: Moment) -> WanClusterSpec {
        let snapshot = &self.world.snapshot;
        let mut spec = self.model.translator.cluster(snapshot);
        let wanted = Admissions::told(spec.admits.as_deref());
        let is_written = self.is_admission_written();
        let told = self.admission.tiers.get_or_insert_with(|| {
            let own = self.model.settings.cluster.as_deref();
            let known = own.and_then(|own| snapshot.wan_clusters.get(REGISTRY_NAMESPACE, own));
            Told::new(known.map_or_else(|| wanted.clone(), |known| Admissions::told(known.spec.admits.as_deref())))
        });
        told.now = told.now.narrowed(&wanted);
        let until = told.want(wanted, is_written, self.timing, now);
        spec.admits = told.now.grouped();
        if let Some(until) = until {
            self.queue.add_at(Work::Reconcile(key.clone()), until);
        }
        spec
    }
}
