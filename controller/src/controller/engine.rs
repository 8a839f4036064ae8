//! From what is known to what is written: one round after the other.

mod fates;
mod module;
mod overlap;
mod removal;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcwan_core::api::McsVersion;
use mcwan_core::emit::kubernetes::{Settings, Shipped, guard_of, import_of};
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::outcome::Outcome;
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::Key;
use mcwan_core::snapshot::change::Change;
use mcwan_core::translate::{Options, Translator};

use super::agenda::Agenda;
use super::announcements::Announcements;
use super::batch::Batch;
use super::census::Census;
use super::desired::Desired;
use super::emission::Emission;
use super::leads::Leads;
use super::polling::{Answer, Polling};
use super::retirement::Retirements;
use super::statuses::Statuses;
use super::strays::Strays;
use super::timing::Timing;
use super::unit::{Part, Unit};
use super::unwritten::Unwritten;
use super::world::{News, World};
use crate::admin::Metrics;
use crate::apply::Applier;

/// How many units are looked at in one round: the more, the more of their objects are applied at once, and the longer
/// a change waits for its turn.
const BATCH: usize = 256;

/// How soon it is looked again whether a filter of the other kind is gone.
const RIVAL_WAIT: Duration = Duration::from_millis(500);

/// How soon it is looked again whether routes that a filter waits for could be written.
const ROUTE_WAIT: Duration = Duration::from_secs(1);

/// By what the engine reaches the world outside.
pub(super) struct Edges {
    pub(super) applier: Applier,
    pub(super) statuses: Statuses,
    pub(super) polling: Polling,
    pub(super) metrics: Arc<Metrics>,
}

/// Everything that a leader works with.
pub(super) struct Engine {
    pub(super) world: World,
    pub(super) metrics: Arc<Metrics>,
    translator: Translator,
    settings: Settings,
    applier: Applier,
    agenda: Agenda,
    leads: Leads,
    announcements: Announcements,
    unwritten: Unwritten,
    /// How long gateways may take to take note of anything.
    grace: Duration,
    desired: Desired,
    retirements: Retirements,
    /// The targets of units that may go from their live routes, until these are written.
    released: BTreeMap<Unit, BTreeSet<String>>,
    strays: Strays,
    /// What is not as it should be, and why.
    failures: HashMap<ObjectId, Outcome>,
    problems: BTreeMap<Unit, Vec<Problem>>,
    shipped: BTreeMap<Arc<str>, Shipped>,
    /// Namespaces whose filter is left as it is, as its module may not be what it should be.
    withheld: BTreeSet<Arc<str>>,
    pub(super) statuses: Statuses,
    census: Census,
    pub(super) polling: Polling,
    /// What has not been looked at since we lead.
    unseen: BTreeSet<Unit>,
    /// Whether everything has been: only then it is known what is not to be.
    is_complete: bool,
}

impl Engine {
    pub(super) fn new(world: World, options: Options, settings: Settings, edges: Edges, timing: Timing) -> Self {
        let Edges { applier, statuses, polling, metrics } = edges;
        Self {
            world,
            metrics,
            translator: Translator::new(options),
            settings,
            applier,
            agenda: Agenda::default(),
            leads: Leads::new(timing.lead),
            announcements: Announcements::new(timing.lead),
            unwritten: Unwritten::new(timing.grace),
            grace: timing.grace,
            desired: Desired::default(),
            retirements: Retirements::new(timing.grace, timing.lead),
            released: BTreeMap::new(),
            strays: Strays::default(),
            failures: HashMap::new(),
            problems: BTreeMap::new(),
            shipped: BTreeMap::new(),
            withheld: BTreeSet::new(),
            statuses,
            census: Census::default(),
            polling,
            unseen: BTreeSet::new(),
            is_complete: false,
        }
    }

    /// Looks at everything anew, as one who begins to lead.
    pub(super) fn begin(&mut self) {
        self.is_complete = false;
        self.unseen = self.consider(&[Change::Everything]).into_iter().collect();
    }

    /// This version of the Multi-Cluster Services API is served.
    pub(super) fn serve_mcs(&mut self, version: McsVersion) {
        self.statuses.mcs_version = version;
        self.translator.serve_mcs(version);
    }

