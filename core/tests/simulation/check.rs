//! What must hold at every instant.

mod examine;
mod excuses;
mod holding;
mod native;
mod refused;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::snapshot::{Key, is_of_hosts};
use mcwan_core::translate::Import;
use mcwan_policy::wire;

use self::holding::Holding;
use crate::gateway::Pod;
use crate::istiod::Plugin;
use crate::script::{Pace, SERVICES};
use crate::told::{Request, RequestOutcome, State, TLS_PORT, Told, host_of, is_served};

/// How long it takes at most until what was refused is written, and gateways have all of it.
pub(crate) const AFTER_REFUSAL: Duration = Duration::from_secs(100);
/// How long what was ready before holds where something newer is refused: the grace, which counts from the first attempt, and
/// an attempt of before may have got lost for fifteen seconds.
pub(crate) const GRACE: Duration = Duration::from_secs(14);
/// The same for the port of a tier, which routes and the Services behind them change together, and for a listener with a
/// certificate, which goes and comes back at once: a request that got lost is sent again, and istiod hears of it.
const AFTER_AT_ONCE: Duration = Duration::from_secs(30);

/// What is known of what holds.
pub(crate) struct Check {
    pace: Pace,
    /// Something that is checked may be otherwise at pods.
    pub(crate) is_due: bool,
    /// The same of routes and filters in the API server.
    are_routes_due: bool,
    /// The filter in the API server, by namespace.
    live: BTreeMap<Arc<str>, Live>,
    /// Which version of each import filters carry, by namespace and the filter's version; where one was deleted, none.
    carried: BTreeMap<(Arc<str>, u64), BTreeMap<Key, Carried>>,
    /// What holds of imports whose requests a filter steers.
    pub(crate) steered: Holding,
    /// The same of those whose rules are routes.
    pub(crate) native: Holding,
    /// The imports that were native meanwhile, and the filter may not have them again until this version of them holds.
    turned: BTreeMap<Key, usize>,
    /// Until then, who leads may not have seen what broke something last.
    breaking: Moment,
    /// Until then, a tier's port is changing.
    moving: Moment,
    /// The imports whose certificate was withdrawn: until when there may be no listener for it, though it is back.
    uncertified: BTreeMap<Key, Moment>,
    /// The imports of which something is refused: since when that may show, and until when.
    refused: BTreeMap<Key, (Moment, Moment)>,
    /// What must never happen, and has.
    pub(crate) wrongs: Vec<String>,
    /// The namespaces that go.
    forgotten: BTreeSet<&'static str>,
    /// Until when what was of a namespace of before may show in one that is there again: what was on its way to it, or a host that
    /// is somebody's again.
    anew: BTreeMap<&'static str, Moment>,
}

/// A filter in the API server.
#[derive(Default)]
struct Live {
    version: u64,
    imports: Vec<wire::Import>,
    carried: BTreeMap<Key, Carried>,
    /// Whether one wrote it who did not lead any more.
    is_last_word: bool,
}

/// What a filter carries of an import.
#[derive(Clone, Copy, Default)]
struct Carried {
    version: usize,
    /// Whether it has room for it.
    is_whole: bool,
}

