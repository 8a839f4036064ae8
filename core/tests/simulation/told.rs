//! What users have told so far, what each of these states says of each request, and which of them hold.

mod history;
mod withdrawn;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Key, Objects, Snapshot, input, is_of_hosts, view, viewed};
use mcwan_core::translate::{Admitted, Import, Options, SteeringKey, Tier, Translator};
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::UnknownHosts;
use mcwan_policy::{Decision, HeaderLine, RouteTable, limits};
use serde_json::Value;

pub(crate) use self::history::History;
use crate::native;
use crate::script::{HOSTS, NAMESPACES, PATHS, PORTS, ROUTED_HOST, imports};

/// A request that clients may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: &'static str,
    /// What decides between backends.
    pub(crate) draw: u64,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    /// The host is nobody's.
    Unknown,
    /// The filter answers it.
    Replied { import: Option<Key>, status: u16 },
    /// It is forwarded as an import's target says.
    Reached { import: Key, target: String },
    /// It is steered, and no route leads on, or none to a Service that is there.
    Lost { import: Key, why: String },
}

/// What was told.
pub(crate) struct Told {
    snapshot: Snapshot,
    translator: Translator,
    /// The imports whose requests a filter steers.
    pub(crate) steered: History,
    /// Those whose rules are routes. One that becomes the other is gone here, and new there.
    pub(crate) native: History,
    /// Those that became the other since somebody asked.
    pub(crate) turned: Vec<Key>,
    /// What each import was when it was last there.
    data_planes: BTreeMap<Key, DataPlane>,
    /// By namespace, the oldest first.
    pub(crate) namespaces: BTreeMap<&'static str, Namespace>,
}

/// What was told of a namespace.
pub(crate) struct Namespace {
    pub(crate) requests: Vec<Request>,
    pub(crate) states: Vec<State>,
}

impl Namespace {
    /// The states that may hold where these versions have held everywhere.
    pub(crate) fn states_since(&self, held: impl Fn(&Key) -> usize) -> &[State] {
        let is_past = |state: &State| state.versions.iter().all(|(key, version)| *version <= held(key));
        &self.states[self.states.iter().rposition(is_past).unwrap_or_default()..]
    }
}

/// A state of a namespace.
pub(crate) struct State {
    /// The version of each import.
    pub(crate) versions: BTreeMap<Key, usize>,
    /// What becomes of each request.
    pub(crate) outcomes: Vec<RequestOutcome>,
}

impl Told {
    pub(crate) fn new(options: Options) -> Self {
        let mut told = Self {
            snapshot: Snapshot {
                namespaces: Some(Objects::default()),
                secrets: Some(BTreeMap::new()),
                ..Snapshot::default()
            },
            translator: Translator::new(options),
            steered: History::new(DataPlane::Wasm),
            native: History::new(DataPlane::Native),
            turned: Vec::new(),
            data_planes: BTreeMap::new(),
            namespaces: BTreeMap::new(),
        };
        for namespace in NAMESPACES {
            let requests = requests(namespace);
            let mut new = Namespace { requests, states: Vec::new() };
            new.states.push(Self::state(&told.steered, &told.translator, namespace, &new.requests));
            told.namespaces.insert(namespace, new);
        }
        told
    }

    /// Where requests of other clusters to a namespace come from.
    pub(crate) fn admitted(&self, namespace: &str) -> Admitted {
        self.translator.admitted(&self.snapshot, namespace)
    }

    /// Whether policies let this cluster and another one meet on a tier.
    pub(crate) fn permits(&self, cluster: &str, tier: &str) -> bool {
        self.translator.exports().connection(cluster).is_none_or(|pair| !pair.forbids(tier))
    }

    /// Somebody has written an object.
    pub(crate) fn put(&mut self, kind: InputKind, object: &Value) -> Vec<Key> {
        let changes = match input::read(kind, object) {
            Ok(input) => self.snapshot.put(input),
            Err(unreadable) => panic!("the simulation writes what cannot be read: {}", unreadable.error),
        };
        self.update(&changes)
    }

