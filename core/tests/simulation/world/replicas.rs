//! The replicas of the controller, and what becomes of what they ask for.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::NO_ADDRESS;
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::liveness::Liveness;
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{Answer, ApplyError, Command, Event, GatewayReport, ModuleVerdict};
use mcwan_core::status::{StatusKind, StatusPatch};
use mcwan_core::translate::Tier;
use mcwan_core::translate::gateway_pods::ADMITTED_CONDITION;
use mcwan_core::watched::Watched;
use mcwan_policy::wire;
use serde_json::Value;

use super::{Happening, INGRESS, LONG, RECONCILED, STEPS, WRITES, World};
use crate::gateway::{Pod, Stage};
use crate::istiod::{Plugin, all_addresses};
use crate::replica::{self, Lack, Replica, Request, clock};
use crate::script::{OWN, Pace};
use crate::told::data_plane;

/// How long a new pod waits for other clusters.
const WAIT: Duration = Duration::from_secs(30);

/// How soon who leads knows of a pod that has become ready.
const KNOWN: Duration = Duration::from_secs(5);

/// The conditions of a status.
pub(crate) fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

/// For how long the API server carries out what it has of a connection that ends: kube-apiserver stops what waits, and the
/// rest is a transaction of etcd. Who takes over writes nothing that leads elsewhere before a lead has passed.
const CARRIED_OUT: Duration = Duration::from_secs(1);

impl World {
    pub(super) fn start(&mut self, place: usize) {
        let life = self.replicas[place].life;
        for kind in Watched::all() {
            self.watch(place, kind);
        }
        let delay = self.delay(1_500);
        self.at(delay, Happening::Module(place, life));
    }

    pub(super) fn lead(&mut self, place: usize) {
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

    pub(super) fn die(&mut self) {
        let Some(place) = self.replicas.iter().position(|replica| replica.leads) else { return };
        self.give_up(place);
        self.replace(place);
        let takes = self.delay(12_000);
        self.at(takes, Happening::Lead(1 - place));
    }

    /// A replica starts anew.
    pub(super) fn replace(&mut self, place: usize) {
        let life = self.replicas[place].life + 2;
        self.replicas[place] = Replica::new(life, (self.release, self.key), self.script.seed, self.lack, self.now);
        let restart = self.delay(5_000);
        self.at(restart, Happening::Start(place));
    }

    pub(super) fn depose(&mut self) {
        let Some(place) = self.replicas.iter().position(|replica| replica.leads) else { return };
        self.give_up(place);
        self.replicas[place].leads = false;
        self.replicas[place].term = 0;
        self.step(place, Event::Leading(false));
        let takes = self.delay(3_000);
        let next = if self.rng.u8(..4) == 0 { place } else { 1 - place };
        self.at(takes, Happening::Lead(next));
    }

    /// Requests of one who leads no more are given up: their connections end. What the API server has by then, it carries out.
    fn give_up(&mut self, place: usize) {
        let by_then = self.now + CARRIED_OUT;
        self.queue.retain(|(then, _), happening| {
            !matches!(happening, Happening::Request(from, ..) if *from == place) || *then <= by_then
        });
    }

    pub(super) fn step(&mut self, place: usize, event: Event) {
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
        replica.rollout.set_clock(Time(clock(now)));
        let step = replica.rollout.step(now, event);
        self.knows_secrets(place);
        self.ask_for_secrets(place);
        let replica = &mut self.replicas[place];
        STEPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        RECONCILED.fetch_add(step.reconciled, std::sync::atomic::Ordering::Relaxed);
        if replica.leads {
            // Which clusters are stale is for who leads to say.
            let changed = self.told.judge(&replica.rollout.snapshot().stale_clusters);
            self.check.told(&changed);
        }
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
            self.note(|| format!("  < {}", told_of(&command).chars().take(2_000).collect::<String>()));
            let request = match command {
                Command::Apply { object, desired, uid } => {
                    if object.id.kind == Kind::WasmPlugin {
                        self.has_module(&object, &module);
                    }
                    self.shows_no_secret(&object);
                    if object.id.kind == Kind::ExportedService {
                        self.is_routed(place, &object);
                    }
                    Request::Apply { object, desired, uid }
                }
                Command::Delete { id, live } => {
                    let import = live.import.as_deref();
                    let is_of_served = import.is_some_and(|import| self.replicas[place].serves(import));
                    Request::Delete { id, live, is_of_served }
                }
                Command::Read { id } => Request::Read { id },
                Command::Ask { namespace, pods } => Request::Ask { namespace, pods },
                Command::WriteStatus { patch } => {
                    self.is_true(place, &patch);
                    self.gate_is_true(place, &patch);
                    self.is_granted(place, &patch);
                    Request::WriteStatus { patch }
                }
                Command::Touch { .. } | Command::OpenGate { .. } | Command::Tell { .. } => continue,
            };
            let delay = if self.rng.u8(..64) == 0 && self.may_fail() { self.delay(4_000) } else { self.delay(60) };
            let term = self.replicas[place].term;
            self.at(delay, Happening::Request(place, term, request));
        }
    }

