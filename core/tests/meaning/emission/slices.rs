//! The endpoints of a service of several clusters.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{ImportVersions, Places, slice_objects};
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::snapshot::Key;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::translate::Trust;
use serde_json::json;

use super::world::{World, at, import_objects, mk_export, mk_import, of_kind, settings, to_high};

/// The endpoints of `payment.secure`.
fn slices(world: &World) -> Vec<Object> {
    let service = Key::new("secure", "payment");
    slice_objects(&service, &world.translator, &world.gathered.snapshot, &settings(DataPlane::Wasm))
}

/// The Service whose slice it is.
fn service_of(slice: &Object) -> Option<&str> {
    at(&slice.body, "/metadata/labels")["kubernetes.io/service-name"].as_str()
}

/// A slice of Kubernetes' for the Service `payment`, and one for another.
const SLICES: &str = "
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: payment-x7k, namespace: secure, labels: {kubernetes.io/service-name: payment}}
addressType: IPv4
ports: [{name: http, port: 9080, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.7], hostname: db-0, zone: a, nodeName: n1, conditions: {ready: true}, targetRef: {kind: Pod, name: db-0}}
- {addresses: [10.1.0.8], conditions: {ready: false, serving: true, terminating: true}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: bank-x7k, namespace: secure, labels: {kubernetes.io/service-name: bank}}
addressType: IPv4
ports: []
endpoints: [{addresses: [10.1.0.9]}]
";

#[test]
fn dns_knows_the_pods_of_this_cluster_as_far_as_it_exports_them() {
    let fields = "ports: [{port: 8080}]";
    let told = |cluster: &str, is_shown: bool| {
        let world = World::new(&[mk_export(cluster, fields), SLICES.to_owned()]);
        let shown = json!({"type": "Headless"});
        slices(&if is_shown { world.addressed(InputKind::McsServiceImport, &shown) } else { world })
    };
    assert_eq!(told("c1", true), [], "another cluster exports it, and not this one");
    assert_eq!(told("own", false), [], "there is nothing yet that they would belong to");
    let [slice] = &told("own", true)[..] else { panic!("want one") };
    assert_eq!((slice.id.kind, &*slice.id.key.name), (Kind::EndpointSlice, "payment-x7k.own"));
    let body = &slice.body;
    let labels = json!({"app.kubernetes.io/managed-by": "mcwan", "endpointslice.kubernetes.io/managed-by": "mcwan",
        "kubernetes.io/service-name": "clusterset.mcwan", "mc-wan.l7mp.io/import": "payment",
        "multicluster.kubernetes.io/service-name": "payment", "multicluster.kubernetes.io/source-cluster": "own"});
    assert_eq!(at(body, "/metadata/labels"), &labels, "no Service's");
    assert_eq!(at(body, "/metadata/ownerReferences/0/kind"), "ServiceImport");
    assert_eq!(at(body, "/ports"), &json!([{"name": "http", "port": 9080, "protocol": "TCP"}]), "those of the pods");
    let endpoints = json!([
        {"addresses": ["10.1.0.7"], "conditions": {"ready": true}, "hostname": "db-0", "zone": "a"},
        {"addresses": ["10.1.0.8"], "conditions": {"ready": false, "serving": true, "terminating": true}},
    ]);
    assert_eq!(at(body, "/endpoints"), &endpoints);
}

/// Of 5,000 pods with addresses of IPv6 alone, as Kubernetes has them: none is left out, and no slice grows.
#[test]
fn each_slice_of_kubernetes_has_one_of_ours() {
    let of = |number: usize| {
        let endpoints: Vec<_> =
            (0..1_000).map(|pod| json!({"addresses": [format!("fd00::{number}:{pod:x}")]})).collect();
        let labels = json!({"kubernetes.io/service-name": "payment"});
        let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv6",
            "metadata": {"name": format!("payment-{number}"), "namespace": "secure", "labels": labels},
            "ports": [{"name": "tcp-db", "port": 6_543, "protocol": "TCP"}], "endpoints": endpoints});
        format!("{slice}\n")
    };
    let export = mk_export("own", "ports: [{name: tcp-db, port: 5432}]");
    let world = World::new(&[vec![export], (1..=5).map(of).collect()].concat());
    let world = world.addressed(InputKind::McsServiceImport, &json!({"type": "ClusterSetIP"}));
    let objects = slices(&world);
    let sizes = objects.iter().map(|slice| at(&slice.body, "/endpoints").as_array().map_or(0, Vec::len));
    assert_eq!(sizes.collect::<Vec<_>>(), [1_000; 10], "five for DNS, and five for the Service that clients call");
    assert!(objects.iter().all(|slice| slice.body["addressType"] == "IPv6"));
}

