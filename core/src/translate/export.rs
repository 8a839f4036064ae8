//! What the clusters export, and over which tiers it can be had.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::{ExportedPort, ExportedService, ServiceProperties, WanCluster, validate};
use crate::connection::{Connection, Connections};
use crate::liveness::Liveness;
use crate::problem::{NotPermitted, ObjectRef, Problem, Reason};
use crate::snapshot::change::Change;
use crate::snapshot::{Key, Keyed, Snapshot};

use super::merge::{Declared, Precedence};
use super::pairs::Pairs;
use super::trust::{self, Trust};
use super::{Options, tier_service};

/// The exports of all clusters by service, and the tiers of this one.
#[derive(Clone, Debug, Default)]
pub struct Exports {
    tiers: BTreeMap<String, u16>,
    /// Which of them lead to which cluster.
    pairs: Pairs,
    /// The clusters that take part.
    clusters: BTreeSet<String>,
    /// The oldest first.
    services: Keyed<Vec<Export>>,
    /// This cluster, where it has a name.
    own_cluster: Option<String>,
    /// The other clusters on the network of this one: their pods are reached without a gateway.
    neighbours: BTreeSet<String>,
    /// Since when the registry has each cluster.
    joined: BTreeMap<String, Time>,
    /// The clusters that do not show that they are alive.
    stale: BTreeSet<String>,
    trust: Trust,
    /// The addresses of this cluster's own API servers.
    api_servers: BTreeSet<IpAddr>,
    /// What is wrong with tiers and clusters.
    problems: Vec<Problem>,
}

/// One service of one cluster.
#[derive(Clone, Debug, PartialEq)]
struct Export {
    precedence: Precedence,
    /// The `ExportedService`.
    key: Key,
    source: Source,
    ports: Vec<ExportedPort>,
    properties: ServiceProperties,
    /// What is wrong with it; an export with an error is not used.
    problems: Vec<Problem>,
    /// Whether its cluster takes part.
    is_known: bool,
    /// Whether requests go there.
    is_used: bool,
}

/// One cluster that exports a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The cluster.
    pub cluster: String,
    /// Whether it is this one: then requests go to the Service itself.
    pub is_own: bool,
    /// Whether it shows that it is alive.
    pub liveness: Liveness,
    /// The addresses of its ingress gateways.
    pub gateways: Vec<IpAddr>,
    /// How many pods stand behind the service there.
    pub ready_pods: u32,
    /// The HTTP ports of the service there.
    pub ports: Vec<u16>,
    /// The tier of requests that no rule is for.
    pub default_tier: Option<String>,
}

/// One service over one tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The imported service.
    pub import: Key,
    /// The name of its `WANPolicy`.
    pub name: String,
    /// The name of its tier service.
    pub service: String,
    /// The port that it crosses the WAN on.
    pub port: u16,
    /// The clusters that it can be had from.
    pub sources: Vec<Source>,
}

impl Tier {
    /// The other clusters that it can be had from: whose requests cross the WAN.
    pub fn remote(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !source.is_own)
    }
}

impl Exports {
    /// Knows of no export yet.
    pub(super) fn none(Options { cluster, trust, cable_drivers, .. }: &Options) -> Self {
        let pairs = Pairs::none(cluster.as_deref(), cable_drivers.as_deref());
        Self { own_cluster: cluster.clone(), trust: trust.clone(), pairs, ..Self::default() }
    }

    /// Everything that clusters export.
    pub(super) fn new(snapshot: &Snapshot, options: &Options) -> Self {
        let none = Self::none(options);
        let (tiers, mut problems) = validate::tiers(snapshot.wan_policies.by_age());
        let mut pairs = none.pairs;
        pairs.look(snapshot, &tiers);
        let named = tiers.iter().filter_map(|tier| Some((tier.metadata.name.clone()?, tier.spec.port.get())));
        let tiers: BTreeMap<_, _> = named.collect();
        for cluster in snapshot.wan_clusters.iter() {
            mismatches(cluster, &tiers, &mut problems);
        }
        let clusters = snapshot.wan_clusters.iter().filter_map(|cluster| cluster.metadata.name.clone()).collect();
        let stale = snapshot.stale_clusters.clone();
        let api_servers = trust::api_servers(snapshot);
        let joined = snapshot.wan_clusters.iter().filter_map(|WanCluster { metadata, .. }| {
            Some((metadata.name.clone()?, metadata.creation_timestamp.clone()?))
        });
        let (joined, services) = (joined.collect(), Keyed::default());
        let neighbours = options.cluster.as_deref().map(|own| neighbours(own, snapshot)).unwrap_or_default();
        let mut all =
            Self { tiers, pairs, clusters, services, neighbours, joined, stale, api_servers, problems, ..none };
        snapshot.exported_services.iter().for_each(|export| all.add(export));
        all
    }

