//! New pods of egress gateways: they take requests once the clusters that these go to admit them.
//!
//! A pod's address is told to the registry as soon as there is one, and the gateways there refuse it until they have heard of
//! it. Its readiness gate waits until their clusters say that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::conditions::STATUS_WAIT;
use super::event::Command;
use super::key::ReconcileKey;
use super::statuses::StatusKey;
use super::version::Stage;
use super::{Rollout, Safeguard, Work};
use crate::api::{EgressGateway, REGISTRY_NAMESPACE};
use crate::liveness::Liveness;
use crate::moment::Moment;
use crate::snapshot::pod::Pod;
use crate::snapshot::{Key, Snapshot};
use crate::status::{Admittance, gateway_pod, is_said};
use crate::translate::gateway_pods::{
    EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, addresses_of, gateway_of, is_over, is_ready,
};
use crate::translate::{Import, Tier, Translator, gateways_digest};

/// How long a pod waits at most: a cluster that says nothing must not keep it from serving the others. A registry and a
/// controller that are well take two seconds.
const ADMISSION_WAIT: Duration = Duration::from_secs(30);

/// A pod that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// What it waits with: with other addresses, it waits anew.
    addresses: BTreeSet<IpAddr>,
    /// Until when it waits at most.
    until: Moment,
    /// The states of this cluster's gateways since the registry was told of the pod, by their digests: whoever admits one of
    /// them admits the pod. They are as many as are written while it waits.
    states: BTreeSet<String>,
    pub(super) admittance: Admittance,
}

impl Waiting {
    /// `waited`: for how long the pod has waited before, whoever has led in that time.
    fn begin(addresses: BTreeSet<IpAddr>, waited: Duration, now: Moment) -> Self {
        let until = now + ADMISSION_WAIT.saturating_sub(waited);
        Self { addresses, until, states: BTreeSet::new(), admittance: Admittance::Awaited }
    }
}

/// What the registry has been told of the egress gateways here.
struct Told<'r> {
    gateways: &'r [EgressGateway],
    translator: &'r Translator,
}

impl<'r> Told<'r> {
    fn new(own: &str, snapshot: &'r Snapshot, translator: &'r Translator) -> Self {
        let known = snapshot.wan_clusters.get(REGISTRY_NAMESPACE, own);
        Self { gateways: known.map_or(&[], |own| &own.spec.egress_gateways), translator }
    }

    /// Whether a pod is told of wherever its namespace calls: another namespace may have had the address before.
    fn has(&self, namespace: &str, addresses: &BTreeSet<IpAddr>) -> bool {
        self.translator.imports().in_namespace(namespace).all(|import| self.calls(import, addresses))
    }

    /// Whether a pod is told of as one that calls what an import is of.
    fn calls(&self, import: &Import, addresses: &BTreeSet<IpAddr>) -> bool {
        let mut own = self.gateways.iter().filter(|gateway| gateway.namespace == import.wire.namespace);
        own.any(|own| addresses.iter().all(|address| own.addresses.contains(address)))
    }
}

fn is_egress(pod: &Pod) -> bool {
    matches!(gateway_of(pod), Some(EGRESS_GATEWAY | NATIVE_EGRESS_GATEWAY))
}

impl Rollout {
    /// Looks at the pods of all namespaces.
    pub(super) fn await_all_admissions(&mut self, now: Moment) {
        let pods = self.world.snapshot.gateway_pods.iter().filter_map(|pod| pod.metadata.namespace.as_deref());
        for namespace in pods.map(Arc::from).collect::<BTreeSet<_>>() {
            self.await_admission(&namespace, now);
        }
    }

    /// The pods of a namespace may be others.
    pub(super) fn await_admission(&mut self, namespace: &Arc<str>, now: Moment) {
        let is_new = |pod: &&Pod| {
            let is_going = pod.metadata.deletion_timestamp.is_some() || is_over(pod);
            is_egress(pod) && !is_going && addresses_of(pod).next().is_some() && !is_said(pod)
        };
        let own = self.model.settings.cluster.as_deref().unwrap_or_default();
        let told = Told::new(own, &self.world.snapshot, &self.model.translator);
        let clock = self.conditions.clock.as_ref();
        let age = |pod: &Pod| -> Option<Duration> {
            clock?.0.duration_since(pod.metadata.creation_timestamp.as_ref()?.0).try_into().ok()
        };
        // Who could not be admitted, as the registry has not heard of it, has not waited, however old it is.
        let new = self.world.snapshot.gateway_pods.in_namespace(namespace).filter(is_new).map(|pod| {
            let addresses: BTreeSet<_> = addresses_of(pod).collect();
            let waited = age(pod).filter(|_| told.has(namespace, &addresses)).unwrap_or_default();
            (Key::of(&pod.metadata), Waiting::begin(addresses, waited, now))
        });
        let new: BTreeMap<_, _> = new.collect();
        self.admission.pods.retain(|key, waiting| {
            key.namespace != *namespace || new.get(key).is_some_and(|new| new.addresses == waiting.addresses)
        });
        for (pod, waiting) in new {
            self.admission.pods.entry(pod).or_insert(waiting);
            self.queue.add(Work::Admit);
        }
    }

