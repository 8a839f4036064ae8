//! What users have told so far, what each of these states says of each request, and which of them hold.

mod withdrawn;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use mcwan_core::emit::plugin::Plugin;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Key, Objects, Snapshot, input, is_of_hosts, view, viewed};
use mcwan_core::translate::{Admitted, Import, Options, SteeringKey, Target, Tier, Translator};
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{RefuseReason, UnknownHosts};
use mcwan_policy::{Decision, HeaderLine, RouteTable, limits, wire};
use serde_json::Value;

use self::withdrawn::Withdrawn;
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
pub(crate) enum Outcome {
    /// The host is nobody's.
    Unknown,
    /// The filter answers it.
    Replied { import: Option<Key>, status: u16 },
    /// It is forwarded as an import's target says.
    Reached { import: Key, target: String },
    /// It is steered, and no route leads on.
    Lost { import: Key, why: String },
}

/// What was told.
pub(crate) struct Told {
    snapshot: Snapshot,
    translator: Translator,
    /// The versions of each import, the oldest first.
    pub(crate) versions: BTreeMap<Key, Vec<Option<Arc<Import>>>>,
    /// What each of them says of each request, as far as it has the host.
    outcomes: BTreeMap<Key, Vec<Vec<Outcome>>>,
    /// What becomes of versions while a later one is waited for and policies take away what they steer to.
    withdrawn: BTreeMap<Key, Vec<Withdrawn>>,
    /// By namespace, the oldest first.
    pub(crate) namespaces: BTreeMap<&'static str, Namespace>,
}

/// What was told of a namespace.
pub(crate) struct Namespace {
    pub(crate) requests: Vec<Request>,
    pub(crate) states: Vec<State>,
}

