//! The gateway pods here that call other clusters, as the registry has had them.
//!
//! A cluster tells which state of them its gateways admit. Whoever admits one admits the pods in it, as long as later states
//! have them, too.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use super::key::ReconcileKey;
use super::{Rollout, Work};
use crate::api::{EgressGateway, REGISTRY_NAMESPACE};
use crate::liveness::Liveness;
use crate::snapshot::Snapshot;
use crate::snapshot::change::Change;
use crate::translate::{Import, Tier, gateways_digest};

/// How many states are known at most. A cluster that is further behind is waited for until it has caught up.
const MOST_STATES: usize = 32;

/// The states of this cluster's egress gateways that the registry has had, the newest last.
#[derive(Debug, Default)]
pub(super) struct CallerStates(VecDeque<CallerState>);

#[derive(Debug)]
struct CallerState {
    digest: String,
    gateways: Vec<EgressGateway>,
}

impl CallerState {
    /// Whether it tells of all these addresses as ones that call exports of a namespace.
    fn has(&self, called: &str, addresses: &BTreeSet<IpAddr>) -> bool {
        let mut gateways = self.gateways.iter().filter(|gateway| gateway.namespace == called);
        gateways.any(|gateway| addresses.iter().all(|address| gateway.addresses.contains(address)))
    }
}

impl CallerStates {
    /// The registry has this by now.
    fn take(&mut self, gateways: &[EgressGateway]) {
        let digest = gateways_digest(gateways);
        if self.0.back().is_some_and(|newest| newest.digest == digest) {
            return;
        }
        self.0.push_back(CallerState { digest, gateways: gateways.to_vec() });
        if self.0.len() > MOST_STATES {
            self.0.pop_front();
        }
    }

    /// Whether the registry has a pod as one that calls exports of a namespace.
    pub(super) fn have(&self, called: &str, addresses: &BTreeSet<IpAddr>) -> bool {
        self.0.back().is_some_and(|newest| newest.has(called, addresses))
    }

    /// Whether the live clusters that an import calls admit a pod, and will go on to with what they have not heard yet.
    pub(super) fn are_admitted(
        &self,
        import: &Import,
        addresses: &BTreeSet<IpAddr>,
        snapshot: &Snapshot,
        own: &str,
    ) -> bool {
        let is_admitted_by = |cluster: &str| {
            let cluster = snapshot.wan_clusters.get(REGISTRY_NAMESPACE, cluster);
            let mut admitted = cluster.and_then(|cluster| cluster.spec.admitted.as_ref()).into_iter().flatten();
            let admitted = admitted.find(|admitted| admitted.cluster == own);
            let is_it = |state: &CallerState| admitted.is_some_and(|admitted| admitted.egress_gateways == state.digest);
            let since = self.0.iter().rposition(is_it);
            since.is_some_and(|since| self.0.range(since..).all(|state| state.has(&import.wire.namespace, addresses)))
        };
        let called = import.tiers.iter().flat_map(Tier::remote);
        let mut live = called.filter(|source| source.liveness == Liveness::Live);
        live.all(|source| is_admitted_by(&source.cluster))
    }
}

impl Rollout {
    /// The registry may have another state of the gateways here, or others may admit another one.
    pub(super) fn callers_changed(&mut self, changes: &[Change]) {
        let has_other = |change: &Change| matches!(change, Change::Everything | Change::RemoteEgress(_));
        if changes.iter().any(has_other) {
            let own = self.model.settings.cluster.as_deref().unwrap_or_default();
            let known = self.world.snapshot.wan_clusters.get(REGISTRY_NAMESPACE, own);
            self.caller_states.take(known.map_or(&[], |own| &own.spec.egress_gateways));
        }
        let is_answer = |change: &Change| matches!(change, Change::Admitted(_) | Change::Liveness(_));
        if !changes.iter().any(|change| has_other(change) || is_answer(change)) {
            return;
        }
        if !self.readiness.pods.is_empty() {
            self.queue.add(Work::Admit);
        }
        for import in self.imports.values().filter_map(|state| state.versions.backing()) {
            self.queue.add(Work::Reconcile(ReconcileKey::import(&import.key)));
        }
    }
}
