//! A cluster in virtual time: what happens next, and what comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use mcwan_core::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::moment::Moment;
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{Answer, ApplyError, Command, Event, GatewayReport, ModuleVerdict};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;

use crate::api_server::{ApiServer, Refusal};
use crate::check::Check;
use crate::gateway::{Pod, Stage};
use crate::inputs::{self, Input};
use crate::istiod::{self, Istiod, Plugin, Routes};
use crate::replica::{self, Lack, Replica, Request};
use crate::script::{Module, NAMESPACES, OWN, Pace, SERVICES, Script, Step};
use crate::told::Told;

const EGRESS: &str = "mcwan-egress";
const INGRESS: &str = "mcwan-ingress";
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
enum Happening {
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
    Wake(usize, u32),
    /// Istiod hears of a kind.
    Hear(Kind),
    /// Istiod tells gateways of routes.
    Push,
    Observe(Key, Box<str>, i64),
    /// A pod connects to istiod.
    Connect(u32),
    Routes(u32),
    Plugin(u32),
    /// A pod that drains is gone.
    Gone(u32),
    /// What has no owner any more goes.
    Collect(Watched, Key, Box<str>),
    /// Gateways must admit whom other clusters have published by then.
    Admitted(Moment),
    /// What is in a namespace goes.
    Sweep(&'static str),
    /// A namespace comes again.
    Again(&'static str),
    /// A namespace that has come again is known to who leads.
    Trust(&'static str),
}

/// A cluster.
pub(crate) struct World {
    script: Script,
    pub(crate) lack: Lack,
    pub(crate) now: Moment,
    rng: Rng,
    agenda: BTreeMap<(Moment, u64), Happening>,
    number: u64,
    pub(crate) api: ApiServer,
    pub(crate) told: Told,
    istiod: Istiod,
    hearing: BTreeSet<Kind>,
    is_pushing: bool,
    pushed: BTreeMap<(&'static str, &'static str), Arc<Routes>>,
    pub(crate) pods: BTreeMap<u32, Pod>,
    replicas: [Replica; 2],
    key: u8,
    /// When it became another one.
    rotated: Option<Moment>,
    /// Since when somebody leads.
    led: Moment,
    /// How often somebody began to.
    terms: u32,
    module: ModuleVerdict,
    tiers: [Option<u16>; 2],
    /// From how many addresses requests of other clusters come.
    gateways: [u8; 2],
    /// When something was last in the way of everything, or will be.
    disturbed: Moment,
    outage: Moment,
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
            agenda: BTreeMap::new(),
            number: 0,
            api: ApiServer::default(),
            told: Told::new(replica::options(0)),
            istiod: Istiod::default(),
            hearing: BTreeSet::new(),
            is_pushing: false,
            pushed: BTreeMap::new(),
            pods: BTreeMap::new(),
            replicas: [0, 1].map(|place| Replica::new(place, 0, script.seed, lack, now)),
            key: 0,
            rotated: None,
            led: now,
            terms: 0,
            module: ModuleVerdict::Sound,
            tiers: [Some(31_111), Some(31_112)],
            gateways: [1, 1],
            disturbed: now,
            outage: now,
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
            self.put(inputs::cluster(tier, self.tiers, self.gateways[tier]));
        }
        self.put(inputs::service("a", "local", &crate::script::PORTS));
        self.put(inputs::slice("a", "local"));
        self.api.news.clear();
        for kind in istiod::KINDS {
            self.istiod.hear(kind, &self.api);
        }
        self.start(0);
        self.start(1);
        self.at(Duration::from_millis(400), Happening::Lead(0));
        match self.script.steps.first().map(|(first, _)| *first) {
            Some(first) => self.at(first, Happening::Step(0)),
            None => self.quiet = Some(self.now),
        }
    }

    /// Lets everything happen. Gives what must not have.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        while let Some(((then, _), happening)) = self.agenda.pop_first() {
            if self.quiet.is_some_and(|quiet| quiet + QUIET < then) {
                break;
            }
            self.now = then;
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

    fn at(&mut self, after: Duration, happening: Happening) {
        self.at_moment(self.now + after, happening);
    }

    fn at_moment(&mut self, then: Moment, happening: Happening) {
        self.number += 1;
        self.agenda.insert((then.max(self.now), self.number), happening);
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
    fn delay(&mut self, most: u64) -> Duration {
        let micros = most * 1000;
        Duration::from_micros(match self.rng.u8(..16) {
            0..10 => self.rng.u64(1..=micros / 10),
            10..15 => self.rng.u64(1..=micros / 3),
            _ => self.rng.u64(1..=micros),
        })
    }

    /// The same where promises say how long it is at most.
    fn channel(&mut self, kept: u64, late: u64) -> Duration {
        let most = if self.script.pace == Pace::Late && !self.is_calm() { late } else { kept };
        self.delay(most)
    }

    fn put(&mut self, input: Input) {
        let kind = input.kind;
        let told = self.api.put(input);
        if let Some(kind) = kind.input() {
            let changed = self.told.put(kind, &told);
            self.check.told(&changed);
        }
    }

    fn remove(&mut self, kind: Watched, key: &Key) {
        if self.api.remove(kind, key)
            && let Some(kind) = kind.input()
        {
            let changed = self.told.remove(kind, key);
            self.check.told(&changed);
        }
    }

    /// Tells watches of what has changed, and the garbage collector.
    fn spread(&mut self) {
        for (kind, key, uid) in std::mem::take(&mut self.api.garbage) {
            let delay = self.delay(3_000);
            self.at(delay, Happening::Collect(kind, key, uid));
        }
        let mut news = std::mem::take(&mut self.api.news);
        news.sort_unstable();
        news.dedup();
        for kind in news {
            for place in 0..2 {
                self.watch(place, kind);
            }
            if let Watched::Emitted(emitted) = kind {
                self.check.stale(emitted);
                if istiod::KINDS.contains(&emitted) && self.hearing.insert(emitted) {
                    let delay = match emitted {
                        Kind::WasmPlugin => self.channel(2_000, 20_000),
                        // Who has never heard of istiod waits for the lead, and no longer.
                        Kind::HttpRoute if self.istiod.has_spoken => self.channel(5_000, 40_000),
                        _ => self.channel(300, 6_000),
                    };
                    self.at(delay, Happening::Hear(emitted));
                }
            }
        }
    }

    fn watch(&mut self, place: usize, kind: Watched) {
        if self.replicas[place].coming.insert(kind) {
            let life = self.replicas[place].life;
            let delay = self.delay(300);
            self.at(delay, Happening::Watch(place, life, kind));
        }
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
                let coalesced = self.rng.bool();
                let replica = &mut self.replicas[place];
                replica.coming.remove(&kind);
                for event in replica.events(kind, &self.api, coalesced) {
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
            | Happening::Key(..) => {}
            Happening::Hear(kind) => self.hear(kind),
            Happening::Push => self.push(),
            Happening::Observe(key, uid, generation) => self.api.observe(&key, &uid, generation),
            Happening::Connect(number) => self.connect(number),
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
            Happening::Sweep(namespace) => self.sweep(namespace),
            Happening::Trust(namespace) => self.trust(namespace),
            Happening::Again(namespace) => {
                self.api.terminating.retain(|known| known != namespace);
                self.put(inputs::namespace(namespace));
                if namespace == "a" {
                    self.put(inputs::service("a", "local", &crate::script::PORTS));
                    self.put(inputs::slice("a", "local"));
                }
                self.at(Duration::from_secs(3), Happening::Trust(namespace));
                for gateway in [EGRESS, INGRESS] {
                    self.deploy(namespace, gateway);
                }
            }
        }
    }

    /// What happens in a namespace that has come again counts, once who leads may know that it went.
    fn trust(&mut self, namespace: &'static str) {
        if self.outage + Duration::from_secs(15) <= self.now && self.replicas.iter().any(|replica| replica.leads) {
            self.check.begin_anew(namespace);
        } else {
            self.at(Duration::from_secs(3), Happening::Trust(namespace));
        }
    }

    /// What other clusters have published a while ago holds at gateways, if nothing was in the way since then.
    fn must_admit(&mut self, since: Moment) {
        if self.script.pace == Pace::Late || self.disturbed > since {
            return;
        }
        let wanted = self.told.admitted("a");
        for pod in self.pods.values().filter(|pod| pod.gateway == INGRESS && pod.stage == Stage::Ready) {
            let admitted = pod.routes.known.as_ref().and_then(|routes| routes.admitted.as_ref());
            if admitted != Some(&wanted) {
                self.check.wrongs.push(format!("admission: {} admits {admitted:?}, not {wanted:?}", pod.name));
            }
        }
    }

    // What users do.

    fn next_step(&mut self, place: usize) {
        let (_, step) = self.script.steps[place].clone();
        self.note(|| format!("STEP {step:?}"));
        self.carry_out(step);
        match self.script.steps.get(place + 1) {
            Some((gap, _)) => {
                let gap = *gap;
                self.at(gap, Happening::Step(place + 1));
            }
            None => self.calm_down(),
        }
    }

    /// Nothing fails any more, once what fails now is over.
    fn calm_down(&mut self) {
        let refused = self.api.refusals.iter().map(|refusal| refusal.until);
        let mute = self.pods.values().map(|pod| pod.mute);
        let quiet = refused.chain(mute).chain([self.outage, self.now]).max().unwrap_or(self.now);
        let quiet = if self.api.terminating.is_empty() { quiet } else { quiet.max(self.now + Duration::from_secs(6)) };
        self.quiet = Some(quiet);
        if self.module != ModuleVerdict::Sound {
            self.module(Module::Sound);
        }
        for (namespace, name) in SERVICES {
            self.rival(namespace, name, false);
        }
    }

    fn carry_out(&mut self, step: Step) {
        let is_there =
            |world: &Self, service: usize| !world.api.terminating.iter().any(|known| known == SERVICES[service].0);
        match step {
            Step::Import(service, wish) if is_there(self, service) => self.put(inputs::import(service, &wish)),
            Step::NoImport(service) => {
                let (namespace, name) = SERVICES[service];
                self.remove(Watched::ServiceImport, &Key::new(namespace, name));
            }
            Step::Export(cluster, service, wish) => {
                let export = inputs::export(cluster, service, &wish);
                self.put(export);
                self.excuse(Some(service));
            }
            Step::NoExport(cluster, service) => {
                self.remove(Watched::Emitted(Kind::ExportedService), &inputs::export_key(cluster, service));
                self.excuse(Some(service));
            }
            Step::Tier(tier, port) if !self.tiers.contains(&Some(port)) => self.tier(tier, Some(port)),
            Step::NoTier(tier) => self.tier(tier, None),
            Step::Gateways(cluster, pods) => {
                self.gateways[cluster] = pods;
                self.put(inputs::cluster(cluster, self.tiers, pods));
                self.disturbed = self.disturbed.max(self.now);
                self.at(ADMISSION, Happening::Admitted(self.now));
            }
            Step::Local if self.api.terminating.is_empty() => {
                self.put(inputs::service("a", "local", &crate::script::PORTS));
                self.put(inputs::slice("a", "local"));
            }
            Step::NoLocal => {
                // Who deletes a Service that rules name gets what the rules said of it.
                self.remove(Watched::Emitted(Kind::Service), &Key::new("a", "local"));
                self.excuse(None);
            }
            Step::OwnExport(service) if self.api.terminating.is_empty() => {
                self.put(inputs::service("a", OWN[service], &[8080]));
                self.put(inputs::slice("a", OWN[service]));
                self.put(inputs::own_export("a", OWN[service]));
            }
            Step::NoOwnExport(service) => self.remove(Watched::ServiceExport, &Key::new("a", OWN[service])),
            Step::Key(key) => {
                self.key = key;
                self.rotated = Some(self.now);
                if self.now.since(self.led) < LONG {
                    self.check.pardon(self.now);
                }
                let changed = self.told.rotate(replica::steering_key(key));
                self.check.told(&changed);
                for place in 0..2 {
                    let (life, delay) = (self.replicas[place].life, self.delay(500));
                    self.at(delay, Happening::Key(place, life));
                }
            }
            Step::Namespace(place) => self.terminate(NAMESPACES[usize::from(place)]),
            Step::Refuse(kind, service, long) => {
                let import = service.map(|service| Key::new(SERVICES[service].0, SERVICES[service].1));
                let until = self.now + long;
                self.disturbed = self.disturbed.max(until);
                self.check.refuse(kind, import.as_ref(), until);
                self.api.refusals.push(Refusal { kind, import, until });
            }
            Step::Outage(long) => {
                self.outage = self.now + long;
                self.disturbed = self.disturbed.max(self.outage);
            }
            Step::Die => self.die(),
            Step::Depose => self.depose(),
            Step::Restart(place) => self.restart(NAMESPACES[usize::from(place)]),
            Step::Mute(place, long) => {
                let pods = self.pods.values_mut().filter(|pod| pod.namespace == NAMESPACES[usize::from(place)]);
                let until = self.now + long;
                pods.into_iter().take(1).for_each(|pod| pod.mute = until);
            }
            Step::Module(module) => self.module(module),
            Step::Rival(service, is_there) => {
                let (namespace, name) = SERVICES[service];
                self.rival(namespace, name, is_there);
            }
            Step::Expect(service) => self.check.expect(&self.told, service),
            Step::Import(..) | Step::Tier(..) | Step::Local | Step::OwnExport(_) => {}
        }
    }

    /// What was just told breaks what was before. Watches see it within a second, or after an outage.
    fn excuse(&mut self, service: Option<usize>) {
        let unseen = self.now.max(self.outage) + Duration::from_secs(1);
        self.check.excuse(&self.told, service, unseen);
    }

    fn tier(&mut self, tier: usize, port: Option<u16>) {
        self.tiers[tier] = port;
        for cluster in 0..2 {
            self.put(inputs::cluster(cluster, self.tiers, self.gateways[cluster]));
        }
        match port {
            Some(port) => self.put(inputs::tier(tier, port)),
            None => self.remove(Watched::WanPolicy, &Key::new("", crate::script::TIERS[tier])),
        }
        self.excuse(None);
    }

    fn rival(&mut self, namespace: &str, name: &str, is_there: bool) {
        let name = format!("{name}-clusterset");
        let (kind, key) = (Watched::Emitted(Kind::Service), Key::new(namespace, name.as_str()));
        match self.api.get(kind, &key) {
            None if is_there && self.api.terminating.is_empty() => self.put(inputs::service(namespace, &name, &[1])),
            Some(known) if !is_there && known.ours.is_none() => self.remove(kind, &key),
            _ => {}
        }
    }

    fn module(&mut self, module: Module) {
        self.module = match module {
            Module::Sound => ModuleVerdict::Sound,
            Module::NotFetched => ModuleVerdict::NotFetched("no answer".to_owned()),
            Module::Unsound => ModuleVerdict::Unsound("version 9".to_owned()),
        };
        for place in 0..2 {
            let (life, delay) = (self.replicas[place].life, self.delay(2_000));
            self.at(delay, Happening::Module(place, life));
        }
    }

    fn terminate(&mut self, namespace: &'static str) {
        if !self.api.terminating.is_empty() {
            return;
        }
        self.api.terminating.push(namespace.to_owned());
        let mut input = inputs::namespace(namespace);
        input.body["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z".into();
        self.put(input);
        self.check.forget(namespace);
        self.disturbed = self.disturbed.max(self.now + Duration::from_secs(10));
        self.pods.retain(|_, pod| pod.namespace != namespace);
        self.at(Duration::from_millis(500), Happening::Sweep(namespace));
        self.at(Duration::from_millis(1_500), Happening::Sweep(namespace));
        self.at(Duration::from_secs(4), Happening::Sweep(namespace));
        self.at(Duration::from_secs(5), Happening::Again(namespace));
    }

    fn sweep(&mut self, namespace: &'static str) {
        let is_last = self.agenda.values().filter(|other| matches!(other, Happening::Sweep(_))).count() == 0;
        for kind in Watched::all() {
            let keys: Vec<_> =
                self.api.list(kind).map(|(key, _)| key.clone()).filter(|key| *key.namespace == *namespace).collect();
            for key in keys {
                if is_last || self.rng.bool() {
                    self.remove(kind, &key);
                    if kind == Watched::Emitted(Kind::WasmPlugin) {
                        self.check.written(&key.namespace, None, &self.told, true);
                    }
                }
            }
        }
        if is_last {
            self.remove(Watched::Namespace, &Key::new("", namespace));
        }
    }

    // Our replicas.

    fn start(&mut self, place: usize) {
        let life = self.replicas[place].life;
        for kind in Watched::all() {
            self.watch(place, kind);
        }
        let delay = self.delay(1_500);
        self.at(delay, Happening::Module(place, life));
    }

    fn lead(&mut self, place: usize) {
        if self.replicas.iter().any(|replica| replica.leads) {
            return;
        }
        if self.replicas[place].rollout.is_synced() && self.outage <= self.now {
            self.note(|| format!("replica {place} leads"));
            self.replicas[place].leads = true;
            self.terms += 1;
            self.replicas[place].term = self.terms;
            self.led = self.now;
            self.disturbed = self.disturbed.max(self.now);
            if self.rotated.is_some_and(|then| self.now.since(then) < LONG) {
                // What was sent under the key of before cannot be told from what others wrote.
                self.check.pardon(self.now);
            }
            self.step(place, Event::Leading(true));
        } else {
            self.at(Duration::from_millis(100), Happening::Lead(place));
        }
    }

    fn die(&mut self) {
        let Some(place) = self.replicas.iter().position(|replica| replica.leads) else { return };
        let life = self.replicas[place].life + 2;
        self.replicas[place] = Replica::new(life, self.key, self.script.seed, self.lack, self.now);
        let (restart, takes) = (self.delay(5_000), self.delay(12_000));
        self.at(restart, Happening::Start(place));
        self.at(takes, Happening::Lead(1 - place));
    }

    fn depose(&mut self) {
        let Some(place) = self.replicas.iter().position(|replica| replica.leads) else { return };
        self.replicas[place].leads = false;
        self.replicas[place].term = 0;
        self.step(place, Event::Leading(false));
        let takes = self.delay(3_000);
        let next = if self.rng.u8(..4) == 0 { place } else { 1 - place };
        self.at(takes, Happening::Lead(next));
    }

    fn step(&mut self, place: usize, event: Event) {
        let is_traced = self.trace.is_some();
        if is_traced && self.replicas[place].leads {
            let what = format!("{event:?}");
            self.note(|| format!("  > {}", what.chars().take(260).collect::<String>()));
        }
        let now = self.now;
        let replica = &mut self.replicas[place];
        let life = replica.life;
        let event = match event {
            Event::Module(verdict) => {
                replica.module = verdict.clone();
                Event::Module(if self.lack == Lack::Gate { ModuleVerdict::Sound } else { verdict })
            }
            other => other,
        };
        let step = replica.rollout.step(now, event);
        STEPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        RECONCILED.fetch_add(step.reconciled, std::sync::atomic::Ordering::Relaxed);
        if replica.leads && replica.sees_others() {
            let changed = self.told.seen(replica.rollout.translator());
            self.check.mixed(&changed, &self.told, now);
        }
        let replica = &mut self.replicas[place];
        let module = replica.module.clone();
        if let Some(then) = replica.rollout.next(now)
            && replica.wake.is_none_or(|wake| then.max(now) < wake)
        {
            replica.wake = Some(then.max(now));
            self.at_moment(then, Happening::Wake(place, life));
        }
        for command in step.commands {
            self.note(|| format!("  < {}", format!("{command:?}").chars().take(200).collect::<String>()));
            let request = match command {
                Command::Apply { object, desired, uid } => {
                    let is_sound = !matches!(module, ModuleVerdict::Unchecked | ModuleVerdict::Unsound(_));
                    if object.id.kind == Kind::WasmPlugin && !is_sound {
                        self.check.wrongs.push(format!("unsound: a filter is sent while the module is {module:?}"));
                    }
                    Request::Apply { object, desired, uid }
                }
                Command::Delete { id, live } => Request::Delete { id, live },
                Command::Read { id } => Request::Read { id },
                Command::Ask { namespace, pods } => Request::Ask { namespace, pods },
                Command::Touch { .. } | Command::WriteStatus { .. } | Command::Tell { .. } => continue,
            };
            let delay = if self.rng.u8(..64) == 0 && self.may_fail() { self.delay(4_000) } else { self.delay(60) };
            let term = self.replicas[place].term;
            self.at(delay, Happening::Request(place, term, request));
        }
    }

    /// A request is carried out, whatever has become of who sent it.
    fn request(&mut self, place: usize, term: u32, request: Request) {
        let is_lost = self.rng.u8(..128) == 0 && self.may_fail();
        let never_came = is_lost && self.rng.bool();
        let is_away = self.outage > self.now;
        let failure = if is_away {
            Some(WriteError::passing(Reason::Unreachable, "no answer"))
        } else {
            is_lost.then(|| WriteError::passing(Reason::Timeout, "no answer"))
        };
        let is_done = !is_away && !never_came;
        let answer = match request {
            Request::Apply { object, desired, uid } => {
                let id = object.id.clone();
                let result = if is_done {
                    WRITES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let result = self.api.apply(&id, &object.body, desired, uid.as_deref(), self.now);
                    let outcome = if result.is_ok() { "applied" } else { "NOT APPLIED" };
                    self.note(|| format!("{outcome} {} {} by {place}", id.kind.name(), id.key));
                    if id.kind == Kind::ExportedService && uid.is_none() && result.is_ok() {
                        self.announced(&id);
                    }
                    if id.kind == Kind::WasmPlugin && result.is_ok() {
                        self.plugin_written(&id, self.replicas[place].term == term);
                    }
                    result
                } else {
                    Err(ApplyError::Failed(WriteError::Conflict))
                };
                let result = failure.map_or(result, |failure| Err(ApplyError::Failed(failure)));
                Answer::Applied { id, desired, result }
            }
            Request::Delete { id, live } => {
                let result = if is_done {
                    self.note(|| format!("deleted {} {} by {place}", id.kind.name(), id.key));
                    let result = self.api.delete(&id, &live);
                    if id.kind == Kind::WasmPlugin {
                        self.plugin_written(&id, self.replicas[place].term == term);
                    }
                    result
                } else {
                    Ok(())
                };
                Answer::Deleted { id, result: failure.map_or(result, Err) }
            }
            Request::Read { id } => {
                let found = self.api.emitted(&id).map(|stored| stored.read());
                Answer::Read { id, result: failure.map_or(Ok(found), Err) }
            }
            Request::Ask { namespace, pods } => {
                let reports = pods.into_iter().map(|pod| {
                    let known = self.pods.values().find(|known| *known.name == *pod.name);
                    let known = known.filter(|known| known.mute <= self.now && known.plugin.known.is_some());
                    let report = known.map(|known| GatewayReport {
                        revision: known.filter().and_then(|plugin| plugin.table.revision()),
                        module_failures: 0,
                    });
                    (pod, report)
                });
                Answer::Asked { namespace, reports: reports.collect() }
            }
        };
        let delay = if is_lost { Duration::from_secs(15) } else { self.delay(60) };
        self.at(delay, Happening::Answer(place, term, answer));
    }

    /// Other clusters hear of an export: the gateways must know its routes.
    fn announced(&mut self, id: &ObjectId) {
        let host = mcwan_policy::canonical_host("a", id.key.name.rsplit('.').next().unwrap_or_default());
        let ready = self.pods.values().filter(|pod| pod.gateway == INGRESS && pod.stage == Stage::Ready);
        for pod in ready.filter(|_| self.script.pace == Pace::Kept) {
            let knows = pod.routes.known.as_ref().is_some_and(|routes| routes.rules.keys().any(|at| at.host == host));
            if !knows {
                self.check.wrongs.push(format!("announced too soon: {} has no route for it", pod.name));
            }
        }
    }

    fn plugin_written(&mut self, id: &ObjectId, leads: bool) {
        let stored = self.api.emitted(id).cloned();
        let plugin = stored.as_ref().and_then(|stored| Plugin::of(stored));
        self.check.written(&id.key.namespace, plugin.as_ref(), &self.told, leads);
    }

    // Istiod and gateways.

    fn hear(&mut self, kind: Kind) {
        self.hearing.remove(&kind);
        for (key, uid, generation) in self.istiod.hear(kind, &self.api) {
            let delay =
                if std::mem::replace(&mut self.istiod.has_spoken, true) { self.delay(600) } else { self.delay(100) };
            self.at(delay, Happening::Observe(key, uid, generation));
        }
        if kind == Kind::WasmPlugin {
            let numbers: Vec<_> = self.pods.keys().copied().collect();
            for number in numbers {
                self.tell_plugin(number);
            }
        } else if !self.is_pushing {
            self.is_pushing = true;
            let delay = self.delay(100);
            self.at(delay, Happening::Push);
        }
    }

    fn push(&mut self) {
        self.is_pushing = false;
        for namespace in NAMESPACES {
            for gateway in [EGRESS, INGRESS] {
                let routes = self.istiod.routes(namespace, gateway);
                if self.pushed.get(&(namespace, gateway)).is_none_or(|known| **known != routes) {
                    self.pushed.insert((namespace, gateway), Arc::new(routes));
                }
                self.deploy(namespace, gateway);
            }
        }
        let numbers: Vec<_> = self.pods.keys().copied().collect();
        for number in numbers {
            self.tell_routes(number);
        }
    }

    /// Starts the pods of a Gateway, or ends them.
    fn deploy(&mut self, namespace: &'static str, gateway: &'static str) {
        let is_of = |pod: &Pod| pod.namespace == namespace && pod.gateway == gateway;
        let is_there =
            self.istiod.has_gateway(namespace, gateway) && !self.api.terminating.iter().any(|known| known == namespace);
        let lacking = 2 - self.pods.values().filter(|pod| is_of(pod) && pod.stage != Stage::Draining).count().min(2);
        if is_there {
            for _ in 0..lacking {
                self.start_pod(namespace, gateway);
            }
        } else {
            let numbers: Vec<_> = self.pods.iter().filter(|(_, pod)| is_of(pod)).map(|(number, _)| *number).collect();
            for number in numbers {
                self.gone(number);
            }
        }
    }

    fn start_pod(&mut self, namespace: &'static str, gateway: &'static str) {
        self.number += 1;
        let number = u32::try_from(self.number).unwrap_or_default();
        let pod = Pod {
            namespace,
            gateway,
            name: format!("{gateway}-{number}"),
            number,
            stage: Stage::Starting,
            mute: Moment::START,
            routes: crate::gateway::Channel::default(),
            plugin: crate::gateway::Channel::default(),
            outcomes: Vec::new(),
        };
        self.put(inputs::pod(namespace, gateway, &pod.name, number, false));
        self.pods.insert(number, pod);
        let delay = Duration::from_secs(2) + self.delay(6_000);
        self.at(delay, Happening::Connect(number));
    }

    fn connect(&mut self, number: u32) {
        if let Some(pod) = self.pods.get_mut(&number) {
            pod.stage = Stage::Connected;
            self.tell_routes(number);
            self.tell_plugin(number);
        }
    }

    fn tell_routes(&mut self, number: u32) {
        let delay = self.channel(400, 8_000);
        let Some(pod) = self.pods.get_mut(&number).filter(|pod| pod.stage != Stage::Starting) else { return };
        let Some(routes) = self.pushed.get(&(pod.namespace, pod.gateway)) else { return };
        if pod.routes.told().is_some_and(|told| Arc::ptr_eq(told, routes)) {
            return;
        }
        pod.routes.under_way.push_back(Arc::clone(routes));
        pod.routes.last = pod.routes.last.max(self.now + delay);
        let then = pod.routes.last;
        self.at_moment(then, Happening::Routes(number));
    }

    fn tell_plugin(&mut self, number: u32) {
        let delay = self.channel(5_000, 60_000);
        let Some(pod) = self.pods.get_mut(&number).filter(|pod| pod.stage != Stage::Starting) else { return };
        let plugin = if pod.gateway == EGRESS { self.istiod.plugin(pod.namespace) } else { None };
        let version = |plugin: &Option<Arc<Plugin>>| plugin.as_ref().map(|plugin| plugin.version);
        if pod.plugin.told().is_some_and(|told| version(told) == version(&plugin)) {
            return;
        }
        pod.plugin.under_way.push_back(plugin);
        pod.plugin.last = pod.plugin.last.max(self.now + delay);
        let then = pod.plugin.last;
        self.at_moment(then, Happening::Plugin(number));
    }

    /// A pod knows something else.
    fn arrived(&mut self, number: u32) {
        let Some(pod) = self.pods.get_mut(&number) else { return };
        if pod.stage == Stage::Connected && pod.routes.known.is_some() && pod.plugin.known.is_some() {
            pod.stage = Stage::Ready;
            let (namespace, gateway, name) = (pod.namespace, pod.gateway, pod.name.clone());
            self.put(inputs::pod(namespace, gateway, &name, number, true));
        }
        let Some(pod) = self.pods.get_mut(&number) else { return };
        if pod.gateway == EGRESS {
            pod.judge(&self.told.namespaces[pod.namespace].requests);
        }
        let (name, version) = (pod.name.clone(), pod.filter().map(|plugin| plugin.version));
        self.note(|| format!("    {name} has filter {version:?}, or routes"));
        self.check.is_due = true;
    }

    fn restart(&mut self, namespace: &'static str) {
        let ready = self.pods.values_mut().find(|pod| pod.namespace == namespace && pod.stage == Stage::Ready);
        let Some(pod) = ready else { return };
        pod.stage = Stage::Draining;
        let (gateway, name, number) = (pod.gateway, pod.name.clone(), pod.number);
        let mut input = inputs::pod(namespace, gateway, &name, number, false);
        input.body["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z".into();
        self.put(input);
        let drains = Duration::from_millis(500) + self.delay(20_000);
        self.at(drains, Happening::Gone(number));
        self.start_pod(namespace, gateway);
    }

    fn gone(&mut self, number: u32) {
        if let Some(pod) = self.pods.remove(&number) {
            self.remove(Watched::Pod, &Key::new(pod.namespace, pod.name.as_str()));
            self.check.is_due = true;
        }
    }
}
