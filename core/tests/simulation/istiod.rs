//! Istiod: each kind by a watch of its own, and what it makes of them for gateways.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::sync::Arc;

use mcwan_core::emit::kubernetes::{names, steering_value_of};
use mcwan_core::emit::object::Kind;
use mcwan_core::emit::plugin::apart;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::Admitted;
use mcwan_core::watched::Watched;
use mcwan_policy::wire::{self, PluginConfig};
use mcwan_policy::{PORT_HEADER, RouteTable};
use serde::Deserialize;
use serde_json::Value;

use crate::api_server::{ApiServer, Stored, import_of};
use crate::native::{PathRule, PathRules};
use crate::script::FIRST_PORT;

/// The kinds that it watches.
pub(crate) const KINDS: [Kind; 7] = [
    Kind::Service,
    Kind::EndpointSlice,
    Kind::ReferenceGrant,
    Kind::Gateway,
    Kind::HttpRoute,
    Kind::AuthorizationPolicy,
    Kind::WasmPlugin,
];

/// What it knows.
#[derive(Default)]
pub(crate) struct Istiod {
    known: BTreeMap<Kind, BTreeMap<Key, Arc<Stored>>>,
    cursors: BTreeMap<Kind, usize>,
    parsed: HashMap<(Key, u64), Arc<Vec<ParsedRule>>>,
    plugins: BTreeMap<Arc<str>, Arc<Plugin>>,
    /// Whether it has said anything of a route.
    pub(crate) has_spoken: bool,
}

/// A rule of a route, whatever it leads to.
#[derive(Debug)]
pub(crate) struct ParsedRule {
    pub(crate) at: Address,
    /// The path that it is for, of a native import.
    pub(crate) prefix: String,
    pub(crate) import: Key,
    pub(crate) backends: Vec<Backend>,
}

/// A Service that a rule leads to.
#[derive(Debug)]
pub(crate) struct Backend {
    namespace: String,
    name: String,
    port: u16,
}

/// What a request must have to take a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) listener: u16,
    /// Nothing: whatever it is.
    pub(crate) host: String,
    pub(crate) value: String,
}

/// What gateways of a namespace are told of routes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Routes {
    pub(crate) listeners: BTreeSet<u16>,
    /// Who may connect; none: whoever likes.
    pub(crate) admitted: Option<Admitted>,
    /// Where each rule leads, or why to nowhere.
    pub(crate) rules: HashMap<Address, Result<Lead, String>>,
    /// The rules of native imports, of listeners that are not there, too.
    pub(crate) paths: PathRules,
}

/// Where a rule leads.
#[derive(Debug, PartialEq)]
pub(crate) struct Lead {
    pub(crate) services: Vec<ServicePort>,
    pub(crate) crosses: Crossings,
}

/// A port of a Service, which Envoy calls a cluster. No two Services that routes lead to have one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ServicePort {
    pub(crate) service: String,
    pub(crate) port: u16,
}

/// What gateways are told of Services.
pub(crate) type ServicePorts = BTreeSet<ServicePort>;

/// Other clusters, and the ports of tiers that requests come to them on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Crossings(u16);

impl Crossings {
    fn bit(cluster: usize, port: u16) -> u16 {
        let tier = port.checked_sub(FIRST_PORT).filter(|tier| *tier < 8);
        tier.map_or(0, |tier| 1 << (cluster * 8 + usize::from(tier)))
    }

    /// Whether a cluster is among them, on a port.
    pub(crate) fn has(self, cluster: usize, port: u16) -> bool {
        self.0 & Self::bit(cluster, port) != 0
    }

    /// All of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What gateways are told of the filter.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) version: u64,
    pub(crate) table: RouteTable,
    pub(crate) imports: Vec<wire::Import>,
}

impl Backend {
    pub(crate) fn service(&self) -> ServicePort {
        ServicePort { service: self.name.clone(), port: self.port }
    }
}

