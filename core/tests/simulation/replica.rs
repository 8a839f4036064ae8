//! A replica of ours: its rollout, and what its watches have seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings};
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::moment::Moment;
use mcwan_core::observed::{Digest, Live};
use mcwan_core::rollout::{GatewayPod, ModuleVerdict, Rollout, Safeguard, Timing, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::snapshot::input::is_read_back;
use mcwan_core::status::StatusPatch;
use mcwan_core::translate::{FrontEnds, Import, Options, RouteOptions, Steering, SteeringKey, Trust};
use mcwan_core::watched::Watched;

use crate::api_server::{ApiServer, Stored};
use crate::script::{self, imports};
use crate::secrets::Secrets;

/// A replica.
pub(crate) struct Replica {
    pub(crate) rollout: Rollout,
    /// Tells it from the one that had its place before it died.
    pub(crate) life: u32,
    /// How much of the log of each kind its watches have seen; none: it has not listed the kind.
    pub(crate) cursors: BTreeMap<Watched, usize>,
    /// The kinds of which an event is under way.
    pub(crate) coming: BTreeSet<Watched>,
    /// The kinds that it must list anew.
    pub(crate) broken: BTreeSet<Watched>,
    pub(crate) leads: bool,
    /// Which time of leading this is: what it asked for before is not answered.
    pub(crate) term: u32,
    pub(crate) wake: Option<Moment>,
    /// What it knows of the module.
    pub(crate) module: ModuleVerdict,
    /// What it knows of Secrets.
    pub(crate) secrets: Secrets,
    /// The imports as it saw them last.
    pub(crate) seen: Vec<Option<Arc<Import>>>,
}

/// What is taken out of replicas, to see that it is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Nothing,
    Lead,
    Grace,
    /// It takes every module for sound.
    Gate,
    Safeguard(Safeguard),
}

/// What a replica asks of the API server and of pods; of a deletion, whether it saw then that the object's import can be served.
#[derive(Debug)]
pub(crate) enum Request {
    Apply { object: Object, desired: Digest, uid: Option<Box<str>> },
    Delete { id: ObjectId, live: Live, is_of_served: bool },
    Read { id: ObjectId },
    Ask { namespace: Arc<str>, pods: Vec<GatewayPod> },
    WriteStatus { patch: StatusPatch },
}

pub(crate) const CLUSTER: &str = "own";
/// How long a cluster may be silent.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// The time of the clock at a moment.
pub(crate) fn clock(now: Moment) -> Timestamp {
    Timestamp::from_second(1_795_305_600).unwrap() + now.since_start()
}

pub(crate) fn steering_key(number: u8) -> SteeringKey {
    format!("0123456789abcdef{number}").parse().unwrap()
}

pub(crate) fn options(key: u8) -> Options {
    Options {
        cluster: Some(CLUSTER.to_owned()),
        steering_key: steering_key(key),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    }
}

pub(crate) fn settings(release: u8) -> Settings {
    Settings {
        cluster: Some(CLUSTER.to_owned()),
        wan_cluster: None,
        network: None,
        gateway_class: "istio".to_owned(),
        module: Module { url: format!("https://example.com/{release}.wasm"), sha256: Some("0".repeat(64)) },
        data_plane: DataPlane::Wasm,
        filter: FilterKind::WasmPlugin,
        access_log: AccessLog::default(),
        has_mcs_imports: true,
        has_connections: true,
    }
}

impl Replica {
    pub(crate) fn new(life: u32, (release, key): (u8, u8), seed: u64, lack: Lack, now: Moment) -> Self {
        let timing = match lack {
            Lack::Lead => Timing { lead: Duration::from_millis(1), ..Timing::default() },
            Lack::Grace => Timing { grace: Duration::from_millis(1), ..Timing::default() },
            Lack::Nothing | Lack::Gate | Lack::Safeguard(_) => Timing::default(),
        };
        let mut rollout = Rollout::new(CLUSTER, LEASE, options(key), settings(release), timing, seed, now);
        rollout.set_clock(Time(clock(now)));
        Self {
            rollout: match lack {
                Lack::Safeguard(safeguard) => rollout.without(safeguard),
                Lack::Nothing | Lack::Lead | Lack::Grace | Lack::Gate => rollout,
            },
            life,
            cursors: BTreeMap::new(),
            coming: BTreeSet::new(),
            broken: BTreeSet::new(),
            leads: false,
            term: 0,
            wake: None,
            module: ModuleVerdict::Unchecked,
            secrets: Secrets::default(),
            seen: vec![None; imports().len()],
        }
    }