impl Check {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            pace,
            is_due: false,
            are_routes_due: false,
            live: BTreeMap::new(),
            carried: BTreeMap::new(),
            steered: Holding::default(),
            native: Holding::default(),
            turned: BTreeMap::new(),
            breaking: Moment::START,
            moving: Moment::START,
            uncertified: BTreeMap::new(),
            refused: BTreeMap::new(),
            wrongs: Vec::new(),
            forgotten: BTreeSet::new(),
            anew: BTreeMap::new(),
        }
    }

    /// These imports are others by now.
    pub(crate) fn told(&mut self, changed: &[Key]) {
        self.is_due |= !changed.is_empty();
    }

    /// Objects of a kind have changed.
    pub(crate) fn stale(&mut self, kind: Kind) {
        self.are_routes_due |= matches!(kind, Kind::HttpRoute | Kind::WasmPlugin);
    }

    /// A filter was written, or deleted, in this version. One that is deposed tells again what was told
    /// before.
    pub(crate) fn written(
        &mut self,
        (namespace, version): (&Arc<str>, u64),
        plugin: Option<&Plugin>,
        told: &Told,
        (leads, at): (bool, Moment),
    ) {
        let is_promised = leads && !self.forgets(namespace) && !self.is_anew(namespace, at);
        let refused = &self.refused;
        let is_refused = |key: &Key| refused.get(key).is_some_and(|(_, until)| *until > at);
        let known = self.live.entry(Arc::clone(namespace)).or_default();
        let imports = plugin.map(|plugin| plugin.imports.clone()).unwrap_or_default();
        let mut carried = BTreeMap::new();
        for key in told.steered.versions.keys().filter(|key| key.namespace == *namespace) {
            let before = known.carried.get(key).copied().unwrap_or_default().version;
            let wire = imports.iter().find(|import| import.name == *key.name);
            let now = told.steered.carried(key, wire, before).unwrap_or(before);
            if is_promised && !known.is_last_word && plugin.is_some() && now < before && !is_refused(key) {
                self.wrongs.push(format!("goes back: the filter has version {now} of {key} after {before}"));
            }
            if !leads || plugin.is_none() || now < before {
                self.steered.go_back(key, now, &told.steered);
            }
            let version = told.steered.version(key, now);
            let is_whole = version.zip(wire).is_none_or(|(version, wire)| *wire != version.wire.too_large());
            carried.insert(key.clone(), Carried { version: now, is_whole });
        }
        *known = Live { version, imports, carried: carried.clone(), is_last_word: !leads };
        self.carried.insert((Arc::clone(namespace), version), carried);
    }

    /// Whether the filter in the API server is of one who did not lead any more.
    pub(crate) fn is_last_word(&self, namespace: &str) -> bool {
        self.live.get(namespace).is_some_and(|live| live.is_last_word)
    }

    /// The filter in the API server must carry an import as it is wanted.
    pub(crate) fn expect(&mut self, told: &Told, service: usize) {
        let key = Key::new(SERVICES[service].0, SERVICES[service].1);
        let live = self.live.get(&key.namespace).into_iter().flat_map(|live| &live.imports);
        let carried = live.into_iter().find(|import| import.name == *key.name);
        let wanted = told.steered.last(&key).map(|import| &import.wire);
        if carried != wanted {
            self.wrongs.push(format!("delayed: the filter is not told of {key}"));
        }
    }

    /// A namespace goes: of its imports nothing is promised.
    pub(crate) fn forget(&mut self, namespace: &'static str) {
        self.forgotten.insert(namespace);
    }

    /// Whether a namespace goes.
    pub(crate) fn forgets(&self, namespace: &str) -> bool {
        self.forgotten.contains(namespace)
    }

    /// A namespace is there again, and who leads knows that it went: its imports begin anew. Istiod may still have the
    /// filter of before.
    pub(crate) fn begin_anew(&mut self, namespace: &'static str, now: Moment) {
        self.forgotten.remove(namespace);
        self.anew.insert(namespace, now + AFTER_REFUSAL);
        self.steered.established.retain(|key| *key.namespace != *namespace);
        self.native.established.retain(|key| *key.namespace != *namespace);
    }

    /// Whether what was of a namespace of before may show in one that is there again.
    fn is_anew(&self, namespace: &str, now: Moment) -> bool {
        self.anew.get(namespace).is_some_and(|end| now < *end)
    }

    /// What holds of the imports of a kind.
    pub(crate) fn of(&self, data_plane: DataPlane) -> &Holding {
        match data_plane {
            DataPlane::Wasm => &self.steered,
            DataPlane::Native => &self.native,
        }
    }

    /// The filter that a pod has, or is about to have first.
    fn filter_at(pod: &Pod) -> Option<u64> {
        let filter = pod.plugin.known.as_ref().or(pod.plugin.under_way.front()).and_then(Option::as_ref);
        filter.map(|filter| filter.version)
    }

    /// Which version of an import a pod has.
    fn version_at(&self, pod: &Pod, import: &Key) -> usize {
        let carried = Self::filter_at(pod).and_then(|version| self.carried.get(&(pod.namespace.into(), version)));
        carried.and_then(|carried| carried.get(import)).copied().unwrap_or_default().version
    }

    /// Takes note of what holds everywhere by now.
    fn hold(&mut self, namespace: &str, pods: &[&Pod], told: &Told, now: Moment) {
        // What was written since the oldest filter of a pod is still to come: one who was deposed may have gone back, and so may
        // an API server that was restored, whose filter is older.
        let on_their_way =
            pods.iter().flat_map(|pod| pod.plugin.under_way.iter().flatten().map(|filter| filter.version));
        let live = self.live.get(namespace).map(|live| live.version);
        let oldest = pods.iter().map(|pod| Self::filter_at(pod).unwrap_or_default());
        let oldest = oldest.chain(on_their_way).chain(live).min().unwrap_or_default();
        let to_come: Vec<_> = self.carried.range((namespace.into(), oldest)..=(namespace.into(), u64::MAX)).collect();
        for (key, versions) in told.steered.versions.iter().filter(|(key, _)| *key.namespace == *namespace) {
            // Where a filter has no room for an import, nothing of it holds.
            let whole = to_come.iter().map(|(_, carried)| carried.get(key).filter(|carried| carried.is_whole));
            let everywhere = whole.map(|carried| carried.map(|carried| carried.version).unwrap_or_default()).min();
            let everywhere = everywhere.filter(|_| oldest > 0).unwrap_or_default();
            let held = self.steered.held.entry(key.clone()).or_default();
            let is_uncertified = |import: &Arc<Import>| is_of_hosts(key) && !import.ports.contains(&TLS_PORT);
            if versions.iter().skip(*held).flatten().any(is_uncertified) {
                self.uncertified.insert(key.clone(), now + AFTER_AT_ONCE);
            }
            *held = (*held).max(everywhere);
            self.steered.forget_gone(key, &told.steered);
        }
    }

    /// Takes note of the imports that work.
    fn establish(&mut self, namespace: &str, pods: &[&Pod], connected: &[&Pod], told: &Told, requests: &[Request]) {
        for key in told.steered.versions.keys().filter(|key| *key.namespace == *namespace) {
            let Some(import) = told.steered.version(key, self.steered.held(key)) else { continue };
            if self.steered.established.contains(key) || import.ports.is_empty() {
                continue;
            }
            let host = host_of(key);
            let works = |pod: &&Pod| {
                let own = requests.iter().zip(&pod.outcomes).enumerate();
                let mut own =
                    own.filter(|(_, (request, _))| request.host == host && import.ports.contains(&request.port));
                own.all(|(place, (_, outcome))| told.steered.says(key, self.steered.held(key), place, outcome))
            };
            let has_it = |pod: &&Pod| told.steered.version(key, self.version_at(pod, key)).is_some();
            if pods.iter().all(works) && connected.iter().all(has_it) {
                self.steered.established.insert(key.clone());
            }
        }
    }

    /// Whether what becomes of a request at a pod is as one of the states says that may hold.
    fn judge(
        &self,
        place: usize,
        request: &Request,
        outcome: &RequestOutcome,
        states: &[State],
        told: &Told,
        now: Moment,
    ) -> bool {
        let (holding, history) = (&self.steered, &told.steered);
        // The filter carries some version of each import, as if the changes had been made in another order.
        let says_so = if let Some(import) = outcome.import() {
            // Where not all have room in the filter, each state tells who has none.
            let is_crowded_out = |state: &State| state.outcomes[place] == *outcome && outcome.is_refused_for_size();
            history.says(import, holding.held(import), place, outcome) || states.iter().any(is_crowded_out)
        } else {
            // Or nobody has had its host everywhere yet.
            let held = history.versions.keys().map(|key| (key, holding.held(key)));
            states.iter().any(|state| state.outcomes[place] == *outcome) || told.is_nobodys(held, request, place)
        };
        if says_so {
            return true;
        }
        let owner = outcome.import().or_else(|| states.last().and_then(|state| state.outcomes[place].import()));
        let Some(owner) = owner else { return false };
        let has_port = |state: &State| {
            let import = history.version(owner, state.versions[owner]);
            import.is_some_and(|import| is_served(import, request.port))
        };
        match outcome {
            RequestOutcome::Reached { target, .. } => {
                self.is_refused(owner, now) && history.says_in_part(owner, holding.held(owner), request, target)
            }
            _ => {
                self.may_be_lost(holding, owner, request, outcome, now)
                    || is_lost(outcome) && !states.iter().all(has_port)
            }
        }
    }

    /// Whether a request may have no answer, or that there is none.
    fn may_be_lost(
        &self,
        holding: &Holding,
        owner: &Key,
        request: &Request,
        outcome: &RequestOutcome,
        now: Moment,
    ) -> bool {
        let is_uncertain =
            self.pace == Pace::Late || self.is_refused(owner, now) || !holding.established.contains(owner);
        match outcome {
            RequestOutcome::Reached { .. } => false,
            RequestOutcome::Replied { status, .. } => *status == 500 && is_uncertain,
            RequestOutcome::Lost { .. } | RequestOutcome::Unknown => {
                is_uncertain
                    || self.moving > now
                    || request.port == TLS_PORT && self.uncertified.get(owner).is_some_and(|until| *until > now)
                    || holding.is_excused(owner)
            }
        }
    }
}

fn is_lost(outcome: &RequestOutcome) -> bool {
    matches!(outcome, RequestOutcome::Lost { .. } | RequestOutcome::Unknown)
}

impl RequestOutcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown host",
            Self::Replied { .. } => "answered otherwise",
            Self::Reached { .. } => "steered otherwise",
            Self::Lost { why, .. } if why.starts_with("404") => "lost without a rule",
            Self::Lost { why, .. } if why.starts_with("500") => "lost without a backend",
            Self::Lost { why, .. } if why.starts_with("503") => "lost without a cluster",
            Self::Lost { .. } => "lost without a listener",
        }
    }

    /// Whether it may be that of an import that is too large.
    fn is_refused_for_size(&self) -> bool {
        matches!(self, Self::Replied { status: 500, .. })
    }

    fn import(&self) -> Option<&Key> {
        match self {
            Self::Unknown => None,
            Self::Replied { import, .. } => import.as_ref(),
            Self::Reached { import, .. } | Self::Lost { import, .. } => Some(import),
        }
    }
}
