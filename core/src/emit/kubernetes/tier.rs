//! Tier services: one service over one tier, in the namespace of all of them.
//!
//! They are headless: clients of the cluster have no business with them, and istiod gives gateways the endpoints of
//! headless Services all the same (`convertResolution`: EDS for a router).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Value, json};

use crate::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use crate::emit::object::{Kind, Object};
use crate::liveness::Liveness;
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::is_from_elsewhere;
use crate::translate::{Clusterset, Import, Source, Tier};

use super::draft::Draft;
use super::service::Service;
use super::{MANAGER, SOURCE_CLUSTER_LABEL, names};

/// References of one `ReferenceGrant` (Gateway API, `ReferenceGrantSpec`).
const GRANT_REFERENCES: usize = 16;

/// backendRefs of one rule (Gateway API, `HTTPRouteRule`).
pub(super) const RULE_BACKENDS: usize = 16;

/// The greatest weight of a backendRef (Gateway API, `BackendRef`).
const MOST_WEIGHT: u32 = 1_000_000;

/// The tier services of the versions of an import, the newest first, with their endpoints, and what admits the routes of
/// its namespace to them, and to those that were `recovered`.
pub(super) fn objects(versions: &[&Import], recovered: &BTreeSet<String>, problems: &mut Vec<Problem>) -> Vec<Object> {
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
    // In an order of their own, so that a grant does not change where routes go another way to the same Services.
    let names: BTreeSet<&String> = services.keys().chain(recovered).collect();
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
        self.sources.iter().any(|source| addresses(self.import, source).next().is_some())
    }

    /// Where others have joined the one cluster that routes of an older version lead straight to, these routes go on to it,
    /// and to it alone: what joined may lack a port.
    fn keep_routes_of(&mut self, older: &Self) {
        let stays = |source: &&Source| older.sources.iter().any(|known| known.cluster == source.cluster);
        let stay: Vec<_> = self.tier.remote().filter(stays).collect();
        if has_one_each(self.tier) && !has_one_each(older.tier) && !stay.is_empty() {
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
    if has_one_each(tier) {
        all.extend(tier.remote().map(|source| (source_service(import, tier, source), vec![source])));
    }
    all
}

/// The clusters behind the tier service that stands for all other ones, where nothing is weighed and every port goes
/// everywhere: those that are live and have ready pods, an address and all ports of the oldest. Where there is none, all.
fn taking_part<'t>(import: &Import, tier: &'t Tier) -> impl Iterator<Item = &'t Source> {
    let ports = tier.remote().next().map(|oldest| &*oldest.ports).unwrap_or_default();
    let is_whole = |source: &Source| {
        let is_ready = is_live(source) && source.ready_pods > 0 && is_reachable(import, source);
        is_ready && ports.iter().all(|port| source.ports.contains(port))
    };
    let any = tier.remote().any(is_whole);
    tier.remote().filter(move |source| !any || is_whole(source))
}

/// The Services that requests for a port are shared between over a tier, by the pods behind them. Clusters without the
/// port take no part; stale ones only where no other has a ready pod and an address, and clusters without these only
/// where none has them. What prefers this cluster goes elsewhere only where this cluster has no ready pod.
pub(super) fn shares(import: &Import, tier: &Tier, port: u16) -> Vec<(Service, u32)> {
    let has_port = |source: &Source| source.ports.contains(&port);
    let ready = |source: &Source| {
        if has_port(source) && is_reachable(import, source) { source.ready_pods.min(MOST_WEIGHT) } else { 0 }
    };
    let live = |source: &Source| if is_live(source) { ready(source) } else { 0 };
    let stays_close = import.is_own(tier) && import.clusterset.as_ref().is_some_and(Clusterset::stays_close);
    let close = |source: &Source| if source.is_own && stays_close { live(source) } else { 0 };
    let known = |source: &Source| u32::from(has_port(source));
    let shares: [&dyn Fn(&Source) -> u32; 4] = [&close, &live, &ready, &known];
    let is_any = |share: &&dyn Fn(&Source) -> u32| tier.sources.iter().any(|source| share(source) > 0);
    let share = shares.into_iter().find(is_any).unwrap_or(&known);
    let mut parts: Vec<(Service, u32)> = Vec::new();
    for source in &tier.sources {
        let service = if source.is_own {
            (tier.import.namespace.to_string(), tier.import.name.to_string(), port)
        } else {
            (TIER_NAMESPACE.to_owned(), source_service(import, tier, source), tier.port)
        };
        match parts.iter_mut().find(|(known, _)| *known == service) {
            Some((_, weight)) => *weight = weight.saturating_add(share(source)).min(MOST_WEIGHT),
            None => parts.push((service, share(source))),
        }
    }
    if let [(_, weight)] = &mut *parts {
        *weight = 1;
    }
    parts
}