    /// Works out what events concern.
    pub(super) fn think(&mut self, news: News) {
        for id in news.touched {
            match self.desired.unit_of(&id) {
                Some(unit) => self.agenda.add(unit.clone()),
                None => self.strays.extend([id]),
            }
        }
        self.consider(&news.changes);
    }

    /// Works out what gateway pods have said.
    pub(super) async fn heard(&mut self, answer: Answer) {
        let Some(finding) = self.polling.heard(answer, &self.statuses.module) else { return };
        if finding.is_everywhere {
            // Nothing steers to what the rules no longer name.
            self.retirements.release(&finding.namespace, Instant::now());
        }
        if finding.reload {
            tracing::info!(
                namespace = &*finding.namespace,
                "a gateway could not fetch the module: it is told to try again"
            );
            self.applier.touch(&self.settings.filter.object_id(&finding.namespace)).await;
        }
        self.statuses.looked_at(&Unit::egress(&finding.namespace), &self.world.snapshot);
    }

    /// Works out what changes concern, and gives it.
    fn consider(&mut self, changes: &[Change]) -> Vec<Unit> {
        let affected = self.translator.update(&self.world.snapshot, changes);
        self.statuses.concern(changes, &affected, &self.world.snapshot);
        self.census.take_note(changes, &self.world.snapshot);
        for change in changes {
            if let Change::GatewayPods(namespace) = change {
                self.polling.pods_changed(namespace, &self.world.snapshot);
                self.statuses.looked_at(&Unit::egress(namespace), &self.world.snapshot);
            }
        }
        let units = Unit::affected(&affected);
        for unit in &units {
            self.agenda.add(unit.clone());
        }
        units
    }

    /// Whether there is something to do at once.
    pub(super) fn is_busy(&self) -> bool {
        let has_strays = self.is_complete && self.strays.are_due(Instant::now());
        self.agenda.is_due() || self.statuses.is_due() || has_strays
    }

    /// Whether nothing new must be heard for a moment, so that a filter is told what it waits for.
    pub(super) fn is_settling(&self) -> bool {
        self.leads.are_long(Instant::now())
    }

    /// When there is something to do next, if nothing happens before.
    pub(super) fn next(&self) -> Option<Instant> {
        let deletion = self.strays.next().filter(|_| self.is_complete);
        let others = [self.agenda.next(), self.retirements.next(), self.statuses.next(), self.polling.next()];
        others.into_iter().chain([deletion]).flatten().min()
    }

    /// Does some of what there is to do.
    pub(super) async fn round(&mut self) {
        let start = Instant::now();
        let (agenda, failures, filter, withheld) = (&self.agenda, &self.failures, self.settings.filter, &self.withheld);
        let due = self.retirements.due(start, |namespace| {
            let is_told = !agenda.awaits(&Unit::egress(namespace)) && !withheld.contains(namespace);
            is_told && !failures.contains_key(&filter.object_id(namespace))
        });
        for (unit, retirement) in due {
            self.strays.extend(retirement.objects);
            self.agenda.add(unit.clone());
            self.released.insert(unit, retirement.values);
        }
        let units = self.agenda.take(BATCH, start);
        let is_idle = units.is_empty();
        let mut batch = Batch::default();
        for unit in &units {
            if unit.part == Part::Egress
                && let Some(then) = self.must_wait(&unit.namespace, start).await
            {
                self.agenda.hold(unit.clone(), then);
                continue;
            }
            match self.emit(unit, &mut batch).await {
                Ok(emission) => self.take_note(unit, emission, &mut batch),
                Err(outcome) => {
                    self.agenda.retry(unit.clone(), start + outcome.retry_after().unwrap_or_default());
                    self.statuses.looked_at(unit, &self.world.snapshot);
                }
            }
        }
        self.write(batch).await;
        if !self.is_complete && self.unseen.is_empty() {
            self.is_complete = true;
            self.strays.extend(Kind::ALL.into_iter().flat_map(|kind| self.world.observed.ours(kind)));
        }
        if self.is_complete && !self.agenda.is_due() {
            self.delete_strays().await;
        }
        self.polling.ask(start);
        self.report().await;
        if !is_idle {
            self.metrics.reconciled(start.elapsed());
            self.metrics.configs(self.shipped.values().map(|shipped| u64::try_from(shipped.bytes).unwrap_or(u64::MAX)));
        }
    }

