//! A cluster in virtual time: what happens next, and what comes of it.

mod backups;
mod mesh;
mod namespaces;
mod objects;
mod releases;
mod replicas;
mod secrets;
mod steps;

pub(crate) use replicas::conditions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use mcwan_core::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use mcwan_core::emit::kubernetes::names;
use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Answer, Event, ModuleVerdict};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;

use crate::api_server::ApiServer;
use crate::check::Check;
use crate::gateway::Pod;
use crate::inputs;
use crate::istiod::{self, Istiod, Routes, ServicePorts};
use crate::others::{News, Others};
use crate::replica::{self, Lack, Replica, Request};
use crate::script::{Cluster, NAMESPACES, Pace, Script, Step};
use crate::told::Told;

pub(crate) const EGRESS: &str = names::EGRESS_GATEWAY;
pub(crate) const NATIVE: &str = names::NATIVE_EGRESS_GATEWAY;
pub(crate) const INGRESS: &str = names::INGRESS_GATEWAY;
/// How long it is quiet before everything must be well.
const QUIET: Duration = Duration::from_mins(2);
/// How soon gateways admit and refuse connections as other clusters want it, though requests of ours get lost.
const ADMISSION: Duration = Duration::from_secs(40);
/// Longer than anything takes.
const LONG: Duration = Duration::from_secs(100);