impl Lead {
    /// Fails where Envoy does not have what the rule leads to.
    pub(crate) fn find_in(&self, known: &ServicePorts) -> Result<(), String> {
        let unknown = self.services.iter().find(|service| !known.contains(service));
        unknown.map_or(Ok(()), |ServicePort { service, port }| Err(format!("503: no cluster for {port} of {service}")))
    }
}

impl Address {
    /// The same of a rule for whatever host.
    pub(crate) fn of_any_host(&self) -> Self {
        Self { host: String::new(), ..self.clone() }
    }

    /// Whether a rule is for it.
    pub(crate) fn is_among(&self, rules: &BTreeSet<Self>) -> bool {
        rules.contains(self) || rules.contains(&self.of_any_host())
    }
}

impl Istiod {
    /// Takes in everything that has happened to a kind. Gives the routes that are news.
    pub(crate) fn sync(&mut self, kind: Kind, api: &ApiServer) -> Vec<(Key, Box<str>, i64)> {
        let log = api.log(Watched::Emitted(kind));
        let cursor = self.cursors.entry(kind).or_default();
        let known = self.known.entry(kind).or_default();
        let mut routes = Vec::new();
        for entry in log.get(*cursor..).unwrap_or_default() {
            match &entry.stored {
                Some(stored) => {
                    let is_heard_of = kind == Kind::HttpRoute && is_of_gateway(&stored.body);
                    if is_heard_of && stored.observed.is_none_or(|seen| seen < stored.generation) {
                        routes.push((entry.key.clone(), stored.uid.clone(), stored.generation));
                    }
                    known.insert(entry.key.clone(), Arc::clone(stored));
                }
                None => drop(known.remove(&entry.key)),
            }
            if kind == Kind::WasmPlugin {
                let plugin = entry.stored.as_ref().and_then(|stored| Plugin::of(stored));
                match plugin {
                    Some(plugin) => drop(self.plugins.insert(Arc::clone(&entry.key.namespace), Arc::new(plugin))),
                    None => drop(self.plugins.remove(&entry.key.namespace)),
                }
            }
        }
        *cursor = log.len();
        routes
    }

    /// The filter of a namespace.
    pub(crate) fn plugin(&self, namespace: &str) -> Option<Arc<Plugin>> {
        self.plugins.get(namespace).cloned()
    }

    /// What gateways are told of Services: each of them all.
    pub(crate) fn services(&self) -> ServicePorts {
        let known = self.known.get(&Kind::Service).into_iter().flatten();
        let services = known.flat_map(|(key, service)| {
            let ports = items(&service.body, "/spec/ports").filter_map(|item| item["port"].as_u64()?.try_into().ok());
            ports.map(|port| ServicePort { service: key.name.to_string(), port })
        });
        services.collect()
    }

    /// Whether there is a Gateway.
    pub(crate) fn has_gateway(&self, namespace: &str, name: &str) -> bool {
        self.known.get(&Kind::Gateway).is_some_and(|known| known.contains_key(&Key::new(namespace, name)))
    }