    /// Somebody has deleted one.
    pub(crate) fn remove(&mut self, kind: InputKind, key: &Key) -> Vec<Key> {
        let changes = self.snapshot.remove(kind, key);
        self.update(&changes)
    }

    /// These clusters are stale.
    pub(crate) fn judge(&mut self, stale: &BTreeSet<String>) -> Vec<Key> {
        if *stale == self.snapshot.stale_clusters {
            return Vec::new();
        }
        let changes = self.snapshot.judge(stale.clone());
        self.update(&changes)
    }

    /// Which Secrets the controller may read.
    pub(crate) fn allow(&mut self, secrets: BTreeMap<Key, bool>) -> Vec<Key> {
        let changes = self.snapshot.allow(secrets);
        self.update(&changes)
    }

    /// The key of steering values is another one.
    pub(crate) fn rotate(&mut self, key: SteeringKey) -> Vec<Key> {
        self.translator.use_steering_key(key);
        self.update(&[Change::Everything])
    }

    /// Takes in changes. Gives the imports that are others by now.
    fn update(&mut self, changes: &[Change]) -> Vec<Key> {
        if changes.is_empty() {
            return Vec::new();
        }
        self.translator.update(&self.snapshot, changes);
        let others = self.add(None);
        self.work_out(None);
        others
    }

    /// Who watches each kind by itself may have seen some of what was told, and not yet what was told before: then that
    /// is what holds for the moment.
    pub(crate) fn seen(&mut self, view: &Translator) -> Vec<Key> {
        let mixed = self.add(Some(view));
        if !mixed.is_empty() {
            self.add(None);
        }
        self.work_out(Some(view));
        mixed
    }

    /// The kind that an import is of.
    pub(crate) fn of(&self, import: &Key) -> &History {
        if self.native.last(import).is_some() { &self.native } else { &self.steered }
    }

    /// Works out what new versions say, and what is left of them by the policies that somebody sees.
    fn work_out(&mut self, view: Option<&Translator>) {
        let exports = view.unwrap_or(&self.translator).exports();
        for history in [&mut self.steered, &mut self.native] {
            history.work_out(&self.namespaces, exports);
        }
    }

    /// Takes in what somebody sees, or what there is. Gives the imports that are others.
    fn add(&mut self, view: Option<&Translator>) -> Vec<Key> {
        let translator = view.unwrap_or(&self.translator);
        let steered = self.steered.add(translator);
        let concerned: BTreeSet<&str> = steered.iter().map(|key| &*key.namespace).collect();
        for (namespace, known) in self.namespaces.iter_mut().filter(|(namespace, _)| concerned.contains(**namespace)) {
            let state = Self::state(&self.steered, translator, namespace, &known.requests);
            known.states.push(state);
        }
        let native = self.native.add(translator);
        let changed = [steered, native].concat();
        for key in &changed {
            let Some(now) = translator.imports().get(&key.namespace, &key.name).map(|import| data_plane(import)) else {
                continue;
            };
            if self.data_planes.insert(key.clone(), now).is_some_and(|before| before != now) {
                self.turned.push(key.clone());
            }
        }
        changed
    }

    fn state(steered: &History, translator: &Translator, namespace: &str, requests: &[Request]) -> State {
        let imports = translator.imports_of(namespace).into_iter().map(|import| &**import);
        let imports: Vec<&Import> = imports.filter(|import| data_plane(import) == DataPlane::Wasm).collect();
        let plugin = filter(&imports);
        let decide = |request| decide(namespace, &plugin.table, request, |_, _, _| Ok(()));
        State { versions: steered.newest(namespace), outcomes: requests.iter().map(decide).collect() }
    }

    /// Whether the host of a request is none of these versions'.
    pub(crate) fn is_nobodys<'k>(
        &self,
        mut versions: impl Iterator<Item = (&'k Key, usize)>,
        request: &Request,
        place: usize,
    ) -> bool {
        versions.all(|(key, version)| {
            let is_asked = self.namespaces[&*key.namespace].requests.get(place) == Some(request);
            let said = self.steered.outcome(key, version, place);
            !is_asked || said.is_none_or(|outcome| *outcome == RequestOutcome::Unknown)
        })
    }
}