fn is_live(source: &Source) -> bool {
    source.liveness == Liveness::Live
}

/// Whether requests can be sent to a cluster.
fn is_reachable(import: &Import, source: &Source) -> bool {
    source.is_own || addresses(import, source).next().is_some()
}

/// Where the egress gateways of an import can send requests to a cluster.
fn addresses(import: &Import, source: &Source) -> impl Iterator<Item = IpAddr> {
    source.gateways.iter().copied().filter(|address| is_usable(*address) && import.families.have(*address))
}

/// Whether each other cluster has a tier service of its own: where there are several, but no more than a route can name.
fn has_one_each(tier: &Tier) -> bool {
    tier.remote().nth(1).is_some() && tier.sources.len() <= RULE_BACKENDS
}

/// The tier service that leads to another cluster.
fn source_service(import: &Import, tier: &Tier, source: &Source) -> String {
    let wire = &import.wire;
    match has_one_each(tier) {
        false => tier.service.clone(),
        true if import.is_own(tier) && !is_from_elsewhere(&import.key) => {
            names::source_service(&wire.namespace, &wire.name, &tier.name, &source.cluster)
        }
        true => names::source_service_of(&tier.service, &source.cluster),
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
    let usable: BTreeSet<IpAddr> = addresses(import, source).collect();
    for (family, is_ipv4) in [("IPv4", true), ("IPv6", false)] {
        let endpoint = |address: &IpAddr| json!({"addresses": [address], "conditions": {"ready": true}});
        let endpoints: Vec<Value> =
            usable.iter().filter(|address| address.is_ipv4() == is_ipv4).map(endpoint).collect();
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
    let from = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": *import.key.namespace});
    let to: Vec<_> = services.iter().map(|name| json!({"group": "", "kind": "Service", "name": name})).collect();
    draft.with_spec(json!({"from": [from], "to": to}))
}

/// Whether an `EndpointSlice` may hold an address (Kubernetes, `ValidateEndpointIP`), and only one host can have it.
pub(super) fn is_usable(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.to_ipv4_mapped().is_some(),
    };
    !(link_local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
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
        let is_reachable = is_reachable(import, source);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_another_hosts() {
        let table = [
            ("10.20.0.7", true, "a pod's"),
            ("2001:db8::7", true, "a pod's of the other family"),
            ("127.0.0.1", false, "loopback"),
            ("::1", false, "loopback of the other family"),
            ("0.0.0.0", false, "unspecified"),
            ("::", false, "unspecified of the other family"),
            ("169.254.1.1", false, "link-local"),
            ("fe80::1", false, "link-local of the other family"),
            ("224.0.0.1", false, "multicast"),
            ("ff02::1", false, "multicast of the other family"),
            ("255.255.255.255", false, "broadcast"),
            ("::ffff:10.20.0.7", false, "one family in the other's clothes"),
        ];
        for (address, expected, message) in table {
            let address = address.parse().unwrap();
            assert_eq!(is_usable(address), expected, "{message}: {address}");
        }
    }
}