pub(crate) static WRITES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
pub(crate) static STEPS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
pub(crate) static RECONCILED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Something that happens at some time.
pub(crate) enum Happening {
    Step(usize),
    /// A replica starts.
    Start(usize),
    /// A replica begins to lead.
    Lead(usize),
    /// A watch of a replica speaks.
    Watch(usize, u32, Watched),
    Request(usize, u32, Request),
    Answer(usize, u32, Answer),
    /// A replica hears what is known of the module.
    Module(usize, u32),
    /// A replica hears which the key of steering values is.
    Key(usize, u32),
    /// The API server says to a replica whether it may read a Secret.
    MayRead(usize, u32, Key),
    /// A replica hears which Secrets it may read.
    Secrets(usize, u32),
    Wake(usize, u32),
    /// What istiod knows of a kind is brought up to date.
    Sync(Kind),
    /// Istiod tells gateways of routes.
    Push,
    Observe(Key, Box<str>, i64),
    /// A pod connects to istiod.
    Connect(u32),
    Services(u32),
    Routes(u32),
    Plugin(u32),
    /// A pod that drains is gone.
    Gone(u32),
    /// What has no owner any more goes.
    Collect(Watched, Key, Box<str>),
    /// Gateways must admit whom other clusters have published by then.
    Admitted(Moment),
    /// They must not steer any more to where policies of that time forbid.
    NotSteered(Moment),
    /// Something becomes of another cluster.
    Other(Cluster, News),
    /// Requests must be able to come to a pod.
    Open(u32),
    /// Clusters renew their Leases.
    Renew,
    /// What is in a namespace goes.
    Sweep(&'static str),
    /// A namespace comes again.
    Again(&'static str),
    /// What was refused for want of a namespace is tried again.
    Retry,
    /// A namespace that has come again is known to who leads.
    Trust(&'static str),
}

/// A cluster.
pub(crate) struct World {
    pub(crate) script: Script,
    pub(crate) lack: Lack,
    pub(crate) now: Moment,
    rng: Rng,
    queue: BTreeMap<(Moment, u64), Happening>,
    number: u64,
    pub(crate) api: ApiServer,
    pub(crate) told: Told,
    istiod: Istiod,
    syncing: BTreeSet<Kind>,
    is_pushing: bool,
    pushed: BTreeMap<(&'static str, &'static str), Arc<Routes>>,
    /// The Services that gateways are told of.
    pushed_services: Arc<ServicePorts>,
    pub(crate) pods: BTreeMap<u32, Pod>,
    replicas: [Replica; 2],
    key: u8,
    /// The Secrets that the controller may read.
    granted: BTreeSet<Key>,
    /// Those that it might read at any time.
    once_granted: BTreeSet<Key>,
    /// What was refused for want of a namespace.
    refused: Vec<Step>,
    /// When it became another one.
    rotated: Option<Moment>,
    /// Since when somebody leads.
    led: Moment,
    /// How often somebody began to.
    pub(crate) terms: u32,
    /// What is known of the module of this release.
    module: ModuleVerdict,
    pub(crate) release: u8,
    pub(crate) tiers: [Option<u16>; 2],
    pub(crate) others: Others,
    /// When somebody last took away what clients of an import call, or what shows them its address.
    taken: BTreeMap<(Key, Kind), Moment>,
    /// When something was last in the way of everything, or will be.
    pub(crate) disturbed: Moment,
    pub(crate) outage: Moment,
    /// The version of the API server in which everything was there that a script begins with.
    begun: u64,
    /// Until then, who leads may not have heard what a backup brought back.
    unlisted: Moment,
    /// Until when clusters do not renew their Leases.
    silent: [Moment; 2],
    /// Nothing fails from then on.
    quiet: Option<Moment>,
    pub(crate) check: Check,
    /// What has happened, if anybody wants to know.
    pub(crate) trace: Option<Vec<String>>,
    spins: (Moment, u32),
}

impl World {
    pub(crate) fn new(script: &Script, lack: Lack, is_traced: bool) -> Self {
        let now = Moment::START;
        let mut world = Self {
            script: script.clone(),
            lack,
            now,
            rng: Rng::with_seed(script.seed ^ 0x5eed),
            queue: BTreeMap::new(),
            number: 0,
            api: ApiServer::default(),
            told: Told::new(replica::options(0)),
            istiod: Istiod::default(),
            syncing: BTreeSet::new(),
            is_pushing: false,
            pushed: BTreeMap::new(),
            pushed_services: Arc::default(),
            pods: BTreeMap::new(),
            replicas: [0, 1].map(|place| Replica::new(place, (0, 0), script.seed, lack, now)),
            key: 0,
            granted: BTreeSet::new(),
            once_granted: BTreeSet::new(),
            refused: Vec::new(),
            rotated: None,
            led: now,
            terms: 0,
            module: ModuleVerdict::Sound,
            release: 0,
            tiers: [Some(31_111), Some(31_112)],
            others: Others::new(),
            taken: BTreeMap::new(),
            disturbed: now,
            outage: now,
            begun: 0,
            unlisted: now,
            silent: [now; 2],
            quiet: None,
            check: Check::new(script.pace),
            trace: is_traced.then(Vec::new),
            spins: (now, 0),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for namespace in [TIER_NAMESPACE, REGISTRY_NAMESPACE].into_iter().chain(NAMESPACES) {
            self.put(inputs::namespace(namespace));
        }
        for tier in 0..2 {
            self.put(inputs::tier(tier, self.tiers[tier].unwrap()));
            self.call(tier, 1);
        }
        self.put(inputs::service("a", "local", &crate::script::PORTS));
        self.put(inputs::slice("a", "local"));
        if self.script.steps.iter().any(|(_, step)| matches!(step, Step::Grant)) {
            self.put(inputs::service("b", "granted", &crate::script::PORTS));
            self.put(inputs::slice("b", "granted"));
        }
        self.begun = self.api.version();
        self.api.news.clear();
        for kind in istiod::KINDS {
            self.istiod.sync(kind, &self.api);
        }
        self.start(0);
        self.start(1);
        self.at(Duration::from_millis(400), Happening::Lead(0));
        if self.script.steps.iter().any(|(_, step)| matches!(step, Step::Silent(..))) {
            self.renew();
        }
        match self.script.steps.first().map(|(first, _)| *first) {
            Some(first) => self.at(first, Happening::Step(0)),
            None => self.quiet = Some(self.now),
        }
    }

    /// Lets everything happen. Gives what must not have.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        while let Some(((then, _), happening)) = self.queue.pop_first() {
            if self.quiet.is_some_and(|quiet| quiet + QUIET < then) {
                break;
            }
            let ends = self.check.ends(self.others.refused, self.now, then);
            self.now = then;
            if ends {
                // What was excused until now is not any more, before anything else happens.
                self.examine()?;
            }
            if self.spins.0 == then {
                self.spins.1 += 1;
            } else {
                self.spins = (then, 0);
            }
            if self.spins.1 > 2_000 {
                return Err("it never comes to rest".to_owned());
            }
            self.happen(happening);
            self.spread();
            self.examine()?;
        }
        self.settle()
    }

    pub(crate) fn at(&mut self, after: Duration, happening: Happening) {
        self.at_moment(self.now + after, happening);
    }

    pub(crate) fn at_moment(&mut self, then: Moment, happening: Happening) {
        self.number += 1;
        self.queue.insert((then.max(self.now), self.number), happening);
    }

    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9.3} {}", self.now.since_start().as_secs_f64(), what()));
        }
    }

    pub(crate) fn key(&self) -> u8 {
        self.key
    }

    fn is_calm(&self) -> bool {
        self.quiet.is_some_and(|quiet| quiet <= self.now)
    }

    /// Whether requests and their answers may get lost.
    fn may_fail(&self) -> bool {
        self.script.pace != Pace::Smooth && !self.is_calm()
    }

    /// A delay that is mostly short.
    pub(crate) fn delay(&mut self, most: u64) -> Duration {
        let micros = most * 1000;
        Duration::from_micros(match self.rng.u8(..16) {
            0..10 => self.rng.u64(1..=micros / 10),
            10..15 => self.rng.u64(1..=micros / 3),
            _ => self.rng.u64(1..=micros),
        })
    }

    /// The same where promises say how long it is at most.
    pub(crate) fn channel(&mut self, kept: u64, late: u64) -> Duration {
        let most = if self.script.pace == Pace::Late && !self.is_calm() { late } else { kept };
        self.delay(most)
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Step(place) => self.next_step(place),
            Happening::Start(place) => self.start(place),
            Happening::Lead(place) => self.lead(place),
            Happening::Watch(place, life, kind) if self.replicas[place].life == life => {
                if self.outage > self.now {
                    self.at_moment(self.outage, Happening::Watch(place, life, kind));
                    return;
                }
                let (coalesced, fails) = (self.rng.bool(), self.rng.u8(..64) == 0 && self.may_fail());
                let replica = &mut self.replicas[place];
                replica.coming.remove(&kind);
                let events = if replica.broken.remove(&kind) || fails {
                    replica.list(kind, &self.api)
                } else {
                    replica.events(kind, &self.api, coalesced)
                };
                for event in events {
                    self.step(place, Event::Watch(event));
                }
            }
            Happening::Request(place, term, request) => self.request(place, term, request),
            Happening::Answer(place, term, answer) if self.replicas[place].term == term => {
                self.step(place, Event::Answer(answer));
            }
            Happening::Module(place, life) if self.replicas[place].life == life => {
                self.step(place, Event::Module(self.module.clone()));
            }
            Happening::Key(place, life) if self.replicas[place].life == life => {
                self.step(place, Event::SteeringKey(replica::steering_key(self.key)));
            }
            Happening::MayRead(place, life, secret) if self.replicas[place].life == life => {
                self.may_read(place, secret);
            }
            Happening::Secrets(place, life) if self.replicas[place].life == life => self.tell_secrets(place),
            Happening::Wake(place, life)
                if self.replicas[place].life == life && self.replicas[place].wake == Some(self.now) =>
            {
                self.replicas[place].wake = None;
                self.step(place, Event::Time);
            }
            Happening::Watch(..)
            | Happening::Answer(..)
            | Happening::Wake(..)
            | Happening::Module(..)
            | Happening::Key(..)
            | Happening::MayRead(..)
            | Happening::Secrets(..) => {}
            Happening::Sync(kind) => self.sync_istiod(kind),
            Happening::Push => self.push(),
            Happening::Observe(key, uid, generation) => {
                self.istiod.has_spoken |= self.api.observe(&key, &uid, generation);
            }
            Happening::Connect(number) => self.connect(number),
            Happening::Services(number) => self.services_arrive(number),
            Happening::Routes(number) => {
                if let Some(pod) = self.pods.get_mut(&number) {
                    pod.routes.arrive();
                    self.arrived(number);
                }
            }
            Happening::Plugin(number) => {
                if let Some(pod) = self.pods.get_mut(&number) {
                    pod.plugin.arrive();
                    self.arrived(number);
                }
            }
            Happening::Gone(number) => self.gone(number),
            Happening::Collect(kind, key, uid) => {
                if self.api.get(kind, &key).is_some_and(|stored| stored.uid == uid) {
                    self.remove(kind, &key);
                }
            }
            Happening::Admitted(since) => self.must_admit(since),
            Happening::NotSteered(since) => self.must_not_steer(since),
            Happening::Other(cluster, news) => self.of_other(cluster, news),
            Happening::Open(number) => self.must_be_open(number),
            Happening::Sweep(namespace) => self.sweep(namespace),
            Happening::Renew => self.renew(),
            Happening::Trust(namespace) => self.trust(namespace),
            Happening::Again(namespace) => {
                self.found(namespace);
                if namespace == "a" {
                    self.put(inputs::service("a", "local", &crate::script::PORTS));
                    self.put(inputs::slice("a", "local"));
                }
            }
            Happening::Retry => self.retry(),
        }
    }
}