    /// A request is carried out, whatever has become of who sent it.
    pub(super) fn request(&mut self, place: usize, term: u32, request: Request) {
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
                    self.route_written(&id, self.replicas[place].term == term);
                    let outcome = if result.is_ok() { "applied" } else { "NOT APPLIED" };
                    self.note(|| format!("{outcome} {} {} by {place}", id.kind.name(), id.key));
                    self.is_heard(&id);
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
            Request::Delete { id, live, is_of_served } => {
                let result = if is_done {
                    self.note(|| format!("deleted {} {} by {place}", id.kind.name(), id.key));
                    let known = self.api.emitted(&id).map(|stored| stored.read()).unwrap_or_default();
                    let import = crate::api_server::import_of(&known);
                    let (spec, is_shown) = (&known["spec"], id.kind == Kind::McsServiceImport);
                    let is_headless = spec["clusterIP"] == NO_ADDRESS || spec["type"] == "Headless";
                    if let Some(import) = import.filter(|import| import.namespace == id.key.namespace)
                        && let history = self.told.of(&import)
                        && let held = self.check.of(history.data_plane).held(&import)
                        && (id.kind == Kind::Service || is_shown && history.is_exported_since(&import, held))
                        && history.is_served_for(&import, 2)
                        && is_of_served
                        && !history.was_of_type(&import, !is_headless)
                        && !self.check.forgets(&import.namespace)
                        && !(is_shown && self.is_without_address(&import))
                        && !self.holds_route(place, &import.namespace)
                    {
                        self.check.wrongs.push(format!("unreachable: clients have no {}", id.key));
                    }
                    self.route_written(&id, self.replicas[place].term == term);
                    let result = self.api.delete(&id, &live);
                    self.is_heard(&id);
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
                        ..GatewayReport::default()
                    });
                    (pod, report)
                });
                Answer::Asked { namespace, reports: reports.collect() }
            }
            Request::WriteStatus { patch } => {
                let result = if is_done { self.api.write_status(&patch) } else { Ok(()) };
                if is_done && result.is_ok() && patch.kind == StatusKind::Pod {
                    self.gate_is_told(&patch);
                }
                Answer::StatusWritten { patch, result: failure.map_or(result, Err) }
            }
        };
        let delay = if is_lost { Duration::from_secs(15) } else { self.delay(60) };
        self.at(delay, Happening::Answer(place, term, answer));
    }

    /// What a status says of gateways holds there: all that have been ready for a while have the import.
    fn is_true(&mut self, place: usize, patch: &StatusPatch) {
        let is_programmed =
            conditions(&patch.body).any(|known| known["type"] == "Programmed" && known["status"] == "True");
        let imports = self.replicas[place].rollout.translator().imports();
        let import = imports.get(&patch.key.namespace, &patch.key.name).filter(|_| is_programmed);
        // Somebody has taken filters away, and they are written again.
        let mut refusals = self.api.refusals.iter().filter(|refusal| refusal.kind == Kind::WasmPlugin);
        let may_be_late = self.script.pace == Pace::Late || self.now < self.unlisted;
        let is_excused = may_be_late || refusals.any(|refusal| refusal.until + LONG > self.now);
        let Some(import) = import.filter(|_| !is_excused) else { return };
        let is_it = |known: &wire::Import| *known == import.wire || *known == import.wire.too_large();
        let gateway = replica::settings(self.release).egress_gateway(import);
        let has_it = |pod: &Pod| match data_plane(import) {
            DataPlane::Wasm => {
                pod.filter().is_some_and(|plugin| plugin.imports.iter().any(is_it)) && pod.listens(&import.ports)
            }
            DataPlane::Native => pod.does(import, &self.told.namespaces[pod.namespace].requests),
        };
        let settled =
            |pod: &&Pod| pod.ready.is_some_and(|ready| ready + KNOWN <= self.now) && pod.stage == Stage::Ready;
        let own = self.pods.values().filter(|pod| pod.is_of(&patch.key.namespace, gateway));
        if let Some(pod) = own.filter(settled).find(|pod| !has_it(pod)) {
            self.check.wrongs.push(format!("untrue: {} is told to be programmed, not at {}", patch.key, pod.name));
        }
    }

    /// A pod that is told that other clusters admit it is admitted by all live ones that its requests may go to; one that is
    /// told that it has waited has.
    fn gate_is_true(&mut self, place: usize, patch: &StatusPatch) {
        let is_told = |known: &Value| known["type"] == ADMITTED_CONDITION && known["status"] == "True";
        let Some(condition) = conditions(&patch.body).find(|known| is_told(known)) else { return };
        let Some(pod) = self.pods.values().find(|pod| *pod.name == *patch.key.name) else { return };
        if condition["reason"] == "Timeout" {
            // The time of a pod's creation has no fractions of seconds.
            if self.now.since(pod.born) + Duration::from_secs(1) < WAIT {
                self.check.wrongs.push(format!("gate: {} has not waited", pod.name));
            }
            return;
        }
        let imports = self.replicas[place].rollout.translator().imports().in_namespace(pod.namespace);
        let sources = imports.flat_map(|import| &import.tiers).flat_map(Tier::remote);
        let mut live = sources.filter(|source| source.liveness == Liveness::Live);
        if let Some(source) = live.find(|source| !self.is_known_to(pod, &source.cluster)) {
            self.check.wrongs.push(format!("gate: {} does not admit {}", source.cluster, pod.name));
        }
    }

    /// Other clusters are to hear of ports of an export: the gateways must know their routes. They may have forgotten them, as it was
    /// withdrawn, and who sends it has not heard of that: during an outage, or just after it.
    fn is_routed(&mut self, place: usize, object: &Object) {
        if !self.replicas[place].has_heard(Watched::ServiceExport, &self.api) {
            return;
        }
        let ports = |object: &Value| {
            let ports = object.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
            ports.map(|port| port["port"].to_string()).collect::<BTreeSet<_>>()
        };
        let known = self.api.emitted(&object.id).map(|stored| ports(&stored.body)).unwrap_or_default();
        let host = mcwan_policy::canonical_host("a", object.id.key.name.rsplit('.').next().unwrap_or_default());
        let ready = self.pods.values().filter(|pod| pod.gateway == INGRESS && pod.stage == Stage::Ready);
        for pod in ready.filter(|_| self.script.pace == Pace::Kept) {
            let rules = pod.routes.known.iter().flat_map(|routes| routes.rules.keys());
            let routed: BTreeSet<_> = rules.filter(|at| at.host == host).map(|at| at.value.clone()).collect();
            if let Some(port) = ports(&object.body).difference(&known).find(|port| !routed.contains(*port)) {
                self.check.wrongs.push(format!("announced too soon: {} has no route for port {port}", pod.name));
            }
        }
    }

    /// What we have written is input to us: in the registry, where everybody hears it, and where it has an address now.
    fn is_heard(&mut self, id: &ObjectId) {
        let watched = Watched::Emitted(id.kind);
        let Some(kind) = watched.input_of(true) else { return };
        let told = self.api.emitted(id).map(|stored| stored.read());
        if id.kind == Kind::WanCluster {
            self.own_is_told();
        }
        let changed = match &told {
            Some(told) => self.told.put(kind, told),
            None => self.told.remove(kind, &id.key),
        };
        self.check.told(&changed);
        let service = OWN.iter().position(|own| id.key.name.ends_with(&format!(".{own}")));
        let is_told = service.is_some_and(|service| self.check.is_to_be_told(service));
        if watched.is_in_registry() && !changed.is_empty() && (told.is_none() || is_told) {
            self.excuse(service);
        }
    }

    /// One that is deposed tells again what was told before.
    pub(super) fn route_written(&mut self, id: &ObjectId, leads: bool) {
        let stored = self.api.emitted(id).filter(|_| id.kind == Kind::HttpRoute && !leads);
        if let Some(import) = stored.and_then(|stored| crate::api_server::import_of(&stored.body)) {
            self.check.native.go_back(&import, 0, &self.told.native);
        }
    }

    pub(super) fn plugin_written(&mut self, id: &ObjectId, leads: bool) {
        let stored = self.api.emitted(id).cloned();
        let plugin = stored.as_ref().and_then(|stored| Plugin::of(stored));
        let namespace = &id.key.namespace;
        if let Some(plugin) = plugin.as_ref().filter(|_| leads) {
            self.check.must_keep_routed(namespace, plugin, &self.told, || all_addresses(&self.api, namespace));
        }
        let version = plugin.as_ref().map_or_else(|| self.api.version(), |plugin| plugin.version);
        self.check.written((namespace, version), plugin.as_ref(), &self.told, (leads, self.now));
    }
}

/// A command, as the trace tells it.
fn told_of(command: &Command) -> String {
    match command {
        Command::Apply { object, .. } => format!("Apply {} {} {}", object.id.kind.name(), object.id.key, object.body),
        Command::WriteStatus { patch } => format!("WriteStatus {} {}", patch.key, patch.body["status"]),
        Command::Tell { .. } => "Tell".to_owned(),
        _ => format!("{command:?}"),
    }
}