    /// What the pods of a Gateway are told.
    pub(crate) fn routes(&mut self, namespace: &str, gateway: &str) -> Routes {
        let mut routes = Routes::default();
        let id = Key::new(namespace, gateway);
        let Some(live) = self.known.get(&Kind::Gateway).and_then(|known| known.get(&id)) else { return routes };
        routes.listeners.extend(names::listener_ports(&live.body));
        let policy = self.known.get(&Kind::AuthorizationPolicy).and_then(|known| known.get(&id));
        routes.admitted = policy.map(|policy| admitted(&policy.body));
        let own = self.known.get(&Kind::HttpRoute).into_iter().flatten();
        let own: Vec<_> = own
            .filter(|(key, _)| *key.namespace == *namespace)
            .map(|(key, stored)| (key.clone(), Arc::clone(stored)))
            .collect();
        for (key, stored) in own {
            if parent_of(&stored.body) != Some(gateway) {
                continue;
            }
            let id = (key.clone(), stored.version);
            let rules = self.parsed.entry(id).or_insert_with(|| Arc::new(parse(&stored.body)));
            for rule in Arc::clone(rules).iter() {
                let at = rule.at.clone();
                if gateway == names::NATIVE_EGRESS_GATEWAY {
                    let resolve = |backend: &Backend| {
                        let (service, crosses) = self.resolve(namespace, backend)?;
                        Ok(Lead { services: vec![service], crosses })
                    };
                    let rule = PathRule::of(rule, resolve);
                    routes.paths.entry((at.listener, at.host)).or_default().push(rule);
                    continue;
                }
                if at.listener != 0 && !routes.listeners.contains(&at.listener) {
                    continue;
                }
                let mut crosses = Crossings::default();
                let leads = rule.backends.iter().map(|backend| {
                    let (service, more) = self.resolve(namespace, backend)?;
                    crosses = crosses.and(more);
                    Ok(service)
                });
                let services: Result<_, String> = leads.collect();
                routes.rules.insert(at, services.map(|services| Lead { services, crosses }));
            }
        }
        routes
    }

    fn resolve(&self, from: &str, backend: &Backend) -> Result<(ServicePort, Crossings), String> {
        let Backend { namespace, name, port } = backend;
        let key = Key::new(namespace.as_str(), name.as_str());
        let of = |kind| self.known.get(&kind).into_iter().flatten();
        if namespace != from {
            let is_granted = of(Kind::ReferenceGrant).any(|(grant, stored)| {
                *grant.namespace == **namespace
                    && items(&stored.body, "/spec/from").any(|item| item["namespace"] == from)
                    && items(&stored.body, "/spec/to").any(|item| item["name"] == name.as_str())
            });
            if !is_granted {
                return Err(format!("no grant for {key}"));
            }
        }
        let Some(service) = self.known.get(&Kind::Service).and_then(|known| known.get(&key)) else {
            return Err(format!("no Service {key}"));
        };
        if !items(&service.body, "/spec/ports").any(|item| item["port"] == *port) {
            return Err(format!("Service {key} has no port {port}"));
        }
        let slices = of(Kind::EndpointSlice).filter(|(slice, stored)| {
            *slice.namespace == **namespace
                && stored.body["metadata"]["labels"]["kubernetes.io/service-name"] == name.as_str()
                && items(&stored.body, "/endpoints").next().is_some()
        });
        let crosses = slices.map(|(_, stored)| crosses(&stored.body)).reduce(Crossings::and);
        crosses.map(|crosses| (backend.service(), crosses)).ok_or_else(|| format!("Service {key} has no endpoints"))
    }
}

impl Plugin {
    pub(crate) fn of(stored: &Stored) -> Option<Self> {
        let config = stored.body.pointer("/spec/pluginConfig")?;
        let PluginConfig { imports, paths, .. } = PluginConfig::<Vec<wire::Import>>::deserialize(config).ok()?;
        let imports = imports.iter().map(|import| apart(import, &paths).0).collect();
        let table = RouteTable::from_json(config.to_string().as_bytes()).ok()?;
        Some(Self { version: stored.version, table, imports })
    }
}

/// Whom an `AuthorizationPolicy` admits, by the form in which it denies all others.
fn admitted(policy: &Value) -> Admitted {
    let mut admitted = Admitted::default();
    for rule in items(policy, "/spec/rules") {
        let blocks = items(rule, "/from/0/source/notIpBlocks");
        let addresses = blocks.filter_map(|block| block.as_str()?.parse().ok()).collect();
        match rule.pointer("/to/0/operation/ports/0").and_then(Value::as_str).and_then(|port| port.parse().ok()) {
            Some(port) => drop(admitted.fewer.insert(port, addresses)),
            None => admitted.anywhere = addresses,
        }
    }
    admitted
}

