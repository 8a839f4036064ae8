//! New pods of egress gateways: they take requests once the clusters that these go to admit them.
//!
//! A pod's address is told to the registry as soon as there is one, and the gateways there refuse it until they have heard of
//! it. Its readiness gate waits until their clusters say that they have.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::conditions::STATUS_WAIT;
use super::event::Command;
use super::statuses::StatusKey;
use super::{Rollout, Safeguard, Work};
use crate::api::REGISTRY_NAMESPACE;
use crate::liveness::Liveness;
use crate::moment::Moment;
use crate::snapshot::Key;
use crate::snapshot::pod::Pod;
use crate::status::{Admittance, gateway_pod, is_said};
use crate::translate::gateway_pods::{EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, addresses_of, gateway_of, is_over};
use crate::translate::{Tier, gateways_digest};

/// How long a pod waits at most: a cluster that says nothing must not keep it from serving the others. A registry and a
/// controller that are well take two seconds.
const ADMISSION_WAIT: Duration = Duration::from_secs(30);

/// A pod that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Until when it waits at most.
    until: Moment,
    /// The states of this cluster's gateways since the registry was told of the pod, by their digests: whoever admits one of
    /// them admits the pod. They are as many as are written while it waits.
    states: BTreeSet<String>,
    pub(super) admittance: Admittance,
}

impl Waiting {
    /// `age`: for how long there has been the pod, whoever has led in that time.
    fn begin(age: Duration, now: Moment) -> Self {
        let until = now + ADMISSION_WAIT.saturating_sub(age);
        Self { until, states: BTreeSet::new(), admittance: Admittance::Awaited }
    }
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
            let is_egress = matches!(gateway_of(pod), Some(EGRESS_GATEWAY | NATIVE_EGRESS_GATEWAY));
            let is_going = pod.metadata.deletion_timestamp.is_some() || is_over(pod);
            is_egress && !is_going && addresses_of(pod).next().is_some() && !is_said(pod)
        };
        let pods = self.world.snapshot.gateway_pods.in_namespace(namespace);
        let clock = self.conditions.clock.as_ref();
        let age = |pod: &Pod| -> Option<Duration> {
            clock?.0.duration_since(pod.metadata.creation_timestamp.as_ref()?.0).try_into().ok()
        };
        let new: Vec<_> =
            pods.filter(is_new).map(|pod| (Key::of(&pod.metadata), age(pod).unwrap_or_default())).collect();
        self.admission.pods.retain(|key, _| key.namespace != *namespace || new.iter().any(|(new, _)| new == key));
        for (pod, age) in new {
            self.admission.pods.entry(pod).or_insert_with(|| Waiting::begin(age, now));
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

    /// Looks which of the pods that wait are admitted by now.
    pub(super) fn look_at_admission(&mut self, now: Moment) {
        let snapshot = &self.world.snapshot;
        let cluster = |name: &str| snapshot.wan_clusters.get(REGISTRY_NAMESPACE, name).map(|cluster| &cluster.spec);
        let own = self.model.settings.cluster.as_deref().unwrap_or_default();
        let told = cluster(own).map_or(&[][..], |own| &*own.egress_gateways);
        let digest = gateways_digest(told);
        let is_told =
            |pod: &Pod| addresses_of(pod).all(|address| told.iter().any(|it| it.addresses.contains(&address)));
        let admits = |name: &str, states: &BTreeSet<String>| {
            let mut admitted = cluster(name).and_then(|cluster| cluster.admitted.as_ref()).into_iter().flatten();
            admitted.any(|admitted| admitted.cluster == own && states.contains(&admitted.egress_gateways))
        };
        let has_gate = self.has(Safeguard::Readiness);
        // Who is admitted stays so, though others join.
        let awaited = self.admission.pods.iter_mut().filter(|(_, waiting)| waiting.admittance == Admittance::Awaited);
        for (key, waiting) in awaited {
            let Some(pod) = snapshot.gateway_pods.get(&key.namespace, &key.name) else { continue };
            let imports = self.model.translator.imports().in_namespace(&key.namespace);
            let called = imports.flat_map(|import| &import.tiers).flat_map(Tier::remote);
            let mut live = called.filter(|source| source.liveness == Liveness::Live);
            if is_told(pod) {
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
