//! Tier services: one service over one tier, in the namespace of all of them.
//!
//! They are headless: clients of the cluster have no business with them, and istiod gives gateways the endpoints of
//! headless Services all the same (`convertResolution`: EDS for a router).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Value, json};

use crate::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use crate::emit::object::{Kind, Object};
use crate::kind;
use crate::liveness::Liveness;
use crate::problem::{ObjectRef, Problem, Reason};
use crate::translate::{Import, MOST_WEIGHT, Source, Tier, is_usable, source_service};

use super::draft::Draft;
use super::recovered::Recovered;
use super::service::Service;
use super::{MANAGER, SOURCE_CLUSTER_LABEL, names};

/// References of one `ReferenceGrant` (Gateway API, `ReferenceGrantSpec`).
const GRANT_REFERENCES: usize = 16;

/// The families of addresses, of which a slice has one (Kubernetes, `EndpointSlice.addressType`).
const FAMILIES: [&str; 2] = [IPV4, "IPv6"];
const IPV4: &str = "IPv4";

/// The tier services of the versions of an import, the newest first, with their endpoints, and what admits the routes of
/// its namespace to them, and to those that were `recovered`.
pub(super) fn objects(versions: &[&Import], recovered: &Recovered, problems: &mut Vec<Problem>) -> Vec<Object> {
    let Some(newest) = versions.first() else { return Vec::new() };
    let mut services: BTreeMap<String, Backing<'_>> = BTreeMap::new();
    for import in versions {
        for tier in &import.tiers {
            for (name, sources) in led_to(import, tier) {
                let older = Backing { import, tier, sources };
                match services.get_mut(&name) {
                    Some(known) if known.is_reachable() || !older.is_reachable() => known.keep_routes_of(&older),
                    _ => drop(services.insert(name, older)),
                }
            }
        }
    }
    for (name, backing) in &mut services {
        let slice = |source: &Source, family| names::endpoint_slice(name, &source.cluster, family);
        backing.keep_to(|source| FAMILIES.iter().any(|family| recovered.slices.contains(&slice(source, family))));
    }
    // In an order of their own, so that a grant does not change where routes go another way to the same Services.
    let names: BTreeSet<&String> = services.keys().chain(&recovered.services).collect();
    let names: Vec<_> = names.into_iter().collect();
    let grants = names.chunks(GRANT_REFERENCES).enumerate().map(|(number, names)| grant(newest, number, names));
    let grants: Vec<_> = grants.collect();
    unusable_addresses(newest, problems);
    services.iter().flat_map(|(name, backing)| backing.objects(name)).chain(grants).collect()
}

/// What is behind a tier service. The newest addresses hold, be there some: requests would go on to those of clusters that
/// withdrew.
struct Backing<'i> {
    import: &'i Import,
    tier: &'i Tier,
    sources: Vec<&'i Source>,
}

impl Backing<'_> {
    fn is_reachable(&self) -> bool {
        self.sources.iter().any(|source| source.addresses(self.import.families).next().is_some())
    }

    /// Routes of an older version that lead straight to one cluster go on to it.
    fn keep_routes_of(&mut self, older: &Self) {
        if !older.tier.has_one_each() {
            self.keep_to(|source| older.sources.iter().any(|known| known.cluster == source.cluster));
        }
    }

    /// Where others have joined the one cluster that older routes lead straight to, these routes go on to it, and to it alone:
    /// what joined may lack a port, or not admit their gateways yet.
    fn keep_to(&mut self, is_known: impl Fn(&Source) -> bool) {
        let stay: Vec<_> = self.tier.remote().filter(|source| is_known(source)).collect();
        if self.tier.has_one_each() && !stay.is_empty() {
            self.sources = stay;
        }
    }

    /// The Service, and its slices.
    fn objects(&self, name: &str) -> Vec<Object> {
        let mut objects = vec![service(self.import, name, self.tier.port)];
        for source in &self.sources {
            slices(self.import, name, self.tier.port, source, &mut objects);
        }
        objects
    }
}

/// The names of the tier services of an import.
pub(super) fn services(import: &Import) -> BTreeSet<String> {
    import.tiers.iter().flat_map(|tier| led_to(import, tier)).map(|(name, _)| name).collect()
}

/// The names of the Services for a tier, each with the clusters that it leads to: one to all other clusters, if there are
/// any, and one to each.
fn led_to<'t>(import: &Import, tier: &'t Tier) -> Vec<(String, Vec<&'t Source>)> {
    let mut all = Vec::new();
    if tier.remote().next().is_some() {
        all.push((tier.service.clone(), taking_part(import, tier).collect()));
    }
    if tier.has_one_each() {
        all.extend(tier.remote().map(|source| (source_service(&import.key, tier, source), vec![source])));
    }
    all
}

