//! The front end for `HTTPRoute`s and `GRPCRoute`s that have an import as their parent.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_policy::wire::{NoMatch, RefuseStatus};

use super::{Deed, FrontEnd, FrontEnds, FrontRule, grpc_match, http_match};
use crate::api::{
    ExportedPort, GATEWAY_API_GROUP, GROUP, GrpcMatch, MCS_GROUP, ParentRef, Route, RouteKind, RouteRule, limits,
};
use crate::problem::{ObjectRef, Reason};
use crate::snapshot::{Key, RouteRef, Snapshot, is_from_elsewhere, view, viewed};
use crate::translate::{Clusterset, Exports, Origin, backend, merge};

/// What becomes of a parent of a route that is an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The route.
    pub route: RouteRef,
    /// The index of the parent in its list.
    pub parent: usize,
    /// Whether the rules of the route hold for the import, by this parent, and on which of its ports those of a route of
    /// another kind hold instead; else why not, and what to say.
    pub verdict: Result<Vec<u16>, (Reason, String)>,
}

/// On which ports of an import the rules of a route hold.
#[derive(Clone, Default)]
struct Ports {
    is_all: bool,
    some: BTreeSet<u16>,
}

impl Ports {
    fn is_empty(&self) -> bool {
        !self.is_all && self.some.is_empty()
    }

    fn has(&self, port: u16) -> bool {
        self.is_all || self.some.contains(&port)
    }

    fn add(&mut self, others: &Self) {
        self.is_all |= others.is_all;
        self.some.extend(&others.some);
    }
}

/// An HTTP port of an import, and its name.
type NamedPort = (u16, Option<String>);

impl<'s> FrontEnd<'s> {
    /// What is said of an import to clients of another namespace: what routes there say that a grant admits, and where none
    /// of their rules matches, nothing. None where there is no such route, or nothing is imported.
    pub(super) fn of_view(key: &'s Key, snapshot: &'s Snapshot, exports: &Exports, kinds: FrontEnds) -> Option<Self> {
        let (name, namespace) = key.name.split_once('.')?;
        let import = viewed(key);
        let written = snapshot.service_imports.get(namespace, name);
        let is_there = written.is_some() || exports.sources(namespace, name).next().is_some();
        let counts = |route: &Route| {
            let is_near = route.metadata.namespace.as_deref() == Some(&key.namespace);
            is_near && kinds.has(route.kind) && is_granted(route, &import, snapshot)
        };
        let mut routes = snapshot.routes.all_below(&import).filter_map(|route| snapshot.routes.get(route));
        let has_namespaces = snapshot.has_namespace(namespace) && snapshot.has_namespace(&key.namespace);
        if !is_there || !has_namespaces || !routes.any(counts) {
            return None;
        }
        let kept = || snapshot.unreadable_imports.get(namespace, name).map(|unreadable| &*unreadable.hostnames);
        let nothing = Self::without_rules(key, namespace, name);
        let view = Self {
            hostnames: written.map(|written| &*written.spec.hostnames).or_else(kept).unwrap_or_default(),
            rules: Some(Vec::new()),
            is_direct: false,
            no_match: NoMatch::NotFound,
            data_plane: written.and_then(|written| written.spec.data_plane),
            ..nothing
        };
        Some(view.with_routes(&import, true, snapshot, exports, kinds))
    }