    /// Looks again at the exports of one service, and at no other. `export` is the one that changed.
    pub(super) fn update(&mut self, service: &Key, export: &Key, now: Option<&ExportedService>) {
        let exports = self.services.entry(service);
        exports.retain(|known| known.key != *export);
        if exports.is_empty() {
            self.services.remove(service);
        }
        if let Some(now) = now {
            self.add(now);
        }
    }

    /// Takes note of whether a cluster shows that it is alive; gives the services that it exports.
    pub(super) fn judge(&mut self, cluster: &str, liveness: Liveness) -> Vec<Key> {
        match liveness {
            Liveness::Live => drop(self.stale.remove(cluster)),
            Liveness::Stale => drop(self.stale.insert(cluster.to_owned())),
        }
        let is_of = |export: &Export| export.source.cluster == cluster;
        let services = self.exported_by(|known| known == cluster);
        for key in &services {
            let exports = self.services.get_mut(&key.namespace, &key.name).into_iter().flatten();
            exports.filter(|export| is_of(export)).for_each(|export| export.source.liveness = liveness);
        }
        services
    }

    /// Whether the API servers of this cluster have other addresses than were known.
    pub(super) fn misses_api_servers(&self, snapshot: &Snapshot) -> bool {
        self.api_servers != trust::api_servers(snapshot)
    }

    fn add(&mut self, export: &ExportedService) {
        let spec = &export.spec;
        let object = ObjectRef::of(export);
        let mut problems = Vec::new();
        let is_known = self.clusters.contains(&spec.cluster);
        let is_admitted = self.trust.import_namespaces.admits(&spec.namespace);
        let is_own = self.own_cluster.as_ref() == Some(&spec.cluster);
        let is_used = is_known && is_admitted;
        if !is_admitted {
            let message = format!("nothing of other clusters is imported into namespace {}", spec.namespace);
            let hint = "the controller's --import-namespaces and --denied-import-namespaces say where";
            let problem = Problem::warning(object.clone(), Reason::NamespaceNotPermitted, message);
            problems.push(problem.at("spec.namespace").hint(hint));
        }
        if !is_known {
            let message = format!("there is no WANCluster {}, so the export is not used", spec.cluster);
            problems.push(Problem::error(object.clone(), Reason::ClusterNotFound, message).at("spec.cluster"));
        }
        if spec.gateways.is_empty() && is_used {
            let message = "no ingress gateway has an address yet, so nothing can be sent there";
            problems.push(Problem::warning(object.clone(), Reason::NoAddress, message).at("spec.gateways"));
        }
        problems.extend(spec.gateways.iter().filter(|address| self.refuses(address)).map(|address| {
            let message = format!("nothing is sent to {address}: it is an API server's");
            Problem::error(object.clone(), Reason::InvalidAddress, message).at("spec.gateways")
        }));
        if is_own {
            // Its own ServiceExport tells what is wrong.
            problems.clear();
        }
        let source = Source {
            cluster: spec.cluster.clone(),
            is_own,
            liveness: if self.stale.contains(&spec.cluster) { Liveness::Stale } else { Liveness::Live },
            gateways: spec.gateways.iter().filter(|address| !self.refuses(address)).copied().collect(),
            ready_pods: spec.ready_pods,
            ports: http_ports(export),
            default_tier: spec.default_tier.clone(),
        };
        let precedence = self.precedence(&spec.cluster, &spec.exported_at);
        let (ports, properties) = (spec.ports.clone(), spec.properties.clone());
        let exports = self.services.entry(&Key::new(spec.namespace.as_str(), spec.name.as_str()));
        let key = Key::of(&export.metadata);
        // Room for no more: most services are exported by one cluster.
        exports.reserve_exact(1);
        exports.push(Export { precedence, key, source, ports, properties, problems, is_known, is_used });
        exports.sort_by(|left, right| left.precedence.cmp(&right.precedence));
    }

