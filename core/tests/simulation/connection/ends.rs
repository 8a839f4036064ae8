//! The translators of two clusters against each other: what one calls, the other admits.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU16;

use mcwan_core::api::EgressGateway;
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Objects, Snapshot, input};
use mcwan_core::translate::{Options, Tier, Translator};
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{PAIR, REGISTRY_NAMESPACE, Registry};
use crate::inputs::Input;
use crate::replica::options;

/// The egress gateway of the first one.
const CALLER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const WORLDS: u64 = 500;

/// A registry in which the first of the pair calls what the second exports, and no two tiers of a cluster have one port.
fn mk_registry(seed: u64) -> Registry {
    let mut registry = Registry::random(seed);
    for cluster in &mut registry.clusters {
        for tier in cluster.spec.tiers.iter_mut().filter(|tier| tier.port == NonZeroU16::MAX) {
            let place = ["all", "high", "low", "sec"].iter().position(|name| *name == tier.name).expect("a tier");
            tier.port = NonZeroU16::new(100 + u16::try_from(place).unwrap()).unwrap();
        }
    }
    let gateway = EgressGateway { namespace: "secure".to_owned(), addresses: vec![CALLER], pods: None };
    registry.clusters[0].spec.egress_gateways.push(gateway);
    registry
}

/// What one of the clusters makes of a registry.
fn end(registry: &Registry, place: usize) -> (Translator, Snapshot) {
    let mut snapshot = Snapshot {
        wan_clusters: Objects::from(registry.clusters.clone()),
        connection_policies: Objects::from(registry.policies.clone()),
        ..Snapshot::default()
    };
    let tiers = registry.clusters[place].spec.tiers.iter().map(|tier| {
        let spec = json!({"port": tier.port, "cableDriver": tier.cable_driver});
        (InputKind::WanPolicy, Input::new(Watched::WanPolicy, "", &tier.name, json!({"spec": spec})).body)
    });
    let exported = json!({"cluster": PAIR[1], "namespace": "secure", "name": "payment", "readyPods": 1,
        "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080}], "gateways": ["10.20.0.7"]});
    let name = format!("{}.secure.payment", PAIR[1]);
    let kind = Watched::Emitted(Kind::ExportedService);
    let exported = Input::new(kind, REGISTRY_NAMESPACE, &name, json!({"spec": exported})).body;
    for (kind, object) in tiers.chain([(InputKind::ExportedService, exported)]) {
        snapshot.put(input::read(kind, &object).unwrap());
    }
    let mut translator = Translator::new(Options { cluster: Some(PAIR[place].to_owned()), ..options(0) });
    translator.update(&snapshot, &[Change::Everything]);
    (translator, snapshot)
}

#[test]
fn what_one_end_calls_is_within_what_the_other_admits() {
    let (mut called, mut refused) = (0, 0);
    for seed in 0..WORLDS {
        let mut registry = mk_registry(seed);
        let (exporter, known) = end(&registry, 1);
        let admitted = exporter.admitted(&known, "secure");
        for admits in [None, exporter.cluster(&known, &exporter.callers()).admits] {
            registry.clusters[1].spec.admits = admits;
            let (consumer, _) = end(&registry, 0);
            let tier = |name: &str| consumer.exports().tier("secure", "payment", name);
            let calls: BTreeSet<u16> = ["all", "high", "low", "sec"]
                .into_iter()
                .filter_map(tier)
                .filter(|tier| Tier::remote(tier).any(|source| source.cluster == PAIR[1]))
                .map(|tier| tier.port)
                .collect();
            for tier in &registry.clusters[1].spec.tiers {
                let port = tier.port.get();
                let is_admitted = admitted.fewer.get(&port).unwrap_or(&admitted.anywhere).contains(&CALLER);
                assert!(is_admitted || !calls.contains(&port), "seed {seed}: {} is called, and refused", tier.name);
                called += usize::from(calls.contains(&port));
                refused += usize::from(!is_admitted);
            }
            let known: BTreeSet<_> = registry.clusters[1].spec.tiers.iter().map(|tier| tier.port.get()).collect();
            assert!(calls.is_subset(&known), "seed {seed}: what the other does not listen on is called");
        }
    }
    assert!(called > 50 && refused > 50, "both happen: {called} are called, {refused} are refused");
}
