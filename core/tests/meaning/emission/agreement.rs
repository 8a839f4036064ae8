//! All clusters say the same of a service, in whatever order they hear of it.

use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::kubernetes::clusterset_object;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, Snapshot, input};
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};
use serde_json::{Value, json};

use super::world::settings;
use crate::translator::{mk, mk_cluster_scoped};

const CLUSTERS: [&str; 3] = ["c1", "c2", "c3"];

/// What becomes of an export: it is made, or made and changed, or made and deleted.
type History = Vec<Option<Value>>;

#[test]
fn in_every_order_every_cluster_shows_the_same() {
    let mut shown = 0;
    for times in [["08:00:00", "08:00:01", "08:00:02"], ["08:00:00"; 3]] {
        for changed in 0..3 {
            for deleted in (0..3).filter(|deleted| *deleted != changed) {
                let histories = [0, 1, 2].map(|cluster| history(cluster, times[cluster], changed, deleted));
                let mut first = None;
                interleave(&histories, &mut [0; 3], &mut Vec::new(), &mut |events| {
                    for cluster in CLUSTERS {
                        let spec = spec_in(cluster, events);
                        let expected = first.get_or_insert_with(|| spec.clone());
                        assert_eq!(spec, *expected, "in {cluster} after {events:#?}");
                        shown += 1;
                    }
                });
            }
        }
    }
    assert_eq!(shown, 2 * 6 * 30 * 3, "each of the orders in which one object's changes keep theirs");
}

fn history(cluster: usize, time: &str, changed: usize, deleted: usize) -> History {
    let mut history = vec![Some(export(cluster, time, 8_080))];
    if cluster == changed {
        history.push(Some(export(cluster, time, 9_090)));
    }
    if cluster == deleted {
        history.push(None);
    }
    history
}

/// An export that differs from those of all other clusters in everything.
fn export(cluster: usize, time: &str, port: u16) -> Value {
    let name = CLUSTERS[cluster];
    let (service_type, affinity, policy) = [
        ("ClusterSetIP", "None", "Cluster"),
        ("ClusterSetIP", "ClientIP", "Local"),
        ("Headless", "ClientIP", "Cluster"),
    ][cluster];
    let mut properties = json!({"type": service_type, "sessionAffinity": affinity, "internalTrafficPolicy": policy,
        "labels": {name: "label"}, "annotations": {name: "annotation"}});
    if affinity == "ClientIP" {
        properties["sessionAffinitySeconds"] = json!(10 + cluster);
    }
    let ports = json!([{"name": "http", "port": port, "protocol": "TCP"}, {"name": name, "port": 70 + cluster, "protocol": "TCP"}]);
    let spec = json!({"cluster": name, "namespace": "secure", "name": "payment",
        "exportedAt": format!("2026-11-20T{time}Z"), "ports": ports, "properties": properties,
        "defaultTier": "high", "gateways": ["10.20.0.7"], "readyPods": 1});
    mk("ExportedService", "mc-wan-registry", &format!("{name}.secure.payment"), &spec)
}

/// Visits every order of events in which those of each object keep their own.
fn interleave(
    histories: &[History; 3],
    done: &mut [usize; 3],
    events: &mut Vec<(usize, Option<Value>)>,
    visit: &mut impl FnMut(&[(usize, Option<Value>)]),
) {
    if (0..3).all(|cluster| done[cluster] == histories[cluster].len()) {
        return visit(events);
    }
    for cluster in 0..3 {
        if let Some(event) = histories[cluster].get(done[cluster]) {
            done[cluster] += 1;
            events.push((cluster, event.clone()));
            interleave(histories, done, events, visit);
            events.pop();
            done[cluster] -= 1;
        }
    }
}

/// What a cluster shows, apart from its own addresses.
fn spec_in(cluster: &str, events: &[(usize, Option<Value>)]) -> Value {
    let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
    let mut translator = Translator::new(Options {
        cluster: Some(cluster.to_owned()),
        steering_key: "0123456789abcdef".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    });
    let tiers = json!({"tiers": [{"name": "high", "port": 31_111}]});
    let clusters = CLUSTERS.map(|name| (InputKind::WanCluster, mk("WANCluster", "mc-wan-registry", name, &tiers)));
    let around = [
        (InputKind::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
        (InputKind::WanPolicy, mk_cluster_scoped("WANPolicy", "high", &json!({"port": 31_111}))),
        (InputKind::ClientService, client(cluster)),
    ];
    let put = |snapshot: &mut Snapshot, kind, object: &Value| snapshot.put(input::read(kind, object).unwrap());
    for (kind, object) in clusters.iter().chain(&around) {
        let changes = put(&mut snapshot, *kind, object);
        translator.update(&snapshot, &changes);
    }
    for (source, event) in events {
        let changes = if let Some(export) = event {
            put(&mut snapshot, InputKind::ExportedService, export)
        } else {
            let name = format!("{}.secure.payment", CLUSTERS[*source]);
            snapshot.remove(InputKind::ExportedService, &Key::new("mc-wan-registry", name))
        };
        translator.update(&snapshot, &changes);
    }
    let import = translator.imports().get("secure", "payment").unwrap();
    let mut shown = clusterset_object(import, &settings(DataPlane::Wasm)).unwrap().body;
    for own in ["ips", "ipFamilies"] {
        shown["spec"].as_object_mut().unwrap().remove(own);
    }
    json!([shown["spec"], shown["metadata"]["labels"], shown["metadata"]["annotations"]])
}

/// The Service of a cluster, which has an address of its own.
fn client(cluster: &str) -> Value {
    let mut service =
        mk("Service", "secure", "payment-clusterset", &json!({"clusterIPs": [format!("10.96.0.{}", &cluster[1..])]}));
    service["metadata"]["labels"] =
        json!({"app.kubernetes.io/managed-by": "mcwan", "mc-wan.l7mp.io/import": "payment"});
    service
}