/// The clusters behind the tier service that stands for all other ones, where nothing is weighed and every port goes
/// everywhere: those that are live and have ready pods, an address and all ports of the oldest. Where there is none, all.
fn taking_part<'t>(import: &Import, tier: &'t Tier) -> impl Iterator<Item = &'t Source> {
    let ports = tier.remote().next().map(|oldest| &*oldest.ports).unwrap_or_default();
    let is_whole = |source: &Source| {
        let is_ready =
            source.liveness == Liveness::Live && source.ready_pods > 0 && source.is_reachable(import.families);
        is_ready && ports.iter().all(|port| source.ports.contains(port))
    };
    let any = tier.remote().any(is_whole);
    tier.remote().filter(move |source| !any || is_whole(source))
}

/// The Services that requests for a port are shared between over a tier, by the pods behind them; where they are for one
/// cluster, its Service alone. Where that lacks the port, or does not have the service any more, they go to those that do.
pub(super) fn shares(import: &Import, tier: &Tier, cluster: Option<&str>, port: u16) -> Vec<(Service, u32)> {
    let is_meant = |source: &&Source| cluster == Some(&*source.cluster) && source.ports.contains(&port);
    if let Some(source) = tier.sources.iter().find(is_meant) {
        return vec![(service_of(import, tier, source, port), 1)];
    }
    let mut parts: Vec<(Service, u32)> = Vec::new();
    for (source, share) in import.shares(tier, port) {
        let service = service_of(import, tier, source, port);
        match parts.iter_mut().find(|(known, _)| *known == service) {
            Some((_, weight)) => *weight = weight.saturating_add(share).min(MOST_WEIGHT),
            None => parts.push((service, share)),
        }
    }
    if let [(_, weight)] = &mut *parts {
        *weight = 1;
    }
    parts
}

/// The Service that leads to a cluster.
fn service_of(import: &Import, tier: &Tier, source: &Source, port: u16) -> Service {
    if source.is_own {
        (tier.import.namespace.to_string(), tier.import.name.to_string(), port)
    } else {
        (TIER_NAMESPACE.to_owned(), source_service(&import.key, tier, source), tier.port)
    }
}

fn service(import: &Import, name: &str, port: u16) -> Object {
    let draft = Draft::new(Kind::Service, TIER_NAMESPACE, name)
        .of_import(&import.key)
        .annotation("networking.istio.io/exportTo", &import.key.namespace);
    draft.with_spec(json!({
        "type": "ClusterIP",
        "clusterIP": "None",
        "ports": [{"name": "http", "protocol": "TCP", "port": port, "targetPort": port}],
    }))
}

/// A slice for each family of addresses.
fn slices(import: &Import, service: &str, port: u16, source: &Source, objects: &mut Vec<Object>) {
    let usable: BTreeSet<IpAddr> = source.addresses(import.families).collect();
    for family in FAMILIES {
        let is_of_it = |address: &&IpAddr| address.is_ipv4() == (family == IPV4);
        let endpoint = |address: &IpAddr| json!({"addresses": [address], "conditions": {"ready": true}});
        let endpoints: Vec<Value> = usable.iter().filter(is_of_it).map(endpoint).collect();
        if endpoints.is_empty() {
            continue;
        }
        let name = names::endpoint_slice(service, &source.cluster, family);
        let draft = Draft::new(Kind::EndpointSlice, TIER_NAMESPACE, name)
            .of_import(&import.key)
            .label("kubernetes.io/service-name", service)
            .label("endpointslice.kubernetes.io/managed-by", MANAGER)
            .label(SOURCE_CLUSTER_LABEL, &source.cluster);
        objects.push(draft.with(json!({
            "addressType": family,
            "endpoints": endpoints,
            "ports": [{"name": "http", "protocol": "TCP", "port": port}],
        })));
    }
}

fn grant(import: &Import, number: usize, services: &[&String]) -> Object {
    let name = names::grant(&import.key, number);
    let draft = Draft::new(Kind::ReferenceGrant, TIER_NAMESPACE, name).of_import(&import.key);
    let route = kind::HTTP_ROUTE;
    let from = json!({"group": route.group, "kind": route.name, "namespace": *import.key.namespace});
    let to: Vec<_> = services.iter().map(|name| kind::SERVICE.reference(name)).collect();
    draft.with_spec(json!({"from": [from], "to": to}))
}

fn unusable_addresses(import: &Import, problems: &mut Vec<Problem>) {
    let mut sources: Vec<&Source> = Vec::new();
    for source in import.own_tiers().flat_map(Tier::remote) {
        if sources.iter().all(|known| known.cluster != source.cluster) {
            sources.push(source);
        }
    }
    for source in sources {
        let name = names::exported_service(&source.cluster, &import.wire.namespace, &import.wire.name);
        let is_reachable = source.is_reachable(import.families);
        for address in &source.gateways {
            let why = if !is_usable(*address) {
                "no other host is reached by it".to_owned()
            } else if !is_reachable {
                // A gateway with addresses of both families needs but one that fits.
                let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
                format!("the egress gateways of this cluster have no {family} address")
            } else {
                continue;
            };
            let object = ObjectRef::namespaced("ExportedService", REGISTRY_NAMESPACE, name.as_str());
            let message = format!("nothing can be sent to {address}: {why}");
            problems.push(Problem::error(object, Reason::InvalidAddress, message).at("spec.gateways"));
        }
    }
}