/// To which clusters and on which ports the endpoints of a slice lead: each cluster has addresses of its own.
fn crosses(slice: &Value) -> Crossings {
    let ports = || items(slice, "/ports").filter_map(|port| u16::try_from(port["port"].as_u64()?).ok());
    let addresses = items(slice, "/endpoints").flat_map(|endpoint| items(endpoint, "/addresses"));
    let clusters = addresses.filter_map(|address| match address.as_str()?.parse::<Ipv4Addr>().ok()?.octets() {
        [10, cluster @ 1..=2, 0, _] => Some(usize::from(cluster - 1)),
        _ => None,
    });
    let bits = clusters.flat_map(|cluster| ports().map(move |port| Crossings(Crossings::bit(cluster, port))));
    bits.fold(Crossings::default(), Crossings::and)
}

fn items<'v>(body: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    body.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// What a route is below.
fn parent_of(route: &Value) -> Option<&str> {
    route.pointer("/spec/parentRefs/0/name")?.as_str()
}

/// Whether a route has a Gateway as its parent. Istiod says nothing of one that has a `ServiceImport`.
fn is_of_gateway(route: &Value) -> bool {
    route.pointer("/spec/parentRefs/0/kind").is_none_or(|kind| kind == "Gateway")
}

/// The rules of a route. One without a steering value has none: what takes it was steered by nobody.
pub(crate) fn parse(route: &Value) -> Vec<ParsedRule> {
    let section = route.pointer("/spec/parentRefs/0/sectionName").and_then(Value::as_str).unwrap_or_default();
    let of_port = route.pointer("/spec/parentRefs/0/port").and_then(Value::as_u64);
    let listener = section.strip_prefix("http-").and_then(|port| port.parse().ok());
    let listener = listener.or_else(|| u16::try_from(of_port?).ok()).unwrap_or_default();
    let hosts: Vec<_> = items(route, "/spec/hostnames").filter_map(Value::as_str).collect();
    let import = import_of(route).unwrap_or_else(|| Key::new("", ""));
    let mut parsed = Vec::new();
    for rule in items(route, "/spec/rules") {
        let backends = || {
            let refs = items(rule, "/backendRefs").filter(|backend| backend["weight"] != 0);
            let text = |backend: &Value, field| backend[field].as_str().unwrap_or_default().to_owned();
            let backend = |backend: &Value| Backend {
                namespace: text(backend, "namespace"),
                name: text(backend, "name"),
                port: backend["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or_default(),
            };
            refs.map(backend).collect::<Vec<_>>()
        };
        let value = steering_value_of(rule).or_else(|| value_of(rule, PORT_HEADER)).unwrap_or_default();
        let prefix = rule.pointer("/matches/0/path/value").and_then(Value::as_str).unwrap_or_default();
        let any = (hosts.is_empty() && is_of_gateway(route)).then_some("");
        for host in hosts.iter().copied().chain(any) {
            let at = Address { listener, host: host.to_owned(), value: value.to_owned() };
            parsed.push(ParsedRule { at, prefix: prefix.to_owned(), import: import.clone(), backends: backends() });
        }
    }
    parsed
}

fn value_of<'r>(rule: &'r Value, header: &str) -> Option<&'r str> {
    items(rule, "/matches/0/headers").find(|known| known["name"] == header)?["value"].as_str()
}

/// The rules of every route of a namespace that is there, but for native imports, by what requests must have.
pub(crate) fn all_addresses(api: &ApiServer, namespace: &str) -> BTreeSet<Address> {
    let routes = api.list(Watched::Emitted(Kind::HttpRoute)).filter(|(key, _)| *key.namespace == *namespace);
    let routes = routes.filter(|(_, stored)| parent_of(&stored.body) != Some(names::NATIVE_EGRESS_GATEWAY));
    routes.flat_map(|(_, stored)| parse(&stored.body)).map(|rule| rule.at).collect()
}
