//! Which tiers this cluster and each of very many others may use, which is pure.

use std::time::Instant;

use mcwan_core::snapshot::Snapshot;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::translate::Translator;
use mcwan_numbers::Number;
use serde_json::{Value, json};

use crate::translating::{milliseconds, mk_translator, put};
use crate::{RUNS, load};

const CLUSTERS: usize = 200;
const POLICIES: usize = 200;
const TIERS: usize = 16;
/// One of so many clusters is a hub.
const HUBS: usize = 20;
/// This cluster, which is one of them.
const OWN: &str = "cluster-0";
/// How often a cluster is labelled anew.
const CHANGES: usize = 100;

/// The numbers of pairs.
pub(crate) fn numbers() -> Vec<Number> {
    let mut snapshot = snapshot();
    let mut translator = mk_translator(OWN);
    translator.update(&snapshot, &[Change::Everything]);
    count(&translator);
    let mut all = Vec::new();
    let mut one = Vec::new();
    for run in 0..RUNS {
        let start = Instant::now();
        translator.update(&snapshot, &[Change::ConnectionPolicies]);
        all.push(milliseconds(start));
        let mut worst = 0.0_f64;
        for change in 1..=CHANGES {
            // A label that it did not have before.
            let newer = cluster(change * 97 % CLUSTERS, run * CHANGES + change);
            let changes = put(&mut snapshot, InputKind::WanCluster, &newer);
            let start = Instant::now();
            translator.update(&snapshot, &changes);
            worst = worst.max(milliseconds(start));
        }
        one.push(worst);
    }
    vec![
        Number::best_of("pairs with 200 clusters by 200 policies, of 16 tiers", &all, "ms", 20.0),
        Number::best_of("the same after one label, the slowest of 100", &one, "ms", 2.0),
    ]
}

/// Most pairs are under one policy, some under several, and in each a tier is left and a tier is not.
fn count(translator: &Translator) {
    let connections: Vec<_> = translator.exports().connections().map(|(_, connection)| connection).collect();
    let ruled = connections.iter().filter(|connection| connection.policy.is_some()).count();
    let in_conflict = connections.iter().filter(|connection| !connection.conflicting.is_empty()).count();
    assert_eq!((ruled, in_conflict), (CLUSTERS - CLUSTERS / HUBS, CLUSTERS / HUBS - 1), "what the policies come to");
    let tiers = connections.iter().map(|connection| (connection.tiers.len(), connection.permitted().count()));
    assert!(tiers.into_iter().all(|tiers| tiers == (TIERS, TIERS / 2) || tiers == (TIERS, 0)), "what is left");
}

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
    let tiers = (0..TIERS).map(|tier| (InputKind::WanPolicy, load::tier(&tier_name(tier), port(tier))));
    let clusters = (0..CLUSTERS).map(|number| (InputKind::WanCluster, cluster(number, 0)));
    let policies = (0..POLICIES).map(|number| (InputKind::ConnectionPolicy, policy(number)));
    for (kind, object) in tiers.chain(clusters).chain(policies) {
        put(&mut snapshot, kind, &object);
    }
    snapshot
}

fn tier_name(number: usize) -> String {
    format!("tier-{number}")
}

fn port(tier: usize) -> usize {
    31_100 + tier
}

/// A cluster; `change` tells one state of its labels from another, in every other of which its role is not its own.
fn cluster(number: usize, change: usize) -> Value {
    let is_hub = number.is_multiple_of(HUBS) == change.is_multiple_of(2);
    let role = if is_hub { "hub" } else { "site" };
    let labels = json!({"role": role, "site": format!("site-{number}"), "change": change.to_string()});
    let tiers: Vec<_> = (0..TIERS).map(|tier| json!({"name": tier_name(tier), "port": port(tier)})).collect();
    json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANCluster",
        "metadata": {"name": format!("cluster-{number}"), "namespace": "mc-wan-registry", "labels": labels},
        "spec": {"tiers": tiers},
    })
}

/// A policy of one cluster and all hubs: two of them are under the policies of both.
fn policy(number: usize) -> Value {
    let tiers: Vec<_> = (0..TIERS / 2).map(tier_name).collect();
    let unchanged = json!({"key": "change", "operator": "NotIn", "values": ["never", "1000", "2000", "3000"]});
    json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ClusterConnectionPolicy",
        "metadata": {"name": format!("policy-{number}"), "namespace": "mc-wan-registry"},
        "spec": {
            "leftClusterSelector": {"matchLabels": {"site": format!("site-{number}")}},
            "rightClusterSelector": {"matchLabels": {"role": "hub"}, "matchExpressions": [unchanged]},
            "tiers": tiers,
        },
    })
}