    /// How old an export of a cluster is: none is older than the registry's knowledge of the cluster.
    pub(super) fn precedence(&self, cluster: &str, exported_at: &Time) -> Precedence {
        let since = self.joined.get(cluster).map_or(exported_at, |joined| joined.max(exported_at));
        Precedence { since: since.clone(), exported_at: exported_at.clone(), cluster: cluster.to_owned() }
    }

    /// What is wrong with tiers and clusters.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What is wrong with tiers, clusters, policies and exports.
    pub fn all_problems(&self) -> impl Iterator<Item = &Problem> {
        let exports = self.services.values().flatten();
        self.problems.iter().chain(self.pairs.problems()).chain(exports.flat_map(|export| &export.problems))
    }

    /// What is wrong with the exports of a service.
    pub fn problems_of(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Problem> {
        self.all(namespace, name).iter().flat_map(|export| &export.problems)
    }

    /// Every service that is exported.
    pub fn services(&self) -> impl Iterator<Item = Key> {
        self.services.iter().filter(|(_, exports)| exports.iter().any(|export| export.is_used)).map(|(key, _)| key)
    }

    /// Those of a namespace.
    pub(super) fn services_of(&self, namespace: &str) -> impl Iterator<Item = Key> {
        let all = self.services.named_in(namespace);
        all.filter(|(_, exports)| exports.iter().any(|export| export.is_used)).map(|(key, _)| key)
    }

    /// The clusters that export a service, the oldest export first.
    pub fn sources(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Source> {
        self.all(namespace, name).iter().filter(|export| export.is_used).map(|export| &export.source)
    }

    /// What clusters say of a service, this one among them: as the registry has it.
    pub fn declared(&self, namespace: &str, name: &str) -> impl Iterator<Item = Declared<'_>> {
        self.all(namespace, name).iter().filter(|export| export.is_known).map(|export| Declared {
            precedence: &export.precedence,
            ports: &export.ports,
            properties: &export.properties,
        })
    }

    /// Whether nothing of other clusters may lead to an address: it is an API server's.
    pub fn refuses(&self, address: &IpAddr) -> bool {
        self.trust.refused_addresses.contains(address) || self.api_servers.contains(address)
    }

    /// Whether the pods of a cluster are reached without a gateway.
    pub fn is_near(&self, cluster: &str) -> bool {
        self.is_own(cluster) || self.neighbours.contains(cluster)
    }

    /// Whether other clusters reach the pods of this one without a gateway.
    pub fn has_neighbours(&self) -> bool {
        !self.neighbours.is_empty()
    }

    /// Whether a cluster is this one.
    pub fn is_own(&self, cluster: &str) -> bool {
        self.own_cluster.as_deref() == Some(cluster)
    }

    /// The names of the tiers here.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.tiers.keys().map(String::as_str)
    }

    /// The tiers here with their ports.
    pub fn tier_ports(&self) -> impl Iterator<Item = (&str, u16)> {
        self.tiers.iter().map(|(name, port)| (name.as_str(), *port))
    }

    /// A service over a tier; none if this cluster has no such tier, or may call no source over it. This cluster's own pods need
    /// none.
    pub fn tier(&self, namespace: &str, name: &str, tier: &str) -> Option<Tier> {
        let port = *self.tiers.get(tier)?;
        let has_tier = |source: &&Source| source.is_own || self.pairs.may_call(&source.cluster, tier);
        let sources: Vec<_> = self.sources(namespace, name).filter(has_tier).cloned().collect();
        let service = || tier_service::name(self, namespace, name, tier);
        let import = || Key::new(namespace, name);
        (!sources.is_empty()).then(|| Tier {
            import: import(),
            name: tier.to_owned(),
            service: service(),
            port,
            sources,
        })
    }

    /// Why policies, drivers or gateways there keep requests to the clusters that export a service from a tier, if they do.
    pub(super) fn why_not(&self, namespace: &str, name: &str, tier: &str) -> Vec<NotPermitted> {
        let sources = self.sources(namespace, name).filter(|source| !source.is_own);
        sources.filter_map(|source| self.pairs.why_not(&source.cluster, tier)).collect()
    }