    /// What is said of an import by the routes that have it as their parent, too: where its `ServiceImport` has no rules,
    /// theirs hold, on the ports that they are for. They are never merged with others.
    pub(super) fn with_routes(
        mut self,
        key: &Key,
        is_open: bool,
        snapshot: &'s Snapshot,
        exports: &Exports,
        kinds: FrontEnds,
    ) -> Self {
        // Clients of another namespace have the rules of its routes that are granted. Those that are not are told so here.
        let is_view = is_from_elsewhere(self.key);
        let is_of_view = |route: &&Route| {
            let from = route.metadata.namespace.as_deref().unwrap_or_default();
            let is_seen = || snapshot.has_namespace(from) && is_granted(route, key, snapshot);
            if is_view { *from == *self.key.namespace && is_seen() } else { *from == *key.namespace || !is_seen() }
        };
        let below = |kind| {
            let all = if kinds.has(kind) { snapshot.routes.below(key, kind) } else { Vec::new() };
            all.into_iter().filter(is_of_view).collect::<Vec<_>>()
        };
        let routes = [RouteKind::Grpc, RouteKind::Http].map(below);
        if routes.iter().all(Vec::is_empty) {
            return self;
        }
        let named = named_ports(exports, self.namespace, self.name);
        let mut rules = Vec::new();
        let mut claimed = Ports::default();
        let own =
            routes.iter().flatten().filter(|route| route.metadata.namespace.as_deref() == Some(&self.key.namespace));
        let is_unread = |parent: &ParentRef| parent.fault.is_some() && is_import(parent, key, &self.key.namespace);
        let is_unread = is_open && own.flat_map(|route| &route.parents).any(is_unread);
        for routes in routes {
            // A client of a port speaks one protocol: the kinds are not merged.
            let taken = claimed.clone();
            for route in routes {
                let ports = self.attach(route, (key, snapshot, exports), is_open, &named, &taken);
                if ports.is_empty() {
                    continue;
                }
                let object = Arc::new(route.object());
                let list: Vec<_> = ports.some.iter().copied().filter(|_| !ports.is_all).collect();
                let written = |(index, rule)| written(route.kind, rule, index, &object, &list);
                rules.extend(route.rules.iter().enumerate().map(written));
                claimed.add(&ports);
            }
        }
        if is_unread {
            // It is not known what it would take from the others, nor what it leaves to the default tier.
            return Self { rules: Some(Vec::new()), is_direct: false, ..self };
        }
        if claimed.is_empty() {
            return self;
        }
        if let Some(broken) = rules.iter().position(|rule| rule.deed.fault().is_some_and(|fault| fault.is_of_match)) {
            // It is not known what it would take from the others.
            let broken = rules.swap_remove(broken);
            let refused = RefuseStatus::default();
            self.rules = Some(vec![FrontRule { matches: Vec::new(), ports: Vec::new(), refused, ..broken }]);
            return self;
        }
        if is_view {
            self.rules = Some(rules);
            return self;
        }
        if self.rules.is_none() {
            self.no_match = NoMatch::NotFound;
            self.is_direct = !claimed.is_all;
            let others = named.iter().map(|(port, _)| *port).filter(|port| !claimed.has(*port));
            self.default_ports = others.collect();
        }
        self.rules = Some(rules);
        self
    }

    /// On which ports the rules of a route hold, which are none of those that are taken; what becomes of each of its parents
    /// is taken note of.
    fn attach(
        &mut self,
        route: &Route,
        (key, snapshot, exports): (&Key, &Snapshot, &Exports),
        is_open: bool,
        named: &[NamedPort],
        taken: &Ports,
    ) -> Ports {
        let namespace = route.metadata.namespace.as_deref().unwrap_or_default();
        let mut ports = Ports::default();
        for (index, parent) in route.parents.iter().enumerate() {
            if !is_import(parent, key, namespace) {
                continue;
            }
            if parent.is_service() {
                self.services.insert(key.clone());
            }
            let verdict = if !is_nameable(namespace, key) {
                let message = "the names of the import and of its namespace cannot be joined: too long, or a number";
                Err((Reason::UnsupportedValue, message.to_owned()))
            } else if let Some((field, message)) = &parent.fault {
                Err((Reason::UnsupportedValue, format!("its parentRef cannot be read: {field}: {message}")))
            } else if !snapshot.has_namespace(namespace) {
                Err((Reason::NoMatchingParent, format!("namespace {namespace} is not here, or about to go")))
            } else if namespace != &*self.key.namespace {
                let kind = route.kind.info().name;
                let message =
                    format!("no ReferenceGrant of namespace {} admits {kind}s of this one to it", key.namespace);
                Err((Reason::RefNotPermitted, message))
            } else if !is_open {
                Err((Reason::Conflicted, format!("the rules of {} hold", self.object)))
            } else if let Some(why) = unfit(parent, key, (snapshot, exports)) {
                Err((Reason::UnsupportedValue, why))
            } else {
                fitting(parent, named).and_then(|fitting| left(fitting, named, taken))
            };
            let verdict = verdict.map(|(left, lost)| {
                ports.add(&left);
                lost
            });
            self.attachments.push(Attachment { route: RouteRef::of(route), parent: index, verdict });
        }
        ports
    }
}

/// Whether a parent of a route of a namespace is this import.
fn is_import(parent: &ParentRef, import: &Key, from: &str) -> bool {
    parent.import(from) == Some((&*import.namespace, &*import.name))
}

/// Whether the owners of an import let a route of another namespace give rules for it, for clients there.
pub(super) fn is_granted(route: &Route, import: &Key, snapshot: &Snapshot) -> bool {
    let from = route.metadata.namespace.as_deref().unwrap_or_default();
    let to = [("", "Service"), (MCS_GROUP, "ServiceImport"), (GROUP, "ServiceImport")];
    let kind = (GATEWAY_API_GROUP, route.kind.info().name);
    is_nameable(from, import) && backend::is_admitted(kind, from, &to, (&import.namespace, &import.name), snapshot)
}

