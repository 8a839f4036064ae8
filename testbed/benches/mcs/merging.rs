//! What clusters say of services, merged: pure, and the same everywhere.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use mcwan_core::api::McsVersion;
use mcwan_core::snapshot::Gathered;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::input;
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust, merge};
use mcwan_numbers::Number;
use serde_json::{Value, json};

use crate::milliseconds;

const SERVICES: usize = 10_000;
const CLUSTERS: usize = 5;
/// How often everything is merged.
const RUNS: usize = 5;
/// How often one service is changed.
const CHANGES: usize = 100;

pub(crate) fn numbers() -> Result<Vec<Number>> {
    let clusters = (0..CLUSTERS).map(cluster);
    let all = (0..SERVICES).flat_map(|service| (0..CLUSTERS).map(move |cluster| exported(service, cluster, 0)));
    let text: Vec<String> = clusters.chain(all).map(|object| object.to_string()).collect();
    let mut snapshot = Gathered::from_text("bench", &text.join("\n---\n")).snapshot;
    let mut translator = Translator::new(Options {
        cluster: Some("cluster-0".to_owned()),
        steering_key: "a key of sixteen or more".parse().map_err(|error| anyhow!("{error}"))?,
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    });
    translator.update(&snapshot, &[Change::Everything]);
    let mut whole = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let mut merged = 0;
        for service in translator.exports().services() {
            let declared = translator.exports().declared(&service.namespace, &service.name).collect();
            merged += usize::from(black_box(merge(declared)).is_some());
        }
        whole.push(milliseconds(start));
        ensure!(merged == SERVICES, "{merged} services were merged");
    }
    let mut one = Vec::new();
    for change in 1..=CHANGES {
        let object = exported(change * 97 % SERVICES, change % CLUSTERS, change);
        let input = input::read(InputKind::ExportedService, &object).map_err(|unreadable| anyhow!(unreadable.error))?;
        let changes = snapshot.put(input);
        let start = Instant::now();
        translator.update(&snapshot, &changes);
        one.push(milliseconds(start));
    }
    Ok(vec![
        Number::best_of("merge 10,000 services of 5 clusters", &whole, "ms", 300.0),
        Number::worst_of("take in one that is changed, and what is imported of it", &one, "ms", 1.0),
    ])
}

fn cluster(number: usize) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANCluster",
        "metadata": {"name": format!("cluster-{number}"), "namespace": "mc-wan-registry"}, "spec": {}})
}

/// A service as a cluster has it; `change` tells one state of it from another.
fn exported(service: usize, cluster: usize, change: usize) -> Value {
    let (namespace, name) = (format!("team-{}", service % 100), format!("service-{service}"));
    let http = json!({"name": "http", "port": 8_080 + change, "protocol": "TCP"});
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ExportedService",
    "metadata": {"name": format!("cluster-{cluster}.{namespace}.{name}"), "namespace": "mc-wan-registry"},
    "spec": {
        "cluster": format!("cluster-{cluster}"), "namespace": namespace, "name": name,
        "exportedAt": format!("2026-11-20T08:00:0{cluster}Z"),
        "ports": [http, {"name": "tcp-db", "port": 5_432, "protocol": "TCP"}],
        "gateways": ["10.20.0.7"], "readyPods": 3,
    }})
}