/// Ports that are no HTTP lead to this cluster's pods, past the gateway; where rules hold, nowhere, as they could not hold there.
#[test]
fn connections_that_are_no_requests_go_straight_to_pods() {
    let slice = SLICES.replace(
        "ports: [{name: http, port: 9080, protocol: TCP}]",
        "ports: [{name: http, port: 9080, protocol: TCP}, {name: tcp-db, port: 6543, protocol: TCP}]",
    );
    let http = "{name: http, port: 8080}";
    let others = "{name: tcp-db, port: 5432}, {name: dns, port: 53, protocol: UDP}";
    let world = |ports: &str, rest: &str, more: &str| {
        let export = mk_export("own", &format!("ports: [{ports}], {rest}"));
        let world = World::new(&[export, slice.clone(), more.to_owned()]);
        world.addressed(InputKind::McsServiceImport, &json!({"type": "ClusterSetIP"}))
    };
    let service_ports = |world: &World| {
        let objects = import_objects(world.payment(), &settings(DataPlane::Wasm)).0;
        let services = of_kind(&objects, Kind::Service);
        let service = services.iter().find(|(name, _)| *name == "payment-clusterset").map(|(_, body)| body);
        let ports = service.and_then(|body| body["spec"]["ports"].as_array()).into_iter().flatten();
        let told = ports.map(|port| {
            let text = |field: &str| port[field].as_str().unwrap_or_default().to_owned();
            format!("{} {}/{} {}", text("name"), port["port"], text("protocol"), port["targetPort"])
        });
        told.collect::<Vec<_>>()
    };
    let direct = |world: &World| {
        let all = slices(world).into_iter();
        all.filter(|slice| service_of(slice) == Some("payment-clusterset")).collect::<Vec<_>>()
    };

    let both = world(&format!("{http}, {others}"), "", "");
    let ports = ["http-8080 8080/TCP 8080", "tcp-5432 5432/TCP \"mcwan-direct\"", "udp-53 53/UDP \"mcwan-direct\""];
    assert_eq!(service_ports(&both), ports);
    let [Object { id, body }] = &direct(&both)[..] else { panic!("want one") };
    assert_eq!(&*id.key.name, "payment-x7k.direct.own");
    assert_eq!(at(body, "/ports"), &json!([{"name": "tcp-5432", "port": 6543, "protocol": "TCP"}]), "as pods have it");
    assert!(at(body, "/metadata/labels").get("multicluster.kubernetes.io/service-name").is_none(), "istiod reads it");
    assert_eq!(both.payment().ports, [8080], "the gateway has the others");
    let unknown = ImportVersions { client_ports: BTreeSet::new(), ..ImportVersions::of(both.payment()) };
    let client = unknown.objects(&settings(DataPlane::Wasm), &mut Places::new()).client;
    assert_eq!(client, None, "who takes over, and does not know yet what gateways serve, leaves it as it is");

    let alone = world(others, "", "");
    assert_eq!(service_ports(&alone), ports[1..], "no gateway is needed");
    assert_eq!(alone.payment().problems, []);

    let ruled = world(&format!("{http}, {others}"), "", &mk_import("payment", &[to_high("")]));
    assert_eq!(service_ports(&ruled), ports[..1], "rules could not hold there");
    assert_eq!(direct(&ruled), []);

    let headless = world(others, "properties: {type: Headless}", "");
    assert_eq!(direct(&headless), [], "its name leads to the pods by itself");
}

