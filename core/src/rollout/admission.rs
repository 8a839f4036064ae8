//! Whom gateways here admit: other clusters hear of it when gateways have had the time.
//!
//! The registry and a gateway's admission are two channels that know nothing of each other: a cluster that hears that it may
//! use a tier would be refused by gateways that do not know it yet. What is taken away is told at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::event::Command;
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::readiness::Waiting;
use super::version::StageProgress;
use super::{Rollout, Timing, Work};
use crate::api::{AdmittedCluster, REGISTRY_NAMESPACE, WanClusterSpec};
use crate::emit::object::{Kind, Object, ObjectId};
use crate::moment::Moment;
use crate::observed::Istiod;
use crate::outcome::WriteOutcome;
use crate::snapshot::Key;
use crate::translate::Admissions;

/// Whom gateways here admit, and by whom they are admitted.
#[derive(Debug, Default)]
pub(super) struct Admission {
    /// The namespaces whose gateways have another admission than they are to have.
    unwritten: BTreeSet<Arc<str>>,
    /// On which tiers; none: nothing was told yet.
    tiers: Option<Told<Admissions>>,
    /// By cluster, which of its gateways, by their digest; none: nothing was told yet.
    gateways: BTreeMap<String, Told<Option<String>>>,
    /// The pods of egress gateways here that take no requests before other clusters admit them.
    pub(super) pods: BTreeMap<Key, Waiting>,
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

    /// This is to be told. Gives when it may be, if that is later. `is_written`: whether gateways are told of it. `narrowed`:
    /// what of something both leave. What waits already is told in its time, as far as it is still wanted: else who wants
    /// another thing every second would hold up all others.
    fn want(
        &mut self,
        wanted: T,
        narrowed: fn(&T, &T) -> T,
        is_written: bool,
        timing: Timing,
        now: Moment,
    ) -> Option<Moment> {
        self.now = narrowed(&self.now, &wanted);
        let waiting = self.next.take().map(|(next, progress)| (narrowed(&next, &wanted), progress));
        let (next, mut progress) = match waiting {
            Some((next, progress)) if next != self.now => (next, progress),
            _ if self.now == wanted => return None,
            _ => (wanted.clone(), StageProgress::begin(now)),
        };
        // Of an admission, istiod says nothing.
        progress.look(is_written, Istiod::UpToDate, now);
        let until = progress.known(timing);
        if until.is_some_and(|until| until <= now) {
            self.now = next;
            // What has come meanwhile begins to wait.
            return self.want(wanted, narrowed, is_written, timing, now);
        }
        self.next = Some((next, progress));
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
        let Admission { unwritten, tiers, gateways, .. } = &self.admission;
        let is_waiting = tiers.as_ref().is_some_and(Told::is_waiting) || gateways.values().any(Told::is_waiting);
        if is_waiting && unwritten.is_empty() {
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
        let (snapshot, timing) = (&self.world.snapshot, self.timing);
        let mut spec = self.model.translator.cluster(snapshot);
        let is_written = self.is_admission_written();
        let own = self.model.settings.cluster.as_deref();
        let known = own.and_then(|own| snapshot.wan_clusters.get(REGISTRY_NAMESPACE, own)).map(|own| &own.spec);
        let wanted = Admissions::told(spec.admits.as_deref());
        let tiers = self.admission.tiers.get_or_insert_with(|| {
            Told::new(known.map_or_else(|| wanted.clone(), |known| Admissions::told(known.admits.as_deref())))
        });
        let mut times = Vec::from_iter(tiers.want(wanted, Admissions::narrowed, is_written, timing, now));
        spec.admits = tiers.now.grouped();

        let wanted: BTreeMap<_, _> =
            spec.admitted.take().into_iter().flatten().map(|it| (it.cluster, it.egress_gateways)).collect();
        let gateways = &mut self.admission.gateways;
        gateways.retain(|cluster, _| wanted.contains_key(cluster));
        for (cluster, digest) in wanted {
            let told = gateways.entry(cluster).or_insert_with_key(|cluster| {
                let mut told = known.and_then(|known| known.admitted.as_ref()).into_iter().flatten();
                Told::new(told.find(|told| told.cluster == *cluster).map(|told| told.egress_gateways.clone()))
            });
            // A state of gateways has nothing to take away.
            let whole = |told: &Option<String>, _: &_| told.clone();
            times.extend(told.want(Some(digest), whole, is_written, timing, now));
        }
        let told = gateways.iter().filter_map(|(cluster, told)| {
            Some(AdmittedCluster { cluster: cluster.clone(), egress_gateways: told.now.clone()? })
        });
        spec.admitted = Some(told.collect::<Vec<_>>()).filter(|told| !told.is_empty());
        if let Some(first) = times.into_iter().min() {
            self.queue.add_at(Work::Reconcile(key.clone()), first);
        }
        spec
    }
}