    fn take_note(&mut self, unit: &Unit, emission: Emission, batch: &mut Batch) {
        let Emission { objects, problems, shipped } = emission;
        self.unseen.remove(unit);
        let ids = objects.iter().map(|object| object.id.clone()).collect();
        let gone = self.desired.replace(unit, ids);
        for object in objects.iter().filter(|_| unit.part == Part::Egress) {
            if let Some(import) = import_of(object) {
                self.desired.is_for(object.id.clone(), import);
            }
        }
        for id in self.unwritten.consists_of(unit, &objects).iter().chain(&gone) {
            self.failures.remove(id);
        }
        match batch.late_kind(unit) {
            None => drop(self.released.remove(unit)),
            // Of what is not written, nothing is wrong.
            Some(late) => objects.iter().filter(|object| object.id.kind == late).for_each(|object| {
                self.failures.remove(&object.id);
            }),
        }
        self.let_go(unit, gone, &objects);
        if problems.is_empty() {
            self.problems.remove(unit);
        } else {
            self.problems.insert(unit.clone(), problems);
        }
        if unit.part == Part::Egress {
            if !batch.has_lead(&unit.namespace) {
                self.leads.end(&unit.namespace);
            }
            self.polling.shipped(&unit.namespace, shipped, &self.world.snapshot);
            match shipped {
                Some(shipped) => drop(self.shipped.insert(Arc::clone(&unit.namespace), shipped)),
                None => drop(self.shipped.remove(&unit.namespace)),
            }
        }
        self.statuses.looked_at(unit, &self.world.snapshot);
        batch.add(unit, objects, &self.world.observed);
    }

    /// Applies a batch, phase by phase. Where a route did not get its new targets, or only just did, the filter has
    /// to wait.
    async fn write(&mut self, batch: Batch) {
        for namespace in batch.rivalled() {
            self.agenda.retry(Unit::egress(namespace), Instant::now() + RIVAL_WAIT);
        }
        let late = batch.late();
        for phase in batch.phases() {
            let now = Instant::now();
            for namespace in phase.leads {
                self.agenda.hold(Unit::egress(&namespace), self.leads.wait(&namespace, now));
            }
            let observed = &self.world.observed;
            let is_there = |id: &ObjectId| observed.get(id).is_some_and(|live| live.is_ours() && !live.deleting);
            let mut objects = phase.objects;
            // What guards it has failed, and is tried again with it.
            objects.retain(|Object { id, .. }| is_there(id) || guard_of(id).is_none_or(|guard| is_there(&guard)));
            let outcomes = self.applier.apply_all(&mut self.world.observed, objects).await;
            self.note_outcomes(outcomes);
        }
        for unit in late {
            self.hold(unit, Instant::now());
        }
        self.own_cluster();
    }

    /// What we tell the registry of exports belongs to what we tell it of the cluster.
    fn own_cluster(&mut self) {
        let cluster = self.settings.cluster.as_deref();
        let owner = cluster.and_then(|cluster| self.world.observed.wan_cluster(cluster));
        if owner != self.settings.wan_cluster {
            self.settings.wan_cluster = owner;
            let exports: Vec<Key> = self.translator.outgoing().iter().map(|(key, _)| key).collect();
            for export in &exports {
                self.agenda.add(Unit::export(export));
            }
        }
    }

    /// Says in conditions and events what has become of the user's objects.
    async fn report(&mut self) {
        let known = super::statuses::Known {
            translator: &self.translator,
            agenda: &self.agenda,
            desired: &self.desired,
            failures: &self.failures,
            problems: &self.problems,
            unseen: &self.unseen,
            settings: &self.settings,
            polling: &self.polling,
        };
        self.statuses.report(&known, &mut self.world.snapshot, &self.applier, &self.metrics).await;
        if self.is_complete && !self.agenda.is_due() && !self.statuses.is_due() {
            self.metrics.imports(self.census.numbers());
        }
    }
}