/// Pods of other clusters are reached where these are on the same network, and others learn of this cluster's as long as they
/// are: as both ends of one wire.
#[test]
fn clusters_of_one_network_reach_each_others_pods() {
    let ports = "ports: [{name: tcp-db, port: 5432}], readyPods: 1";
    let on = |network: &str, document: String| {
        document.replace("spec: {tiers:", &format!("spec: {{network: {network}, tiers:"))
    };
    let pods = SLICES.replace("{name: http, port: 9080", "{name: tcp-db, port: 6543");
    let far = |cluster: &str| {
        format!(
            "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ExportedEndpoints\n\
             metadata: {{name: {cluster}.secure.payment.payment-a1b, namespace: mc-wan-registry}}\n\
             spec:\n  cluster: {cluster}\n  namespace: secure\n  name: payment\n  addressType: IPv4\n  \
             ports: [{{name: tcp-db, port: 6543}}]\n  \
             endpoints: [{{address: 10.2.0.7, ready: true, hostname: db-0}}, {{address: 10.9.9.9}},\n    \
             {{address: 127.0.0.1}}, {{address: 169.254.169.254}}]\n"
        )
    };
    let trust = Trust { refused_addresses: ["10.9.9.9".parse().unwrap()].into(), ..Trust::default() };
    let reached_with = |networks: [&str; 2], stale: &[&str], pods: &str, more: &str| {
        let ports = format!("{ports}, {more}");
        let exports = [on(networks[0], mk_export("own", &ports)), on(networks[1], mk_export("c1", &ports))];
        let documents = [exports.as_slice(), &[pods.to_owned(), far("c1"), far("c3")]].concat();
        let world = World::trusting(trust.clone(), &documents);
        let mut world = world.addressed(InputKind::McsServiceImport, &json!({"type": "ClusterSetIP"}));
        let stale = stale.iter().map(|&cluster| cluster.to_owned()).collect();
        let changes = world.gathered.snapshot.judge(stale);
        world.translator.update(&world.gathered.snapshot, &changes);
        slices(&world)
    };
    let reached = |networks, stale: &[&str]| reached_with(networks, stale, &pods, "");
    let names = |objects: &[Object]| objects.iter().map(|object| object.id.key.name.to_string()).collect::<Vec<_>>();

    let near = reached(["lan", "lan"], &[]);
    let own = ["payment-x7k.own", "payment-x7k.direct.own"];
    let registry = "own.secure.payment.payment-x7k";
    let expected = [&[registry], own.as_slice(), &["payment-a1b.c1", "payment-a1b.direct.c1"]].concat();
    assert_eq!(names(&near), expected, "and none of c3, which is no cluster");
    let registered = near[0].body["spec"].clone();
    let endpoints = json!([{"address": "10.1.0.7", "ready": true, "hostname": "db-0", "zone": "a"},
        {"address": "10.1.0.8", "ready": false, "serving": true, "terminating": true}]);
    assert_eq!(registered["endpoints"], endpoints, "neither node nor pod");
    assert_eq!(registered["ports"], json!([{"name": "tcp-db", "port": 6543, "protocol": "TCP"}]));
    let other = &near[3].body;
    assert_eq!(at(other, "/metadata/labels")["multicluster.kubernetes.io/source-cluster"], "c1");
    let endpoints = json!([{"addresses": ["10.2.0.7"], "conditions": {"ready": true}, "hostname": "db-0"}]);
    assert_eq!(at(other, "/endpoints"), &endpoints, "nobody is led to an API server, nor where no slice leads");
    assert_eq!(service_of(&near[4]), Some("payment-clusterset"));

    assert_eq!(names(&reached(["lan", "wan"], &[])), own, "on another network");
    assert_eq!(names(&reached(["lan", "lan"], &["c1"])), expected[..3], "nobody is led to a cluster that is silent");

    let none = reached_with(["lan", "lan"], &["c1"], "", "");
    assert_eq!(names(&none), expected[3..], "but where nobody else has a pod");
    let close = "properties: {trafficDistribution: PreferClose}";
    assert_eq!(names(&reached_with(["lan", "lan"], &[], &pods, close)), expected[..4], "own pods come first");
    let unready = pods.replace("ready: true", "ready: false");
    assert_eq!(names(&reached_with(["lan", "lan"], &[], &unready, close)), expected, "as long as one is ready");
}
