//! The rollout: from events to commands, so that no request is lost or takes a tier that nobody named.
//!
//! A pure machine: [`Rollout::step`] takes what has happened and the time, and gives commands, whose answers are events.
//! Routes, the filter's configuration and the registry reach gateways by channels that know nothing of each other, so
//! whatever a filter may steer to is there before the filter names it, and stays until no gateway has a filter that does.
//! `docs/rollout.md` tells the stages, each wait and why it is there.

mod admission;
mod answer;
mod callers;
mod composition;
mod conditions;
mod connections;
mod delivery;
mod desired;
mod egress;
mod event;
mod export;
mod filter;
mod gate;
mod import;
mod intake;
mod key;
mod moving_hosts;
mod native;
mod objects;
mod pods;
mod prune;
mod quality;
mod queue;
mod readiness;
mod safeguard;
mod shared;
mod slices;
mod stage;
mod statuses;
mod take_over;
mod timing;
mod version;
mod withdrawal;
mod work;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

pub use event::{Answer, ApplyError, Command, Event, GatewayPod, GatewayReport, ModuleVerdict, WatchEvent};
pub use key::{Part, ReconcileKey};
#[doc(hidden)]
pub use safeguard::Safeguard;
pub use timing::Timing;

use crate::emit::kubernetes::Settings;
use crate::emit::object::ObjectId;
use crate::liveness::{RegistryHealth, RegistryState};
use crate::moment::Moment;
use crate::outcome::WriteOutcome;
use crate::problem::Problem;
use crate::snapshot::change::Change;
use crate::snapshot::{Key, Keyed, Snapshot};
use crate::translate::{Options, Translator};
use admission::Admission;
use callers::CallerStates;
use conditions::Conditions;
use egress::Egress;
use export::Announcement;
use import::ImportState;
use objects::Objects;
use quality::Quality;
use queue::WorkQueue;
use readiness::Readiness;
use work::Work;
use world::World;

/// Everything that the controller of a cluster knows and is about to do.
#[derive(Debug)]
pub struct Rollout {
    world: World,
    model: Model,
    objects: Objects,
    queue: WorkQueue<Work>,
    imports: Keyed<ImportState>,
    /// When the pods of a service were written last.
    slices: Keyed<Moment>,
    egresses: BTreeMap<Arc<str>, Egress>,
    /// What other clusters are told of exports.
    announcements: BTreeMap<ReconcileKey, Announcement>,
    admission: Admission,
    caller_states: CallerStates,
    readiness: Readiness,
    conditions: Conditions,
    quality: Quality,
    /// What watches saw to be others since the last step.
    changes: BTreeSet<Change>,
    leadership: Leadership,
    timing: Timing,
    seed: u64,
    /// None, but in the simulation.
    lacks: Option<Safeguard>,
}

/// What the resources mean, and with which settings.
#[derive(Debug)]
struct Model {
    translator: Translator,
    settings: Settings,
    module: ModuleVerdict,
    problems: BTreeMap<ReconcileKey, Vec<Problem>>,
}

/// Whether this replica leads.
#[derive(Debug)]
enum Leadership {
    /// Another one does.
    Following,
    /// It does, and has not looked at these yet. Until it has, absence means nothing.
    TakingOver(BTreeSet<ReconcileKey>),
    /// It does.
    Leading,
}

/// What has happened in a step, for those who count.
#[derive(Debug, Default)]
pub struct Step {
    /// What the edge carries out.
    pub commands: Vec<Command>,
    /// What became of objects that were written or deleted.
    pub outcomes: Vec<(ObjectId, WriteOutcome)>,
    /// How many parts were reconciled.
    pub reconciled: usize,
}