/// A state of a namespace.
pub(crate) struct State {
    /// The version of each import.
    pub(crate) versions: BTreeMap<Key, usize>,
    /// What becomes of each request.
    pub(crate) outcomes: Vec<Outcome>,
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
            versions: imports().into_iter().map(|key| (key, vec![None])).collect(),
            outcomes: imports().into_iter().map(|key| (key, vec![Vec::new()])).collect(),
            withdrawn: imports().into_iter().map(|key| (key, Vec::new())).collect(),
            namespaces: BTreeMap::new(),
        };
        for namespace in NAMESPACES {
            let requests = requests(namespace);
            let mut new = Namespace { requests, states: Vec::new() };
            new.states.push(Self::state(&told.versions, &told.translator, namespace, &new.requests));
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
        let others = Self::add(&mut self.versions, &mut self.namespaces, &self.translator);
        self.work_out();
        withdrawn::withdraw(&mut self.withdrawn, &self.versions, &self.namespaces, &self.translator);
        others
    }

    /// Who watches each kind by itself may have seen some of what was told, and not yet what was told before: then that
    /// is what holds for the moment.
    pub(crate) fn seen(&mut self, view: &Translator) -> Vec<Key> {
        let mixed = Self::add(&mut self.versions, &mut self.namespaces, view);
        if !mixed.is_empty() {
            Self::add(&mut self.versions, &mut self.namespaces, &self.translator);
            self.work_out();
        }
        withdrawn::withdraw(&mut self.withdrawn, &self.versions, &self.namespaces, view);
        mixed
    }

    /// Works out what new versions say.
    fn work_out(&mut self) {
        for (key, versions) in &self.versions {
            let outcomes = self.outcomes.get_mut(key).expect("it is known");
            let requests = &self.namespaces[&*key.namespace].requests;
            for version in versions.iter().skip(outcomes.len()) {
                outcomes.push(match version {
                    None => Vec::new(),
                    Some(import) => said(&key.namespace, import, requests),
                });
            }
        }
    }

    /// Whether a version of an import that is not before this one says so of a request.
    pub(crate) fn says(&self, import: &Key, since: usize, place: usize, outcome: &Outcome) -> bool {
        let withdrawn = self.withdrawn[import].iter().filter(|withdrawn| withdrawn.of >= since);
        let whole = self.outcomes[import].iter().skip(since);
        whole.chain(withdrawn.map(|withdrawn| &withdrawn.outcomes)).any(|said| said.get(place) == Some(outcome))
    }

    /// Whether a version of an import that is not before this one says so of a request where no other target has a route.
    pub(crate) fn says_in_part(&self, import: &Key, since: usize, request: &Request, target: &str) -> bool {
        let mut since = self.versions[import].iter().skip(since).flatten();
        since.any(|version| {
            let own = version.targets.iter().filter(|own| *own.name != *target);
            let others = own.map(Target::steering_value).collect();
            let left = version.without(&others, RefuseReason::BackendNotFound);
            said(&import.namespace, &left, std::slice::from_ref(request))
                .iter()
                .any(|said| matches!(said, Outcome::Reached { target: reached, .. } if reached == target))
        })
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
            let said = self.outcomes[key].get(version).and_then(|outcomes| outcomes.get(place));
            !is_asked || said.is_none_or(|outcome| *outcome == Outcome::Unknown)
        })
    }

    /// Whether somebody exports the service of a version of an import, and of all since.
    pub(crate) fn is_exported_since(&self, import: &Key, version: usize) -> bool {
        let mut since = self.versions.get(import).into_iter().flatten().skip(version);
        since.all(|version| version.as_ref().is_some_and(|import| import.clusterset.is_some()))
    }

    /// Whether a service was headless at any time, or was not: its Service is then made anew.
    pub(crate) fn was_of_type(&self, import: &Key, is_headless: bool) -> bool {
        let known = self.versions[import].iter().flatten().filter_map(|known| known.clusterset.as_ref());
        known.into_iter().any(|clusterset| clusterset.is_headless() == is_headless)
    }

    /// Takes in what a translation says by now. Gives the imports that are others.
    fn add(
        all: &mut BTreeMap<Key, Vec<Option<Arc<Import>>>>,
        namespaces: &mut BTreeMap<&'static str, Namespace>,
        translator: &Translator,
    ) -> Vec<Key> {
        let mut changed = Vec::new();
        for (key, versions) in &mut *all {
            let now = translator.imports().get(&key.namespace, &key.name);
            let last = versions.last().and_then(Option::as_ref);
            if last != now {
                versions.push(now.cloned());
                changed.push(key.clone());
            }
        }
        let concerned: BTreeSet<&str> = changed.iter().map(|key| &*key.namespace).collect();
        for (namespace, known) in namespaces.iter_mut().filter(|(namespace, _)| concerned.contains(**namespace)) {
            let state = Self::state(all, translator, namespace, &known.requests);
            known.states.push(state);
        }
        changed
    }

    fn state(
        all: &BTreeMap<Key, Vec<Option<Arc<Import>>>>,
        translator: &Translator,
        namespace: &str,
        requests: &[Request],
    ) -> State {
        let imports = translator.imports_of(namespace);
        let imports: Vec<&Import> = imports.into_iter().map(|import| &**import).collect();
        let plugin = filter(&imports);
        let own = all.iter().filter(|(key, _)| *key.namespace == *namespace);
        State {
            versions: own.map(|(key, versions)| (key.clone(), versions.len() - 1)).collect(),
            outcomes: requests
                .iter()
                .map(|request| decide(namespace, &plugin.table, request, |_, _, _| Ok(())))
                .collect(),
        }
    }

    /// Whether so many versions of an import in a row, the last among them, can be served.
    pub(crate) fn is_served_for(&self, import: &Key, count: usize) -> bool {
        let mut last = self.versions.get(import).into_iter().flatten().rev().take(count);
        last.all(|version| version.as_ref().is_some_and(|import| !import.ports.is_empty()))
    }

    /// A version of an import.
    pub(crate) fn version(&self, import: &Key, version: usize) -> Option<&Arc<Import>> {
        self.versions.get(import)?.get(version)?.as_ref()
    }

    /// Which version of an import a filter carries that comes after one that carried `before`: the first that it may be.
    pub(crate) fn carried(&self, key: &Key, wire: Option<&wire::Import>, before: usize) -> Option<usize> {
        let versions = &self.versions[key];
        let is_it = |version: &Option<Arc<Import>>| match (version, wire) {
            (Some(import), Some(wire)) => import.wire == *wire || import.wire.too_large() == *wire,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let later = versions.iter().skip(before).position(is_it).map(|place| place + before);
        let withdrawn = self.withdrawn[key].iter().filter(|withdrawn| withdrawn.of >= before);
        let mut withdrawn = withdrawn.filter(|withdrawn| Some(&withdrawn.import.wire) == wire);
        later.or_else(|| Some(withdrawn.next()?.of)).or_else(|| versions.iter().rposition(is_it))
    }
}

/// The filter with these imports.
fn filter(imports: &[&Import]) -> Plugin {
    Plugin::for_module(imports, UnknownHosts::Pass, "", limits::WASM_PLUGIN_CONFIG_BYTES, None)
        .expect("what fits is told")
}

/// What becomes of these requests where the filter has one import alone.
fn said(namespace: &str, import: &Import, requests: &[Request]) -> Vec<Outcome> {
    let plugin = filter(&[import]);
    requests.iter().map(|request| decide(namespace, &plugin.table, request, |_, _, _| Ok(()))).collect()
}

/// What a filter of a namespace's gateway does with a request, and the route for a steering value.
pub(crate) fn decide(
    namespace: &str,
    table: &RouteTable,
    request: &Request,
    route: impl Fn(&str, u16, &str) -> Result<(), String>,
) -> Outcome {
    let Ok(decision) = table.decide(request, Levels::ALL_IN, || request.draw);
    match decision {
        Decision::Pass => Outcome::Unknown,
        Decision::Reply(reply) => {
            let import = reply.import.map(|import| view(namespace, &Key::new(import.namespace(), import.name())));
            Outcome::Replied { import, status: reply.status }
        }
        Decision::Route(decided) => {
            let import = view(namespace, &Key::new(decided.import.namespace(), decided.import.name()));
            let host = decided.import.authority().unwrap_or(&request.host);
            match route(host, request.port, decided.target.steering_value()) {
                Ok(()) => Outcome::Reached { import, target: decided.target.name().to_owned() },
                Err(why) => Outcome::Lost { import, why },
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