    /// Opens the gates of the pods that have waited for long enough, while nothing else can be done: the registry is away,
    /// and what it holds was never known. Whoever leads would do the same, so that no Lease is needed for it.
    pub(super) fn open_overdue(&mut self, now: Moment, out: &mut Vec<Command>) {
        if self.world.is_synced() || !self.world.is_cluster_synced() {
            self.admission.pods.clear();
            return;
        }
        self.await_all_admissions(now);
        let Some(clock) = &self.conditions.clock else { return };
        for (key, waiting) in self.admission.pods.iter_mut().filter(|(_, waiting)| waiting.until <= now) {
            // If that fails, it is tried again.
            waiting.until = now + STATUS_WAIT;
            let pod = self.world.snapshot.gateway_pods.get(&key.namespace, &key.name);
            let patch = pod.and_then(|pod| gateway_pod(pod, Admittance::Late, clock));
            out.extend(patch.map(|patch| Command::OpenGate { patch }));
        }
    }

    /// When the next gate is to be opened that way.
    pub(super) fn next_overdue(&self) -> Option<Moment> {
        self.admission.pods.values().map(|waiting| waiting.until).min()
    }

    /// Whether the registry has the pods that an import steers, so that the clusters that it calls hear of them. Those that
    /// do not take requests yet wait for that themselves.
    pub(super) fn are_callers_told(&self, import: &Import) -> bool {
        if import.tiers.iter().flat_map(Tier::remote).next().is_none() {
            return true;
        }
        let snapshot = &self.world.snapshot;
        let own = self.model.settings.cluster.as_deref().unwrap_or_default();
        let told = Told::new(own, snapshot, &self.model.translator);
        let pods = snapshot.gateway_pods.in_namespace(&import.key.namespace);
        let mut ready = pods.filter(|pod| is_egress(pod) && is_ready(pod));
        ready.all(|pod| told.calls(import, &addresses_of(pod).collect()))
    }

    /// Looks again at the imports whose callers may be told by now.
    pub(super) fn look_at_callers(&mut self) {
        let newest = self.imports.values().filter_map(|state| state.versions.newest());
        let waiting = newest.filter(|newest| matches!(newest.stage, Stage::Backing(_)));
        for import in waiting.filter_map(|newest| newest.import.as_ref()) {
            self.queue.add(Work::Reconcile(ReconcileKey::import(&import.key)));
        }
    }

    /// Looks which of the pods that wait are admitted by now.
    pub(super) fn look_at_admission(&mut self, now: Moment) {
        let snapshot = &self.world.snapshot;
        let cluster = |name: &str| snapshot.wan_clusters.get(REGISTRY_NAMESPACE, name).map(|cluster| &cluster.spec);
        let own = self.model.settings.cluster.as_deref().unwrap_or_default();
        let told = Told::new(own, snapshot, &self.model.translator);
        let digest = gateways_digest(told.gateways);
        let admits = |name: &str, states: &BTreeSet<String>| {
            let mut admitted = cluster(name).and_then(|cluster| cluster.admitted.as_ref()).into_iter().flatten();
            admitted.any(|admitted| admitted.cluster == own && states.contains(&admitted.egress_gateways))
        };
        let has_gate = self.has(Safeguard::Readiness);
        // Who is admitted stays so, though others join.
        let awaited = self.admission.pods.iter_mut().filter(|(_, waiting)| waiting.admittance == Admittance::Awaited);
        for (key, waiting) in awaited {
            let imports = self.model.translator.imports().in_namespace(&key.namespace);
            let called = imports.flat_map(|import| &import.tiers).flat_map(Tier::remote);
            let mut live = called.filter(|source| source.liveness == Liveness::Live);
            if told.has(&key.namespace, &waiting.addresses) {
                waiting.states.insert(digest.clone());
            }
            if !has_gate || live.all(|source| admits(&source.cluster, &waiting.states)) {
                waiting.admittance = Admittance::Admitted;
            } else if waiting.until <= now {
                waiting.admittance = Admittance::Late;
            } else {
                self.queue.add_at(Work::Admit, waiting.until);
            }
            self.queue.add(Work::Report(StatusKey::Pod(key.clone())));
        }
    }
}
