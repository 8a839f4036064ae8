//! What gateways measure of the tiers to other clusters, and when that is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcwan_policy::sla::{PathName, Shown};

use super::event::{GatewayPod, GatewayReport};
use super::statuses::StatusKey;
use super::{Rollout, Work};
use crate::api::ConnectionTier;
use crate::moment::Moment;
use crate::quality::Measured;

/// Between two times that it is told: paths move within seconds, and everybody who watches a connection hears of each.
const TOLD: Duration = Duration::from_secs(30);
/// Between two looks at the pods of a namespace that measures something.
pub(super) const LOOK: Duration = Duration::from_secs(10);

/// What a pod measures.
type Paths = Vec<(PathName, Shown)>;
/// What is measured to a cluster, by tier.
pub(super) type ByTier = BTreeMap<Box<str>, Measured>;

/// What gateways measure.
#[derive(Debug, Default)]
pub(super) struct Quality {
    /// What pods said last, by their namespace and name.
    said: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Paths>>,
    /// What of it is told, by cluster. None: nothing is known yet, and what was told before stays.
    told: Option<BTreeMap<Box<str>, ByTier>>,
    /// When it may be told next.
    next: Moment,
}

impl Quality {
    /// The pods of a namespace have said something; one that could not be asked measures on. Gives whether there is anything
    /// to tell, or was.
    fn hear(&mut self, namespace: &Arc<str>, reports: &[(GatewayPod, Option<GatewayReport>)]) -> bool {
        let mut before = self.said.remove(namespace).unwrap_or_default();
        let was_there = !before.is_empty();
        let said = reports.iter().filter_map(|(pod, report)| {
            let before = before.remove(&pod.name);
            let paths = report.as_ref().map_or(before, |report| Some(report.paths.clone()))?;
            (!paths.is_empty()).then(|| (Arc::clone(&pod.name), paths))
        });
        let said: BTreeMap<_, _> = said.collect();
        let is_there = !said.is_empty();
        if is_there {
            self.said.insert(Arc::clone(namespace), said);
        }
        was_there || is_there
    }

    /// What is told of a cluster; none: what was told before stays.
    pub(super) fn told(&self, cluster: &str) -> Option<&ByTier> {
        const NOTHING: &ByTier = &ByTier::new();
        self.told.as_ref().map(|told| told.get(cluster).unwrap_or(NOTHING))
    }

    fn sum_up(&self) -> BTreeMap<Box<str>, ByTier> {
        let mut clusters: BTreeMap<Box<str>, ByTier> = BTreeMap::new();
        for (path, shown) in self.said.values().flat_map(BTreeMap::values).flatten() {
            let tiers = clusters.entry(path.cluster.clone()).or_default();
            let of_pod = Measured::of(*shown);
            tiers.entry(path.tier.clone()).and_modify(|known| *known = known.and(of_pod)).or_insert(of_pod);
        }
        clusters
    }
}

impl Rollout {
    /// Tells of every cluster to which something is measured, or was as it is told.
    pub(super) fn measure(&mut self, now: Moment) {
        let fresh = self.quality.sum_up();
        for cluster in self.told_before().into_iter().chain(fresh.keys().map(|cluster| Arc::from(&**cluster))) {
            self.queue.add(Work::Report(StatusKey::connection(&cluster)));
        }
        self.quality.told = Some(fresh);
        self.quality.next = now + TOLD;
    }

    /// The clusters that something is told of, maybe by another leader.
    fn told_before(&self) -> Vec<Arc<str>> {
        let is_measured = |tier: &ConnectionTier| tier.measured.is_some();
        let connections = self.world.snapshot.cluster_connections.iter();
        let told = connections
            .filter(|(_, written)| written.status.as_ref().is_some_and(|status| status.tiers.iter().any(is_measured)));
        told.map(|(key, _)| key.name).collect()
    }

    /// The pods of a namespace have said what they measure.
    pub(super) fn hear_measures(
        &mut self,
        namespace: &Arc<str>,
        reports: &[(GatewayPod, Option<GatewayReport>)],
        now: Moment,
    ) {
        if self.quality.hear(namespace, reports) {
            self.queue.add_at(Work::Measure, self.quality.next.max(now));
        }
    }

    /// There is no gateway in a namespace.
    pub(super) fn nobody_measures(&mut self, namespace: &Arc<str>, now: Moment) {
        self.hear_measures(namespace, &[], now);
    }

    /// Whether the pods of a namespace measure something, as far as they do what they are told.
    pub(super) fn measures(&self, namespace: &str) -> bool {
        let egress = self.egresses.get(namespace);
        let composed = egress.and_then(|egress| egress.filter.composed.as_ref());
        composed.is_some_and(|composed| composed.imports.iter().any(|import| !import.paths.is_empty()))
    }

    /// Begins to listen to what pods measure, as one who begins to lead.
    pub(super) fn begin_to_measure(&mut self, now: Moment) {
        // Before pods can have said anything, nothing is told.
        self.quality = Quality { next: now + TOLD, ..Quality::default() };
        if !self.told_before().is_empty() {
            self.queue.add_at(Work::Measure, now + TOLD);
        }
    }
}
