//! The translators of two clusters against each other: what one calls, the other admits.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU16;

use mcwan_core::api::EgressGateway;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Objects, Snapshot, input};
use mcwan_core::translate::{Options, Tier, Translator};
use serde_json::{Value, json};

use super::{PAIR, REGISTRY_NAMESPACE, World};
use crate::replica::options;

/// The egress gateway of the first one.
const CALLER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const WORLDS: u64 = 500;

/// A world in which the first of the pair calls what the second exports, and no two tiers of a cluster have one port.
fn mk_world(seed: u64) -> World {
    let mut world = World::random(seed);
    for cluster in &mut world.clusters {
        for tier in cluster.spec.tiers.iter_mut().filter(|tier| tier.port == NonZeroU16::MAX) {
            let place = ["all", "high", "low", "sec"].iter().position(|name| *name == tier.name).expect("a tier");
            tier.port = NonZeroU16::new(100 + u16::try_from(place).unwrap()).unwrap();
        }
    }
    let gateway = EgressGateway { namespace: "secure".to_owned(), addresses: vec![CALLER], pods: None };
    world.clusters[0].spec.egress_gateways.push(gateway);
    world
}

fn mk(kind: &str, metadata: &Value, spec: &Value) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
}

/// What one of the clusters makes of a world.
fn end(world: &World, place: usize) -> (Translator, Snapshot) {
    let mut snapshot = Snapshot {
        wan_clusters: Objects::from(world.clusters.clone()),
        connection_policies: Objects::from(world.policies.clone()),
        ..Snapshot::default()
    };
    let tiers = world.clusters[place].spec.tiers.iter().map(|tier| {
        let spec = json!({"port": tier.port, "cableDriver": tier.cable_driver});
        (InputKind::WanPolicy, mk("WANPolicy", &json!({"name": tier.name}), &spec))
    });
    let exported = json!({"cluster": PAIR[1], "namespace": "secure", "name": "payment", "readyPods": 1,
        "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080}], "gateways": ["10.20.0.7"]});
    let name = format!("{}.secure.payment", PAIR[1]);
    let exported = mk("ExportedService", &json!({"namespace": REGISTRY_NAMESPACE, "name": name}), &exported);
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
        let mut world = mk_world(seed);
        let (exporter, known) = end(&world, 1);
        let admitted = exporter.admitted(&known, "secure");
        for admits in [None, exporter.cluster(&known, &exporter.callers()).admits] {
            world.clusters[1].spec.admits = admits;
            let (consumer, _) = end(&world, 0);
            let tier = |name: &str| consumer.exports().tier("secure", "payment", name);
            let calls: BTreeSet<u16> = ["all", "high", "low", "sec"]
                .into_iter()
                .filter_map(tier)
                .filter(|tier| Tier::remote(tier).any(|source| source.cluster == PAIR[1]))
                .map(|tier| tier.port)
                .collect();
            for tier in &world.clusters[1].spec.tiers {
                let port = tier.port.get();
                let is_admitted = admitted.fewer.get(&port).unwrap_or(&admitted.anywhere).contains(&CALLER);
                assert!(is_admitted || !calls.contains(&port), "seed {seed}: {} is called, and refused", tier.name);
                called += usize::from(calls.contains(&port));
                refused += usize::from(!is_admitted);
            }
            let known: BTreeSet<_> = world.clusters[1].spec.tiers.iter().map(|tier| tier.port.get()).collect();
            assert!(calls.is_subset(&known), "seed {seed}: what the other does not listen on is called");
        }
    }
    assert!(called > 50 && refused > 50, "both happen: {called} are called, {refused} are refused");
}
