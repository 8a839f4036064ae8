//! Whom gateways here admit: other clusters hear of it when gateways have had the time.
//!
//! The registry and a gateway's admission are two channels that know nothing of each other: a cluster that hears that it may
//! use a tier would be refused by gateways that do not know it yet. What is taken away is told at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::event::Command;
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::stage::StageProgress;
use super::{Rollout, Safeguard, Timing, Work};
use crate::api::{AdmittedCluster, REGISTRY_NAMESPACE, WanClusterSpec};
use crate::emit::object::{Kind, Object};
use crate::moment::Moment;
use crate::observed::Istiod;
use crate::translate::{Admissions, Affected, Callers};

/// What other clusters are told of whom gateways here admit.
#[derive(Debug, Default)]
pub(super) struct Admission {
    outstanding: Outstanding,
    /// On which tiers; none: nothing was told yet.
    tiers: Option<Told<Admissions>>,
    /// By cluster, which of its gateways, by their digest; none: nothing was told yet.
    gateways: BTreeMap<String, Told<Option<String>>>,
}

/// The namespaces whose `AuthorizationPolicy` the API server does not have in the wanted state, and since when.
#[derive(Debug, Default)]
struct Outstanding(BTreeMap<Arc<str>, Moment>);

impl Outstanding {
    /// Until when what was wanted since then waits for a namespace; none: it waits for none. A namespace is waited for until
    /// the grace has passed since it was first to be written, and no more until it was: one that cannot be holds up the
    /// others once. One that is to be written anew later has what was wanted before.
    fn holds_up(&self, since: Moment, timing: Timing, now: Moment) -> Option<Moment> {
        let awaited = self.0.values().filter(|outstanding| **outstanding <= since);
        awaited.map(|outstanding| *outstanding + timing.grace).max().filter(|until| *until > now)
    }
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

    /// This is to be told. Gives when it is looked at again, if it waits. `narrowed`: what of something both leave. What waits
    /// already is told in its time, as far as it is still wanted: else who wants another thing every second would hold up all
    /// others.
    fn want(
        &mut self,
        wanted: T,
        narrowed: fn(&T, &T) -> T,
        outstanding: &Outstanding,
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
        let awaited = outstanding.holds_up(progress.since, timing, now).filter(|_| progress.written.is_none());
        // Of an admission, istiod says nothing.
        progress.look(awaited.is_none(), Istiod::UpToDate, now);
        let until = awaited.or_else(|| progress.known(timing));
        if until.is_some_and(|until| until <= now) {
            self.now = next;
            // What has come meanwhile begins to wait.
            return self.want(wanted, narrowed, outstanding, timing, now);
        }
        self.next = Some((next, progress));
        until
    }

    /// Whether it waits for no namespace any more, and it is not known yet since when.
    fn is_free(&self, outstanding: &Outstanding, timing: Timing, now: Moment) -> bool {
        let waiting = self.next.as_ref().filter(|(_, progress)| progress.written.is_none());
        waiting.is_some_and(|(_, progress)| outstanding.holds_up(progress.since, timing, now).is_none())
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
        let mut is_written = true;
        for object in objects {
            let kind = object.id.kind;
            let state = self.write(key, object, now, out);
            is_written &= kind != Kind::AuthorizationPolicy || state == WriteState::Written;
        }
        let Admission { outstanding, tiers, gateways } = &mut self.admission;
        if !is_written {
            outstanding.0.entry(Arc::clone(&key.namespace)).or_insert(now);
        } else if outstanding.0.remove(&key.namespace).is_some() {
            let timing = self.timing;
            let is_free = tiers.as_ref().is_some_and(|told| told.is_free(outstanding, timing, now));
            if is_free || gateways.values().any(|told| told.is_free(outstanding, timing, now)) {
                self.queue.add(Work::Reconcile(ReconcileKey::cluster()));
            }
        }
    }

    /// Gateways of these namespaces may be to admit others.
    pub(super) fn admit_anew(&mut self, affected: &Affected, now: Moment) {
        for namespace in &affected.ingress {
            self.admission.outstanding.0.entry(Arc::clone(namespace)).or_insert(now);
        }
    }

    /// Who calls exports: the gateways that imports are steered by, and those that may still be by versions of before.
    pub(super) fn callers(&self) -> Callers<'_> {
        let wanted = self.model.translator.imports().values().map(|import| &**import);
        wanted.chain(self.imports.values().flat_map(|state| state.versions.backed())).collect()
    }

    /// What the registry is told of the cluster by now.
    pub(super) fn cluster_to_tell(&mut self, key: &ReconcileKey, now: Moment) -> WanClusterSpec {
        let snapshot = &self.world.snapshot;
        let none = Timing { lead: Duration::ZERO, grace: Duration::ZERO };
        let timing = if self.has(Safeguard::Admission) { self.timing } else { none };
        let mut spec = self.model.translator.cluster(snapshot, &self.callers());
        let own = self.model.settings.cluster.as_deref();
        let known = own.and_then(|own| snapshot.wan_clusters.get(REGISTRY_NAMESPACE, own)).map(|own| &own.spec);
        let wanted = Admissions::told(spec.admits.as_deref());
        let Admission { outstanding, tiers, gateways } = &mut self.admission;
        let tiers = tiers.get_or_insert_with(|| {
            Told::new(known.map_or_else(|| wanted.clone(), |known| Admissions::told(known.admits.as_deref())))
        });
        let mut times = Vec::from_iter(tiers.want(wanted, Admissions::narrowed, outstanding, timing, now));
        spec.admits = tiers.now.grouped();

        let wanted: BTreeMap<_, _> =
            spec.admitted.take().into_iter().flatten().map(|it| (it.cluster, it.egress_gateways)).collect();
        gateways.retain(|cluster, _| wanted.contains_key(cluster));
        for (cluster, digest) in wanted {
            let told = gateways.entry(cluster).or_insert_with_key(|cluster| {
                let mut told = known.and_then(|known| known.admitted.as_ref()).into_iter().flatten();
                Told::new(told.find(|told| told.cluster == *cluster).map(|told| told.egress_gateways.clone()))
            });
            // A state of gateways has nothing to take away.
            let whole = |told: &Option<String>, _: &_| told.clone();
            times.extend(told.want(Some(digest), whole, outstanding, timing, now));
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
