//! What other clusters export, and over which tiers it can be had.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::api::{ExportedService, Protocol, WanCluster, validate};
use crate::gather::Snapshot;
use crate::problem::{ObjectRef, Problem};

/// The exports of all clusters by service, and the tiers of this one.
#[derive(Clone, Debug, Default)]
pub struct Exports {
    tiers: BTreeMap<String, u16>,
    sources: BTreeMap<(String, String), Vec<Source>>,
}

/// One cluster that exports a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The cluster.
    pub cluster: String,
    /// The addresses of its ingress gateways.
    pub gateways: Vec<IpAddr>,
    /// How many pods stand behind the service there.
    pub ready_pods: u32,
    /// The TCP ports of the service there.
    pub ports: Vec<u16>,
    /// The tier of requests that no rule is for.
    pub default_tier: Option<String>,
    /// The tiers whose port there is the one here.
    tiers: Vec<String>,
}

/// One service over one tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The name of its `WANPolicy`.
    pub name: String,
    /// The port that it crosses the WAN on.
    pub port: u16,
    /// The clusters that it can be had from.
    pub sources: Vec<Source>,
}

impl Exports {
    pub(super) fn new(snapshot: &Snapshot, own_cluster: Option<&str>, problems: &mut Vec<Problem>) -> Self {
        let (tiers, conflicts) = validate::tiers(&snapshot.wan_policies);
        problems.extend(conflicts);
        let named = tiers.iter().filter_map(|tier| Some((tier.metadata.name.clone()?, tier.spec.port.get())));
        let tiers: BTreeMap<_, _> = named.collect();
        let mut exports: Vec<&ExportedService> = snapshot.exported_services.iter().collect();
        exports.sort_by_key(|export| (export.spec.exported_at.0, export.metadata.name.clone()));
        let mut sources: BTreeMap<_, Vec<Source>> = BTreeMap::new();
        for export in exports {
            let spec = &export.spec;
            if own_cluster == Some(spec.cluster.as_str()) {
                continue;
            }
            let mut clusters = snapshot.wan_clusters.iter();
            let cluster = clusters.find(|cluster| cluster.metadata.name.as_deref() == Some(&spec.cluster));
            let object = object(export);
            let Some(cluster) = cluster else {
                let message = format!("there is no WANCluster {}, so the export is not used", spec.cluster);
                problems.push(Problem::error(object, "ClusterNotFound", message).at("spec.cluster"));
                continue;
            };
            let source = Source {
                cluster: spec.cluster.clone(),
                gateways: spec.gateways.clone(),
                ready_pods: spec.ready_pods,
                ports: tcp_ports(export),
                default_tier: spec.default_tier.clone(),
                tiers: shared_tiers(cluster, &tiers, problems),
            };
            if source.gateways.is_empty() {
                let message = "no ingress gateway has an address yet, so nothing can be sent there";
                problems.push(Problem::warning(object, "NoAddress", message).at("spec.gateways"));
            }
            sources.entry((spec.namespace.clone(), spec.name.clone())).or_default().push(source);
        }
        Self { tiers, sources }
    }

    /// Namespace and name of every exported service.
    pub fn services(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources.keys().map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }

    /// The clusters that export a service, the oldest export first.
    pub fn sources(&self, namespace: &str, name: &str) -> &[Source] {
        self.sources.get(&(namespace.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The names of the tiers here.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.tiers.keys().map(String::as_str)
    }

    /// A service over a tier; none if this cluster has no such tier or no source has it on the same port.
    pub fn tier(&self, namespace: &str, name: &str, tier: &str) -> Option<Tier> {
        let port = *self.tiers.get(tier)?;
        let sources = self.sources(namespace, name).iter();
        let sources: Vec<_> =
            sources.filter(|source| source.tiers.iter().any(|known| known == tier)).cloned().collect();
        (!sources.is_empty()).then(|| Tier { name: tier.to_owned(), port, sources })
    }
}

fn object(export: &ExportedService) -> ObjectRef {
    let namespace = export.metadata.namespace.clone().unwrap_or_default();
    ObjectRef::namespaced("ExportedService", namespace, export.metadata.name.clone().unwrap_or_default())
}

fn tcp_ports(export: &ExportedService) -> Vec<u16> {
    let tcp = export.spec.ports.iter().filter(|port| port.protocol == Protocol::Tcp);
    tcp.map(|port| port.port.get()).collect()
}

fn shared_tiers(cluster: &WanCluster, own: &BTreeMap<String, u16>, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut shared = Vec::new();
    for tier in &cluster.spec.tiers {
        match own.get(&tier.name) {
            Some(port) if *port == tier.port.get() => shared.push(tier.name.clone()),
            Some(port) => {
                let namespace = cluster.metadata.namespace.clone().unwrap_or_default();
                let name = cluster.metadata.name.clone().unwrap_or_default();
                let object = ObjectRef::namespaced("WANCluster", namespace, name);
                let message = format!("tier {} has port {} there and {port} here: withheld", tier.name, tier.port);
                let problem = Problem::error(object, "TierPortMismatch", message).at("spec.tiers");
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
            None => {}
        }
    }
    shared
}