impl Rollout {
    /// Knows nothing yet, and follows. `lease`: how long a cluster may be silent. `seed`: of the jitter of waits.
    pub fn new(
        cluster: &str,
        lease: Duration,
        options: Options,
        settings: Settings,
        timing: Timing,
        seed: u64,
        now: Moment,
    ) -> Self {
        let module = ModuleVerdict::default();
        Self {
            world: World::new(cluster, lease, options.trust.stale_gateways, now),
            model: Model { translator: Translator::new(options), settings, module, problems: BTreeMap::new() },
            objects: Objects::new(seed),
            queue: WorkQueue::default(),
            imports: Keyed::default(),
            slices: Keyed::default(),
            egresses: BTreeMap::new(),
            announcements: BTreeMap::new(),
            admission: Admission::default(),
            caller_states: CallerStates::default(),
            readiness: Readiness::default(),
            conditions: Conditions::default(),
            quality: Quality::default(),
            changes: BTreeSet::new(),
            leadership: Leadership::Following,
            timing,
            seed,
            lacks: None,
        }
    }

    /// Takes in what has happened, and does what is due.
    pub fn step(&mut self, now: Moment, event: Event) -> Step {
        let mut step = Step::default();
        let event = match event {
            Event::Watch(event) => {
                self.observe(now, event);
                Event::Time
            }
            event => event,
        };
        self.take_in(now);
        match event {
            Event::Leading(true) => self.lead(now),
            Event::Leading(false) => {
                if !matches!(self.leadership, Leadership::Following) {
                    self.follow();
                }
            }
            Event::Module(verdict) => self.judge_module(verdict),
            Event::SteeringKey(key) => {
                self.model.translator.use_steering_key(key);
                if !matches!(self.leadership, Leadership::Following) {
                    self.update(&[Change::Everything], now);
                }
            }
            Event::ReadableSecrets(secrets) => {
                let changes = self.world.allow(secrets);
                if !matches!(self.leadership, Leadership::Following) {
                    self.update(&changes, now);
                }
            }
            Event::Answer(answer) => self.answered(answer, now, &mut step),
            Event::Watch(_) | Event::Time => {}
        }
        if matches!(self.leadership, Leadership::Following) {
            self.open_overdue(now, &mut step.commands);
        } else {
            self.work(now, &mut step);
        }
        step
    }

    /// Takes in what a watch saw, and does nothing yet: more is known already.
    pub fn observe(&mut self, now: Moment, event: WatchEvent) {
        self.watched(event, now);
    }

    /// When something is due, if nothing happens before.
    pub fn next(&self, now: Moment) -> Option<Moment> {
        let work = match self.leadership {
            Leadership::Following => self.next_overdue(),
            Leadership::TakingOver(_) | Leadership::Leading => self.next_work(now),
        };
        work.into_iter().chain(self.world.registry_health.next(now)).min()
    }

    /// Whether everything is known. Until then absence means nothing, and it must not lead.
    pub fn is_synced(&self) -> bool {
        // Until it is told which of their Secrets may be read, `Route`s with TLS could be neither served nor refused.
        let is_told = || self.world.snapshot.secrets.is_some() || self.world.held_routes().next().is_none();
        self.world.is_synced() && is_told()
    }

    /// The Secrets that `Route`s name, if these are all known, and others than when it was last asked.
    pub fn named_secrets(&mut self) -> Option<BTreeSet<Key>> {
        let is_news = self.world.is_synced() && std::mem::take(&mut self.world.has_other_routes);
        let routes = self.world.snapshot.openshift_routes.iter().chain(self.world.held_routes());
        is_news.then(|| self.model.translator.routes().named_secrets(routes))
    }

    /// Whether everything in the registry is known.
    pub fn is_registry_synced(&self) -> bool {
        self.world.is_registry_synced()
    }

    /// What users and other clusters want.
    pub fn snapshot(&self) -> &Snapshot {
        &self.world.snapshot
    }

    /// What that means.
    #[doc(hidden)]
    pub fn translator(&self) -> &Translator {
        &self.model.translator
    }

    /// How many other clusters are live, and how many stale.
    pub fn clusters(&self) -> [usize; 2] {
        self.world.clusters()
    }

