//! What gateways measure of the tiers to other clusters, and when that is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcwan_policy::sla::{PathName, Shown};
use mcwan_policy::wire::WanPath;

use super::event::{GatewayPod, GatewayReport};
use super::statuses::StatusKey;
use super::{Leadership, Rollout, Work, pods};
use crate::api::ConnectionTier;
use crate::moment::Moment;
use crate::quality::Measured;

/// Between two times that it is told: paths move within seconds, and everybody who watches a connection hears of each.
const TOLD: Duration = Duration::from_secs(30);
/// Between two looks at the pods of a namespace that measures something.
pub(super) const LOOK: Duration = Duration::from_secs(10);
/// After so long what a pod said is forgotten that cannot be asked.
const SILENT: Duration = Duration::from_mins(1);
/// How long one who begins to lead waits for pods that cannot be asked, before it tells what the others say.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a pod measures, as it said then.
#[derive(Debug)]
struct Said {
    paths: Vec<(PathName, Shown)>,
    at: Moment,
}

/// What is measured to a cluster, by tier.
pub(super) type ByTier = BTreeMap<Box<str>, Measured>;

/// What gateways measure.
#[derive(Debug, Default)]
pub(super) struct Quality {
    /// What pods said last, by their namespace and name.
    said: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Said>>,
    /// What of it is told, by cluster. None: nothing is known yet, and what was told before stays.
    told: Option<BTreeMap<Box<str>, ByTier>>,
    /// When it may be told next.
    next: Moment,
    /// Until when pods that have not said anything yet are waited for.
    patience: Moment,
}

impl Quality {
    /// The pods of a namespace have said something; one that could not be asked measures on for a while. What is not among
    /// `paths` is none of theirs, whatever they say. Gives whether there is anything to tell, or was.
    fn record(
        &mut self,
        namespace: &Arc<str>,
        reports: &[(GatewayPod, Option<GatewayReport>)],
        paths: &BTreeSet<PathName>,
        now: Moment,
    ) -> bool {
        let is_any = |said: &BTreeMap<Arc<str>, Said>| said.values().any(|said| !said.paths.is_empty());
        let mut before = self.said.remove(namespace).unwrap_or_default();
        let was_any = is_any(&before);
        let said = reports.iter().filter_map(|(pod, report)| {
            let before = before.remove(&pod.name).filter(|said| now.since(said.at) < SILENT);
            let said = report.as_ref().map_or(before, |report| {
                let own = report.paths.iter().filter(|(path, _)| paths.contains(path));
                Some(Said { paths: own.cloned().collect(), at: now })
            });
            Some((Arc::clone(&pod.name), said?))
        });
        let said: BTreeMap<_, _> = said.collect();
        let is_any = is_any(&said);
        if !said.is_empty() {
            self.said.insert(Arc::clone(namespace), said);
        }
        was_any || is_any
    }

    fn has_heard(&self, pod: &GatewayPod) -> bool {
        self.said.get(&pod.namespace).is_some_and(|said| said.contains_key(&pod.name))
    }

    /// What is told of a cluster; none: what was told before stays.
    pub(super) fn told(&self, cluster: &str) -> Option<&ByTier> {
        const NOTHING: &ByTier = &ByTier::new();
        self.told.as_ref().map(|told| told.get(cluster).unwrap_or(NOTHING))
    }

    fn sum_up(&self) -> BTreeMap<Box<str>, ByTier> {
        let mut clusters: BTreeMap<Box<str>, ByTier> = BTreeMap::new();
        for (path, shown) in self.said.values().flat_map(BTreeMap::values).flat_map(|said| &said.paths) {
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
        if self.quality.told.is_none() && now < self.quality.patience && !self.have_all_spoken() {
            self.queue.add_at(Work::Measure, now + LOOK);
            return;
        }
        let fresh = self.quality.sum_up();
        for cluster in self.told_before().into_iter().chain(fresh.keys().map(|cluster| Arc::from(&**cluster))) {
            self.conditions.queue.add(StatusKey::connection(&cluster));
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
    pub(super) fn record_measures(
        &mut self,
        namespace: &Arc<str>,
        reports: &[(GatewayPod, Option<GatewayReport>)],
        now: Moment,
    ) {
        let paths = self.paths_of(namespace);
        if self.quality.record(namespace, reports, &paths, now) {
            self.queue.add_at(Work::Measure, self.quality.next.max(now));
        }
    }

    /// There is no gateway in a namespace.
    pub(super) fn nobody_measures(&mut self, namespace: &Arc<str>, now: Moment) {
        self.record_measures(namespace, &[], now);
    }

    /// What the pods of a namespace are told to measure.
    fn paths_of(&self, namespace: &str) -> BTreeSet<PathName> {
        let composed = self.egresses.get(namespace).and_then(|egress| egress.filter.composed.as_ref());
        let paths = composed.iter().flat_map(|composed| &composed.imports).flat_map(|import| &import.paths);
        let name = |WanPath { tier, cluster, namespace, .. }: &WanPath| PathName {
            tier: tier.as_str().into(),
            cluster: cluster.as_str().into(),
            namespace: namespace.as_str().into(),
        };
        paths.map(name).collect()
    }

    /// Whether the pods of a namespace measure something, as far as they do what they are told.
    pub(super) fn measures(&self, namespace: &str) -> bool {
        let composed = self.egresses.get(namespace).and_then(|egress| egress.filter.composed.as_ref());
        composed.is_some_and(|composed| composed.imports.iter().any(|import| !import.paths.is_empty()))
    }

    /// Whether all pods that measure have said something since this replica leads.
    fn have_all_spoken(&self) -> bool {
        let has_spoken = |namespace: &Arc<str>| {
            let mut ready = pods::serving(namespace, &self.world.snapshot).into_iter().filter(|pod| pod.is_ready);
            self.is_taken_over(namespace)
                && (!self.measures(namespace) || ready.all(|pod| self.quality.has_heard(&pod)))
        };
        matches!(self.leadership, Leadership::Leading) && self.egresses.keys().all(has_spoken)
    }

    /// Begins to listen to what pods measure, as one who begins to lead.
    pub(super) fn begin_to_measure(&mut self, now: Moment) {
        // Before pods can have said anything, nothing is told.
        self.quality = Quality { next: now + TOLD, patience: now + PATIENCE, ..Quality::default() };
        if !self.told_before().is_empty() {
            self.queue.add_at(Work::Measure, now + TOLD);
        }
    }
}
