//! The rollout against an API server that does at once what it is asked for.

mod additions;
mod admission;
mod asking;
mod callers;
mod churn;
mod conditions;
mod connections;
mod exports;
mod filter;
mod hosts;
mod native;
mod openshift_routes;
mod pods;
mod quality;
mod readiness;
mod refusals;
mod registry;
mod revisions;
mod routes;
mod sla;
mod take_over;
mod tightening;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::kubernetes::Settings;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::moment::Moment;
use mcwan_core::observed::{Digest, Live, Owner};
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{Answer, ApplyError, Command, Event, ModuleVerdict, Rollout, Step, Timing, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::status::{StatusKind, StatusPatch};
use mcwan_core::translate::Options;
use mcwan_core::watched::Watched;
use mcwan_policy::wire::{Action, Import, PluginConfig};
use serde_json::{Value, json};

use crate::translator::{mk, mk_cluster_scoped, mk_options, mk_pod, mk_settings};

const LEASE: Duration = Duration::from_secs(30);

/// A rollout that leads, and what its API server has.
pub(crate) struct Play {
    pub(crate) rollout: Rollout,
    pub(crate) now: Moment,
    pub(crate) objects: BTreeMap<ObjectId, (Value, Live)>,
    /// The objects that were written, in order.
    pub(crate) written: Vec<ObjectId>,
    /// The objects that were told something, and what their status is by it, in order.
    pub(crate) told: Vec<(String, Value)>,
    /// What people were told.
    pub(crate) news: Vec<String>,
    /// What happens before the next status of a `Route` is answered, or the next object is read.
    pub(crate) meanwhile: Option<Event>,
    /// A namespace that takes nothing new, as it is about to go.
    ending: Option<&'static str>,
    /// How many statuses are not taken, as somebody else is faster.
    pub(crate) conflicts: u32,
    /// The kind of which the API server deletes what it is asked to, and never says so.
    unanswered: Option<Kind>,
    /// Whether the API server never says what has become of a status.
    are_statuses_unanswered: bool,
    /// The kind of which the API server takes none, and what it says.
    refused: Option<(Kind, WriteError)>,
    /// The kind of which writes are under way for long, and those writes.
    slow: Option<Kind>,
    under_way: Vec<Command>,
    version: u64,
}

impl Play {
    /// One that knows everything, and that there is nothing but what it is told.
    pub(crate) fn new(options: Options, told: Vec<WatchEvent>) -> Self {
        let mut play = Self::of_nothing(options);
        let is_it =
            |event: &WatchEvent, kind| matches!(event, WatchEvent::NotInstalled { kind: missing } if *missing == kind);
        let kinds = Watched::all().filter(|kind| !told.iter().any(|event| is_it(event, *kind)));
        let synced: Vec<_> = kinds.map(|kind| WatchEvent::Synced { kind }).collect();
        told.into_iter().chain(synced).for_each(|event| play.rollout.observe(play.now, event));
        play.happen(Event::Module(ModuleVerdict::Sound));
        play.happen(Event::Leading(true));
        play
    }

    /// One that follows, and knows nothing.
    pub(crate) fn of_nothing(options: Options) -> Self {
        let settings = Settings { cluster: Some("own".to_owned()), ..mk_settings() };
        Self {
            rollout: Rollout::new("own", LEASE, options, settings, Timing::default(), 1, Moment::START),
            now: Moment::START,
            objects: BTreeMap::new(),
            written: Vec::new(),
            told: Vec::new(),
            news: Vec::new(),
            meanwhile: None,
            ending: None,
            conflicts: 0,
            unanswered: None,
            are_statuses_unanswered: false,
            refused: None,
            slow: None,
            under_way: Vec::new(),
            version: 100,
        }
    }

    /// The same, with the import `secure/payment` of another cluster and its rules.
    pub(crate) fn of_payment() -> Self {
        Self::of_payment_and(Vec::new())
    }

    /// The same with more.
    pub(crate) fn of_payment_and(more: Vec<WatchEvent>) -> Self {
        let rule = |tier: &str| {
            json!({"matches": [{"path": {"value": format!("/{tier}")}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
        };
        let rules = json!({"http": {"rules": [rule("high"), rule("low")]}});
        let tiers = json!([{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]);
        let exported = json!({"cluster": "far", "namespace": "secure", "name": "payment", "readyPods": 1,
            "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high",
            "gateways": ["10.20.0.7"]});
        let registry = "mc-wan-registry";
        let told = vec![
            mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
            mk_input(Watched::WanPolicy, mk_cluster_scoped("WANPolicy", "high", &json!({"port": 31_111}))),
            mk_input(Watched::WanPolicy, mk_cluster_scoped("WANPolicy", "low", &json!({"port": 31_112}))),
            mk_input(Watched::Emitted(Kind::WanCluster), mk("WANCluster", registry, "far", &json!({"tiers": tiers}))),
            mk_input(
                Watched::Emitted(Kind::ExportedService),
                mk("ExportedService", registry, "far.secure.payment", &exported),
            ),
            mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules)),
        ];
        Self::new(mk_options(), told.into_iter().chain(more).collect())
    }

    /// Something happens, and what follows at once from it.
    pub(crate) fn happen(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let Step { commands, .. } = self.rollout.step(self.now, event);
            for command in commands {
                let is_awaited = match &command {
                    Command::WriteStatus { patch } => patch.kind == StatusKind::OpenshiftRoute,
                    command => matches!(command, Command::Read { .. }),
                };
                let changes_objects = matches!(command, Command::Apply { .. } | Command::Delete { .. });
                events.extend(self.carry_out(command).map(Event::Answer));
                // The last comes first.
                events.extend(self.meanwhile.take_if(|_| is_awaited));
                if changes_objects {
                    self.no_value_is_without_a_route();
                }
            }
        }
    }

    /// Time passes, and what is due happens.
    pub(crate) fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some(next) = self.rollout.next(self.now).filter(|next| *next <= end) {
            self.now = next.max(self.now);
            self.happen(Event::Time);
        }
        self.now = end;
        self.happen(Event::Time);
    }

    /// What the API server keeps of an object.
    pub(crate) fn live(&mut self, id: &ObjectId) -> &mut Live {
        &mut self.objects.get_mut(id).expect("the object is there").1
    }

    /// The watch tells of an object as it is.
    pub(crate) fn tell(&mut self, id: &ObjectId) {
        let live = Some(self.live(id).clone());
        let kind = Watched::Emitted(id.kind);
        self.happen(Event::Watch(WatchEvent::Changed { kind, key: id.key.clone(), live, input: None }));
    }

    /// The watch tells of what was written of a kind, as what it means.
    pub(crate) fn echo(&mut self, kind: Kind) {
        let of_kind = self.objects.iter().filter(|(id, _)| id.kind == kind);
        let echoes: Vec<_> = of_kind.map(|(id, written)| (id.key.clone(), written.clone())).collect();
        for (key, (object, live)) in echoes {
            let (kind, live, input) = (Watched::Emitted(kind), Some(live), Some(object));
            self.happen(Event::Watch(WatchEvent::Changed { kind, key, live, input }));
        }
    }

    fn carry_out(&mut self, command: Command) -> Option<Answer> {
        self.version += 1;
        match command {
            Command::Apply { ref object, .. } if self.slow == Some(object.id.kind) => {
                self.under_way.push(command);
                None
            }
            Command::Apply { object, desired, uid } => {
                let id = object.id.clone();
                if self.ending.is_some_and(|ending| *id.key.namespace == *ending) {
                    let error = WriteError::passing(Reason::NamespaceTerminating, "it is about to go");
                    return Some(Answer::Applied { id, desired, result: Err(ApplyError::Failed(error)) });
                }
                if let Some((_, error)) = self.refused.as_ref().filter(|(refused, _)| *refused == id.kind) {
                    return Some(Answer::Applied { id, desired, result: Err(ApplyError::Failed(error.clone())) });
                }
                assert_eq!(uid.is_some(), self.objects.contains_key(&id), "{id:?}: it knows what is there");
                let live = Live {
                    version: self.version,
                    uid: format!("{id:?}").into(),
                    owner: Owner::Ours(desired),
                    ..Live::of(&object.body)
                };
                self.objects.insert(id.clone(), (object.body, live.clone()));
                self.written.push(id.clone());
                Some(Answer::Applied { id, desired, result: Ok(live) })
            }
            Command::Delete { id, .. } => {
                self.objects.remove(&id);
                (self.unanswered != Some(id.kind)).then_some(Answer::Deleted { id, result: Ok(()) })
            }
            Command::Read { id } => {
                let found = self.objects.get(&id).map(|(body, _)| body.clone());
                Some(Answer::Read { id, result: Ok(found) })
            }
            Command::Ask { namespace, pods } => {
                let reports = pods.into_iter().map(|pod| (pod, None)).collect();
                Some(Answer::Asked { namespace, reports })
            }
            Command::WriteStatus { patch } => {
                self.say(&patch);
                if self.are_statuses_unanswered {
                    return None;
                }
                let left = self.conflicts.checked_sub(1);
                self.conflicts = left.unwrap_or_default();
                Some(Answer::StatusWritten { patch, result: left.map_or(Ok(()), |_| Err(WriteError::Conflict)) })
            }
            Command::Tell { patch } => {
                self.news.extend(patch.news.into_iter().map(|news| format!("{}: {}", patch.key, news.message)));
                None
            }
            Command::OpenGate { patch } => self.say(&patch),
            Command::Touch { .. } => None,
        }
    }

    fn say(&mut self, patch: &StatusPatch) -> Option<Answer> {
        self.told.push((patch.key.to_string(), patch.body["status"].clone()));
        None
    }

    /// What the filter steers to, as the steering header names it.
    fn steering_values(&self) -> BTreeSet<String> {
        let filters = self.objects.iter().filter(|(id, _)| id.kind == Kind::WasmPlugin);
        let configs = filters.map(|(_, (body, _))| body["spec"]["pluginConfig"].clone());
        let configs = configs.map(|config| serde_json::from_value(config).expect("a config"));
        let imports = configs.flat_map(|config: PluginConfig| config.imports);
        let values = |import: Import| {
            let taken: BTreeSet<_> =
                import.rules.iter().flat_map(|rule| &rule.actions).flat_map(Action::targets).collect();
            let targets = (0..).zip(import.targets).filter(move |(place, _)| taken.contains(place));
            targets.map(|(_, target)| target.steering_value())
        };
        imports.flat_map(values).collect()
    }

    /// What the filter steers to, routes have.
    fn no_value_is_without_a_route(&self) {
        let routes = self.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
        let routes: String = routes.map(|(_, (body, _))| body.to_string()).collect();
        for value in self.steering_values() {
            assert!(routes.contains(&value), "{value} at {:?} is in no route", self.now);
        }
    }
}

/// What an API server says that takes none of a kind.
pub(crate) fn no_quota(kind: Kind) -> (Kind, WriteError) {
    (kind, WriteError::Lasting { reason: Reason::Refused, message: "no quota".to_owned() })
}

/// An object of a user or of another cluster, as a watch tells of it.
pub(crate) fn mk_input(kind: Watched, object: Value) -> WatchEvent {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let live = kind.emitted().map(|_| Live::of(&object));
    WatchEvent::Changed { kind, key: Key::new(text("namespace"), text("name")), live, input: Some(object) }
}

#[test]
fn a_rotated_key_changes_every_import_and_loses_no_route() {
    let mut play = Play::of_payment();
    play.pass(60);
    let before = play.steering_values();
    assert_eq!(before.len(), 2, "the filter names both tiers");
    play.written.clear();
    let other = "another key of many letters".parse::<mcwan_core::translate::SteeringKey>().unwrap();
    play.happen(Event::SteeringKey(other.clone()));
    play.pass(60);
    let after = play.steering_values();
    assert_eq!(after.len(), 2, "{after:?}");
    assert!(before.is_disjoint(&after), "each value is another one: {before:?}, {after:?}");
    let routes: String = play.objects.values().map(|(body, _)| body["spec"]["rules"].to_string()).collect();
    assert!(!before.iter().any(|value| routes.contains(value)), "what was has left the routes");
    play.written.clear();
    play.happen(Event::SteeringKey(other));
    play.pass(60);
    assert_eq!(play.written, [], "the same key is no news");
}

#[test]
fn what_a_restored_api_server_has_is_put_right() {
    let mut play = Play::of_payment();
    play.pass(60);
    let of_kind = |play: &Play, kind| play.objects.keys().filter(|id| id.kind == kind).cloned().collect::<Vec<_>>();
    let (routes, slices) = (of_kind(&play, Kind::HttpRoute), of_kind(&play, Kind::EndpointSlice));
    assert!(!routes.is_empty() && !slices.is_empty());
    play.written.clear();
    let listing = |kind| Event::Watch(WatchEvent::Listing { kind: Watched::Emitted(kind) });
    let synced = |kind| Event::Watch(WatchEvent::Synced { kind: Watched::Emitted(kind) });
    play.happen(listing(Kind::HttpRoute));
    for id in &routes {
        let live = play.live(id);
        (live.version, live.owner) = (7, Owner::Ours(Digest::of_desired(&json!({"spec": "of old"}))));
        play.tell(id);
    }
    play.happen(synced(Kind::HttpRoute));
    assert_eq!(play.written, routes, "what it has of before is written over");
    play.happen(listing(Kind::EndpointSlice));
    play.objects.retain(|id, _| !slices.contains(id));
    play.happen(synced(Kind::EndpointSlice));
    play.pass(1);
    assert_eq!(of_kind(&play, Kind::EndpointSlice), slices, "what it has not is made again");
}

#[test]
fn an_import_whose_gateways_are_many_changes_behind_says_so() {
    let mut play = Play::of_payment();
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    let pod = mk_pod("secure", "mcwan-egress", "pod-1", "10.30.0.1");
    play.happen(Event::Watch(mk_input(Watched::Pod, pod)));
    play.pass(60);
    play.news.clear();
    for change in 0..20 {
        let rule = json!({"matches": [{"path": {"value": format!("/{change}")}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]});
        let import = mk("ServiceImport", "secure", "payment", &json!({"http": {"rules": [rule]}}));
        play.happen(Event::Watch(mk_input(Watched::ServiceImport, import)));
        play.pass(1);
    }
    // Before the grace has ended for one that cannot be asked.
    play.pass(8);
    let says_so = |news: &String| news.contains("a pod of Gateway secure/mcwan-egress is 16 changes behind");
    assert!(play.news.iter().any(says_so), "{:?}", play.news);
    play.pass(120);
    let filter = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin).expect("a filter").1;
    assert!(filter.0.to_string().contains("\"/19\""), "what was wished last holds in the end: {}", filter.0);
}

#[test]
fn nothing_is_left_of_a_namespace_that_ends_and_takes_nothing_new() {
    let mut play = Play::of_payment();
    play.pass(60);
    let of_tiers = |play: &Play| play.objects.keys().filter(|id| id.kind == Kind::Service).cloned().collect::<Vec<_>>();
    assert!(of_tiers(&play).iter().any(|id| *id.key.namespace == *"mc-wan"));
    play.ending = Some("secure");
    // Kubernetes may delete the filter before we hear that the namespace ends.
    let (gone, kept) =
        std::mem::take(&mut play.objects).into_iter().partition(|(id, _)| *id.key.namespace == *"secure");
    play.objects = kept;
    let gone: BTreeMap<ObjectId, (Value, Live)> = gone;
    for (id, (_, live)) in gone {
        let version = Some(live.version + 1_000);
        play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::Emitted(id.kind), key: id.key, version }));
    }
    let mut namespace = mk_cluster_scoped("Namespace", "secure", &json!({}));
    namespace["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z".into();
    play.happen(Event::Watch(mk_input(Watched::Namespace, namespace)));
    let (kind, key) = (Watched::ServiceImport, Key::new("secure", "payment"));
    play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    play.pass(120);
    assert_eq!(of_tiers(&play), [], "while the namespace is still there");
}