/// Whether what clients of a namespace see of an import can be the value of a label, and what is made for it has names that
/// nothing else has: those of an import's routes have the numbers of ports behind its own.
fn is_nameable(from: &str, import: &Key) -> bool {
    let is_number = import.namespace.bytes().all(|byte| byte.is_ascii_digit());
    let fits = view(from, import).name.len() <= mcwan_policy::limits::LABEL_BYTES;
    *from == *import.namespace || fits && !is_number
}

/// Why the rules of routes cannot hold for what a parent is, if they cannot: clients of such a Service do not reach a
/// gateway.
fn unfit(parent: &ParentRef, key: &Key, (snapshot, exports): (&Snapshot, &Exports)) -> Option<String> {
    if Clusterset::of(exports, &key.namespace, &key.name).is_some_and(|clusterset| clusterset.is_headless()) {
        return Some(format!("{key} is headless: its name leads clients to pods, and to no gateway"));
    }
    let service = snapshot.services.get(&key.namespace, &key.name).filter(|_| parent.is_service())?;
    let spec = service.spec.as_ref()?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return Some(format!("Service {key} is of type ExternalName"));
    }
    (spec.cluster_ip.as_deref() == Some("None")).then(|| format!("Service {key} is headless"))
}

/// What is left of the ports that a parent is for, and what is not.
fn left(fitting: Ports, named: &[NamedPort], taken: &Ports) -> Result<(Ports, Vec<u16>), (Reason, String)> {
    if taken.is_empty() {
        return Ok((fitting, Vec::new()));
    }
    let all = named.iter().map(|(port, _)| *port).filter(|port| fitting.has(*port));
    let (lost, left): (Vec<_>, Vec<_>) = all.partition(|port| taken.has(*port));
    if left.is_empty() {
        return Err((Reason::Conflicted, "the rules of GRPCRoutes hold on its ports".to_owned()));
    }
    Ok((Ports { is_all: false, some: left.into_iter().collect() }, lost))
}

/// The ports that a parent is for: all, or those that have its number and its name.
fn fitting(parent: &ParentRef, named: &[NamedPort]) -> Result<Ports, (Reason, String)> {
    let ParentRef { section_name, port, .. } = parent;
    if section_name.is_none() && port.is_none() {
        return Ok(Ports { is_all: true, some: BTreeSet::new() });
    }
    let fits = |(number, name): &&NamedPort| {
        port.is_none_or(|port| port == *number) && (section_name.is_none() || section_name == name)
    };
    let some: BTreeSet<_> = named.iter().filter(fits).map(|(number, _)| *number).collect();
    if some.is_empty() {
        let known = named
            .iter()
            .map(|(number, name)| name.as_ref().map_or(number.to_string(), |name| format!("{name} {number}")));
        let known: Vec<_> = known.collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("no HTTP port of the service fits; it has {known}");
        return Err((Reason::NoMatchingParent, message));
    }
    Ok(Ports { is_all: false, some })
}

/// The HTTP ports that a service has in all clusters, with their names: of too many, those that are served, as rules for
/// more would be over the filter's bound and refuse the import.
fn named_ports(exports: &Exports, namespace: &str, name: &str) -> Vec<NamedPort> {
    let merged = merge(exports.declared(namespace, name).collect());
    let ports = merged.map(|merged| merged.ports).unwrap_or_default();
    let served = ports.into_iter().filter(ExportedPort::is_http).take(limits::PORTS);
    served.map(|port| (port.port.get(), port.name)).collect()
}

fn written<'s>(
    kind: RouteKind,
    RouteRule { rule, calls, fault }: &'s RouteRule,
    index: usize,
    object: &Arc<ObjectRef>,
    ports: &[u16],
) -> FrontRule<'s> {
    let origin = Origin {
        name: rule.name.clone(),
        object: Arc::clone(object),
        group: GATEWAY_API_GROUP,
        field: Route::rule_field(index),
    };
    let (matches, refused) = match kind {
        RouteKind::Http => (rule.matches.iter().map(http_match::wire_match).collect(), RefuseStatus::default()),
        // One that says nothing of calls ranks below all others.
        RouteKind::Grpc if calls.is_empty() => {
            (vec![grpc_match::wire_match(&GrpcMatch::default())], RefuseStatus::ServiceUnavailable)
        }
        RouteKind::Grpc => (calls.iter().map(grpc_match::wire_match).collect(), RefuseStatus::ServiceUnavailable),
    };
    FrontRule { origin, host: None, matches, ports: ports.to_vec(), deed: Deed::Asked(rule, fault.as_ref()), refused }
}