    /// Whether nobody who exports a service may be called over a tier, as policies, drivers or gateways there do not permit it.
    pub(super) fn forbids(&self, namespace: &str, name: &str, tier: &str) -> bool {
        self.tier(namespace, name, tier).is_none() && !self.why_not(namespace, name, tier).is_empty()
    }

    /// What holds between this cluster and another; none where there is no such pair.
    pub fn connection(&self, cluster: &str) -> Option<&Connection> {
        self.pairs.connection(cluster)
    }

    /// What holds between this cluster and each other one, by name.
    pub fn connections(&self) -> impl Iterator<Item = (&str, &Connection)> {
        self.pairs.connections()
    }

    /// What holds between any two clusters, as far as is known here; one without a name stands for this cluster.
    pub fn everywhere(&self) -> &Connections {
        self.pairs.everywhere()
    }

    /// Looks again at which tiers lead where. Gives the services of the clusters for which that is otherwise by now, if it is
    /// for any.
    pub(super) fn connect(&mut self, snapshot: &Snapshot, change: &Change) -> Option<Vec<Key>> {
        let clusters = match change {
            Change::Cluster(cluster) => self.pairs.look_at(cluster, snapshot),
            Change::ConnectionPolicies => self.pairs.use_policies(snapshot),
            _ => self.pairs.connect(snapshot),
        };
        (!clusters.is_empty()).then(|| self.exported_by(|cluster| clusters.contains(cluster)))
    }

    /// The services that such clusters export.
    fn exported_by(&self, is_one: impl Fn(&str) -> bool) -> Vec<Key> {
        let is_of = |export: &Export| is_one(&export.source.cluster);
        let services = self.services.iter().filter(|(_, exports)| exports.iter().any(is_of));
        services.map(|(key, _)| key).collect()
    }

    /// The tier of a service that is taken where nobody says which: that of the oldest export that names one.
    pub(super) fn default_tier(&self, namespace: &str, name: &str) -> Option<&str> {
        self.sources(namespace, name).find_map(|source| source.default_tier.as_deref())
    }

    /// Whether nothing of a service crosses the WAN: this cluster alone exports it.
    pub(super) fn is_own_alone(&self, namespace: &str, name: &str) -> bool {
        self.sources(namespace, name).all(|source| source.is_own)
    }

    /// When a service was first exported.
    pub(super) fn first_exported(&self, namespace: &str, name: &str) -> Option<&Precedence> {
        self.all(namespace, name).iter().find(|export| export.is_used).map(|export| &export.precedence)
    }

    fn all(&self, namespace: &str, name: &str) -> &[Export] {
        self.services.get(namespace, name).map_or(&[], Vec::as_slice)
    }
}

fn http_ports(export: &ExportedService) -> Vec<u16> {
    export.spec.ports.iter().filter(|port| port.is_http()).map(|port| port.port.get()).collect()
}

/// The other clusters on the network of this one, as the registry has it.
fn neighbours(own: &str, snapshot: &Snapshot) -> BTreeSet<String> {
    let named = snapshot.wan_clusters.iter().filter_map(|cluster| Some((cluster.metadata.name.as_deref()?, cluster)));
    let networks = named.map(|(name, cluster)| (name, cluster.spec.network.as_deref().unwrap_or(name)));
    let networks: BTreeMap<_, _> = networks.collect();
    let here = networks.get(own).copied().unwrap_or(own);
    let near = networks.into_iter().filter(|(name, network)| *name != own && *network == here);
    near.map(|(name, _)| name.to_owned()).collect()
}

/// Tells of tiers that another cluster has on another port.
fn mismatches(cluster: &WanCluster, own: &BTreeMap<String, u16>, problems: &mut Vec<Problem>) {
    for tier in &cluster.spec.tiers {
        if let Some(port) = own.get(&tier.name).filter(|port| **port != tier.port.get()) {
            let message = format!("tier {} has port {} there and {port} here: withheld", tier.name, tier.port);
            let problem = Problem::error(ObjectRef::of(cluster), Reason::TierPortMismatch, message);
            problems.push(problem.at("spec.tiers"));
        }
    }
}
