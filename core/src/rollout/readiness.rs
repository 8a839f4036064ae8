//! New pods of egress gateways: they take requests once the clusters that these go to admit them.
//!
//! A pod's address is told to the registry as soon as there is one, and the gateways there refuse it until they have heard of
//! it. Its readiness gate waits until their clusters say that they have. No import steers a pod to where it is not admitted yet.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::conditions::STATUS_WAIT;
use super::event::Command;
use super::statuses::StatusKey;
use super::{ImportState, Rollout, Safeguard, Work};
use crate::moment::Moment;
use crate::snapshot::pod::Pod;
use crate::snapshot::{Key, Keyed};
use crate::status::{Admittance, gateway_pod, is_said};
use crate::translate::gateway_pods::{
    EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, addresses_of, gateway_of, is_over, known_pods,
};
use crate::translate::{Import, Translator};

/// How long a pod waits at most: a cluster that says nothing must not keep it from serving the others. A registry and a
/// controller that are well take two seconds.
const ADMISSION_WAIT: Duration = Duration::from_secs(30);

/// The pods of egress gateways here that take no requests before other clusters admit them.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    pub(super) pods: BTreeMap<Key, Waiting>,
    /// Until then a request of who led before may make the registry have an earlier state once more, and nobody could tell which
    /// of two equal ones another cluster has admitted.
    pub(super) settled: Moment,
}

/// A pod that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// What it waits with: with other addresses, it waits anew.
    addresses: BTreeSet<IpAddr>,
    /// Until when it waits at most.
    until: Moment,
    pub(super) admittance: Admittance,
}

impl Waiting {
    /// `waited`: for how long the pod has waited before, whoever has led in that time.
    fn begin(addresses: BTreeSet<IpAddr>, waited: Duration, now: Moment) -> Self {
        let until = now + ADMISSION_WAIT.saturating_sub(waited);
        Self { addresses, until, admittance: Admittance::Awaited }
    }
}

/// Whether a pod is of a gateway that requests leave by.
fn is_egress(pod: &Pod) -> bool {
    matches!(gateway_of(pod), Some(EGRESS_GATEWAY | NATIVE_EGRESS_GATEWAY))
}

/// The imports that pods of a namespace may steer to: those that are wanted, and those that a filter may still have.
fn steered_to<'r>(
    translator: &'r Translator,
    imports: &'r Keyed<ImportState>,
    namespace: &str,
) -> impl Iterator<Item = &'r Import> {
    let wanted = translator.imports().in_namespace(namespace).map(|import| &**import);
    wanted.chain(imports.in_namespace(namespace).flat_map(|state| state.versions.backed()))
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
        let is_told = |addresses: &BTreeSet<_>| {
            let mut imports = steered_to(&self.model.translator, &self.imports, namespace);
            imports.all(|import| self.caller_states.have(&import.wire.namespace, addresses))
        };
        let clock = self.conditions.clock.as_ref();
        let age = |pod: &Pod| -> Option<Duration> {
            clock?.0.duration_since(pod.metadata.creation_timestamp.as_ref()?.0).try_into().ok()
        };
        // Who could not be admitted, as the registry has not heard of it, has not waited, however old it is.
        let new = self.world.snapshot.gateway_pods.in_namespace(namespace).filter(is_new).map(|pod| {
            let addresses: BTreeSet<_> = addresses_of(pod).collect();
            let waited = age(pod).filter(|_| is_told(&addresses)).unwrap_or_default();
            (Key::of(&pod.metadata), Waiting::begin(addresses, waited, now))
        });
        let new: BTreeMap<_, _> = new.collect();
        self.readiness.pods.retain(|key, waiting| {
            key.namespace != *namespace || new.get(key).is_some_and(|new| new.addresses == waiting.addresses)
        });
        for (pod, waiting) in new {
            self.readiness.pods.entry(pod).or_insert(waiting);
            self.queue.add(Work::Admit);
        }
    }

    /// Opens the gates of the pods that have waited for long enough, while nothing else can be done: the registry is away,
    /// and what it holds was never known. Whoever leads would do the same, so that no Lease is needed for it.
    pub(super) fn open_overdue(&mut self, now: Moment, out: &mut Vec<Command>) {
        if self.world.is_synced() || !self.world.is_cluster_synced() {
            self.readiness.pods.clear();
            return;
        }
        self.await_all_admissions(now);
        let Some(clock) = &self.conditions.clock else { return };
        for (key, waiting) in self.readiness.pods.iter_mut().filter(|(_, waiting)| waiting.until <= now) {
            // If that fails, it is tried again.
            waiting.until = now + STATUS_WAIT;
            let pod = self.world.snapshot.gateway_pods.get(&key.namespace, &key.name);
            let patch = pod.and_then(|pod| gateway_pod(pod, Admittance::Late, clock));
            out.extend(patch.map(|patch| Command::OpenGate { patch }));
        }
    }

    /// When the next gate is to be opened that way.
    pub(super) fn next_overdue(&self) -> Option<Moment> {
        self.readiness.pods.values().map(|waiting| waiting.until).min()
    }

    /// Looks which of the pods that wait are admitted by now.
    pub(super) fn look_at_admission(&mut self, now: Moment) {
        let has_gate = self.has(Safeguard::Readiness);
        let Self { world, model, imports, readiness, caller_states: states, queue, conditions, .. } = self;
        let Readiness { pods, settled } = readiness;
        let is_settled = *settled <= now;
        let own = model.settings.cluster.as_deref().unwrap_or_default();
        // Who is admitted stays so, though others join.
        for (key, waiting) in pods.iter_mut().filter(|(_, waiting)| waiting.admittance == Admittance::Awaited) {
            let mut steered_to = steered_to(&model.translator, imports, &key.namespace);
            let mut is_admitted =
                || steered_to.all(|import| states.are_admitted(import, &waiting.addresses, &world.snapshot, own));
            if !has_gate || (is_settled && is_admitted()) {
                waiting.admittance = Admittance::Admitted;
            } else if waiting.until <= now {
                waiting.admittance = Admittance::Late;
            } else {
                queue.add_at(Work::Admit, if is_settled { waiting.until } else { waiting.until.min(*settled) });
            }
            conditions.queue.add(StatusKey::Pod(key.clone()));
        }
    }

    /// Whether the live clusters that a new version of an import calls admit the pods that are to steer there. Those that
    /// still wait do so for this import, too; the others take requests by now, or as soon as they have a filter.
    pub(super) fn are_callers_admitted(&self, import: &Import) -> bool {
        if !self.has(Safeguard::Readiness) {
            return true;
        }
        let snapshot = &self.world.snapshot;
        let own = self.model.settings.cluster.as_deref().unwrap_or_default();
        let waits = |pod: &&Pod| {
            self.readiness
                .pods
                .get(&Key::of(&pod.metadata))
                .is_some_and(|waiting| waiting.admittance == Admittance::Awaited)
        };
        let pods = known_pods(snapshot, &import.key.namespace, &[EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY]);
        let mut steering = pods.filter(|pod| !waits(pod)).map(|pod| addresses_of(pod).collect());
        steering.all(|addresses| self.caller_states.are_admitted(import, &addresses, snapshot, own))
    }
}