/// The filter with these imports.
fn filter(imports: &[&Import]) -> Plugin {
    Plugin::for_module(imports, UnknownHosts::Pass, "", limits::WASM_PLUGIN_CONFIG_BYTES, None)
        .expect("what fits is told")
}

/// Who applies the rules of an import.
pub(crate) fn data_plane(import: &Import) -> DataPlane {
    import.data_plane.unwrap_or(DataPlane::Wasm)
}

/// What becomes of these requests where there is one import alone.
fn said(namespace: &str, import: &Import, requests: &[Request]) -> Vec<RequestOutcome> {
    if data_plane(import) == DataPlane::Native {
        return native::said(import, requests);
    }
    let plugin = filter(&[import]);
    requests.iter().map(|request| decide(namespace, &plugin.table, request, |_, _, _| Ok(()))).collect()
}

/// What a filter of a namespace's gateway does with a request, and the route for a steering value.
pub(crate) fn decide(
    namespace: &str,
    table: &RouteTable,
    request: &Request,
    route: impl Fn(&str, u16, &str) -> Result<(), String>,
) -> RequestOutcome {
    let Ok(decision) = table.decide(request, Levels::ALL_IN, || request.draw);
    match decision {
        Decision::Pass => RequestOutcome::Unknown,
        Decision::Reply(reply) => {
            let import = reply.import.map(|import| view(namespace, &Key::new(import.namespace(), import.name())));
            RequestOutcome::Replied { import, status: reply.status }
        }
        Decision::Route(decided) => {
            let import = view(namespace, &Key::new(decided.import.namespace(), decided.import.name()));
            let host = decided.import.authority().unwrap_or(&request.host);
            match route(host, request.port, decided.target.steering_value()) {
                Ok(()) => RequestOutcome::Reached { import, target: decided.target.name().to_owned() },
                Err(why) => RequestOutcome::Lost { import, why },
            }
        }
    }
}

/// Whether an import has a port, and on each tier somebody serves it who may be called: where policies leave a tier to clusters
/// that do not have the port, the answer is 500.
pub(crate) fn is_served(import: &Import, port: u16) -> bool {
    let is_on = |tier: &Tier| tier.sources.iter().any(|source| source.ports.contains(&port));
    import.ports.contains(&port) && import.tiers.iter().all(is_on)
}

/// Where `Route`s are served by TLS.
pub(crate) const TLS_PORT: u16 = 443;

/// A host by which clients ask for it.
pub(crate) fn host_of(import: &Key) -> String {
    if is_of_hosts(import) {
        return ROUTED_HOST.to_owned();
    }
    let Key { namespace, name } = viewed(import);
    mcwan_policy::canonical_host(&namespace, &name)
}

/// Requests that cover all rules that scripts may tell of.
fn requests(namespace: &str) -> Vec<Request> {
    let own = imports().into_iter().filter(|import| *import.namespace == *namespace);
    let own = own.map(|import| (host_of(&import), if is_of_hosts(&import) { &[80, TLS_PORT][..] } else { &PORTS }));
    let others = HOSTS.map(|host| (host.replace('*', "two"), &PORTS[..]));
    let mut requests = Vec::new();
    for (host, ports) in own.chain(others) {
        for &port in ports {
            for path in PATHS {
                let draws = [0, u64::MAX];
                requests.extend(draws.map(|draw| Request { host: host.clone(), port, path, draw }));
            }
        }
    }
    requests
}

impl mcwan_policy::Request for Request {
    type Error = Infallible;

    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(self.host.as_bytes().into()))
    }

    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(self.path.as_bytes().into()))
    }

    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(b"GET".as_slice().into()))
    }

    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(b"http".as_slice().into()))
    }

    fn port(&self) -> Result<Option<u16>, Infallible> {
        Ok(Some(self.port))
    }

    fn headers(&self) -> Result<&[HeaderLine], Infallible> {
        Ok(&[])
    }
}