    /// For how long another cluster has been stale, of several the longest. What passes while the registry is out of reach
    /// does not count.
    pub fn longest_stale(&self) -> Duration {
        self.world.longest_stale()
    }

    /// Whether the registry can be reached.
    pub fn registry_health(&mut self) -> &mut RegistryHealth {
        &mut self.world.registry_health
    }

    /// What users are told of the registry.
    pub fn say_of_registry(&mut self, registry: RegistryState) {
        if self.conditions.registry != registry {
            self.conditions.registry = registry;
            if !matches!(self.leadership, Leadership::Following) {
                self.report_all();
            }
        }
    }

    /// How many imports have which status of which condition: its type, its status, their number.
    /// Every import is looked at, of which there may be many.
    pub fn condition_counts(&self) -> BTreeMap<(&str, &str), u64> {
        let statuses = self.world.snapshot.service_imports.iter().filter_map(|import| import.status.as_ref());
        let mut counts = BTreeMap::new();
        for condition in statuses.flat_map(|status| &status.conditions) {
            *counts.entry((&*condition.type_, &*condition.status)).or_default() += 1;
        }
        counts
    }

    /// How much of this cluster the registry is not told, as it is too much.
    pub fn untold_gateways(&self) -> usize {
        let [_, cluster] = ReconcileKey::shared();
        self.model.problems.get(&cluster).map_or(0, Vec::len)
    }

    /// The objects in the registry that cannot be read and so are not used: their kinds and names.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &str)> {
        self.world.unreadable.iter().map(|(kind, name)| (kind.name(), &**name))
    }

    /// The sizes of the filters' configurations, in bytes.
    pub fn config_bytes(&self) -> impl Iterator<Item = usize> {
        self.egresses.values().filter_map(|egress| egress.filter.composed.as_ref()).map(|composed| composed.bytes)
    }

    /// Looks at everything anew, as one who begins to lead.
    fn lead(&mut self, now: Moment) {
        if matches!(self.leadership, Leadership::Following) {
            self.leadership = Leadership::TakingOver(BTreeSet::new());
            let keys = self.update(&[Change::Everything], now);
            self.leadership = Leadership::TakingOver(keys.into_iter().collect());
            // What who led before has asked for is carried out within the lead, and heard of within another.
            self.readiness.settled = now + self.timing.lead * 2;
            self.await_all_admissions(now);
            self.begin_to_measure(now);
            for cluster in &self.world.snapshot.stale_clusters {
                self.queue.add(Work::Warn(cluster.as_str().into()));
            }
            if !self.has(Safeguard::Prune) {
                self.leadership = Leadership::TakingOver(BTreeSet::new());
                self.finish_take_over(now);
            }
        }
    }

    /// Forgets what it was about to do: another one leads, and does as it sees fit.
    fn follow(&mut self) {
        self.leadership = Leadership::Following;
        self.objects.stand_by();
        self.queue = WorkQueue::default();
        self.imports = Keyed::default();
        self.slices = Keyed::default();
        self.egresses.clear();
        self.announcements.clear();
        self.admission = Admission::default();
        self.caller_states = CallerStates::default();
        self.readiness = Readiness::default();
        self.conditions.queue = WorkQueue::default();
        self.conditions.under_way.clear();
        self.quality = Quality::default();
        self.model.problems.clear();
    }

    fn judge_module(&mut self, verdict: ModuleVerdict) {
        if self.model.module == verdict {
            return;
        }
        self.model.module = verdict;
        if matches!(self.leadership, Leadership::Following) {
            return;
        }
        let namespaces: Vec<_> = self.egresses.keys().cloned().collect();
        for namespace in namespaces {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&namespace)));
        }
        self.report_imports(None);
    }

    /// What is wrong with a part, as it was emitted.
    fn keep_problems(&mut self, key: &ReconcileKey, problems: Vec<Problem>) {
        if problems.is_empty() {
            self.model.problems.remove(key);
        } else {
            self.model.problems.insert(key.clone(), problems);
        }
    }
}