    /// Whether it sees an import that can be served.
    pub(crate) fn serves(&self, import: &Key) -> bool {
        let seen = self.rollout.translator().imports().get(&import.namespace, &import.name);
        seen.is_some_and(|import| !import.ports.is_empty())
    }

    /// Whether it sees other imports than before.
    pub(crate) fn sees_others(&mut self) -> bool {
        let imports = self.rollout.translator().imports();
        let now: Vec<_> = script::imports().iter().map(|key| imports.get(&key.namespace, &key.name).cloned()).collect();
        let is_same = |(one, other): (&Option<Arc<Import>>, &Option<Arc<Import>>)| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let sees_others = !now.iter().zip(&self.seen).all(is_same);
        self.seen = now;
        sees_others
    }

    /// Whether it has heard of everything that has happened to objects of a kind.
    pub(crate) fn has_heard(&self, kind: Watched, api: &ApiServer) -> bool {
        self.cursors.get(&kind) == Some(&api.log(kind).len())
    }

    /// What a watch says that lists a kind, anew perhaps.
    pub(crate) fn list(&mut self, kind: Watched, api: &ApiServer) -> Vec<WatchEvent> {
        let log = api.log(kind);
        let seen = self.cursors.insert(kind, log.len()).and_then(|cursor| log.get(..cursor)).unwrap_or_default();
        let known: BTreeMap<&Key, bool> = seen.iter().map(|entry| (&entry.key, entry.stored.is_some())).collect();
        let gone = known.into_iter().filter(|(key, was_there)| *was_there && api.get(kind, key).is_none());
        let gone = gone.map(|(key, _)| WatchEvent::Deleted { kind, key: key.clone(), version: None });
        let there = api.list(kind).map(|(key, stored)| changed(kind, key, stored));
        let listing = std::iter::once(WatchEvent::Listing { kind }).chain(there);
        listing.chain(gone).chain([WatchEvent::Synced { kind }]).collect()
    }

    /// What the watch of a kind has to say; `coalesced`: of each object only the last.
    pub(crate) fn events(&mut self, kind: Watched, api: &ApiServer, coalesced: bool) -> Vec<WatchEvent> {
        let log = api.log(kind);
        let Some(cursor) = self.cursors.get(&kind).copied() else { return self.list(kind, api) };
        self.cursors.insert(kind, log.len());
        let news = log.get(cursor..).unwrap_or_default();
        let is_last = |place: usize| !news.iter().skip(place + 1).any(|later| later.key == news[place].key);
        let told = news.iter().enumerate().filter(|(place, _)| !coalesced || is_last(*place));
        told.map(|(_, entry)| match &entry.stored {
            Some(stored) => changed(kind, &entry.key, stored),
            None => WatchEvent::Deleted { kind, key: entry.key.clone(), version: Some(entry.version) },
        })
        .collect()
    }
}

fn changed(kind: Watched, key: &Key, stored: &Stored) -> WatchEvent {
    let is_kept = || stored.ours.is_none() || kind.is_in_registry() || is_read_back(&stored.body);
    let is_input = kind == Watched::Lease || kind.input_of(stored.ours.is_some()).is_some_and(|_| is_kept());
    WatchEvent::Changed {
        kind,
        key: key.clone(),
        live: kind.emitted().map(|_| stored.live()),
        input: is_input.then(|| stored.read()),
    }
}

/// The kinds whose objects the simulation has.
pub(crate) fn is_routed_by(kind: Kind) -> bool {
    matches!(kind, Kind::HttpRoute | Kind::Service | Kind::EndpointSlice | Kind::ReferenceGrant | Kind::Gateway)
}
