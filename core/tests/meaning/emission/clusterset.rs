//! The name and the addresses of a service of several clusters.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{Settings, clusterset_object, native_objects};
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::Key;
use mcwan_core::snapshot::change::{Change, InputKind};
use serde_json::{Value, json};

use super::world::{World, at, import_objects, mk_export, mk_import, mk_plain_export, of_kind, settings, to_high};

fn mk_service(addresses: &[&str]) -> Value {
    json!({"clusterIP": addresses[0], "clusterIPs": addresses})
}

/// The addresses of the Service and of the `ServiceImport`, and the hosts of the import.
fn told(world: &World) -> (Value, Value, Vec<String>) {
    let settings = settings(DataPlane::Wasm);
    let objects = import_objects(world.payment(), &settings).0;
    let service =
        of_kind(&objects, Kind::Service).into_iter().find(|(name, _)| *name == "payment-clusterset").unwrap().1;
    let shown = clusterset_object(world.payment(), &settings).map(|object| object.body).unwrap_or_default();
    (service["spec"]["clusterIP"].clone(), shown["spec"]["ips"].clone(), world.payment().wire.hostnames.clone())
}

#[test]
fn addresses_are_those_of_the_service_or_else_those_that_clients_were_told() {
    let new = || World::new(&[mk_plain_export()]);
    let service = |world: World, addresses: &[&str]| world.addressed(InputKind::ClientService, &mk_service(addresses));
    let shown = |world: World, ips: &[&str]| world.addressed(InputKind::McsServiceImport, &json!({"ips": ips}));
    let none = Value::Null;
    let table = [
        (new(), none.clone(), none.clone(), vec![], "none is known yet: no name without an address"),
        (service(new(), &["10.96.0.9"]), json!("10.96.0.9"), json!(["10.96.0.9"]), vec!["10.96.0.9"], "its own"),
        (shown(new(), &["10.96.0.9"]), json!("10.96.0.9"), json!(["10.96.0.9"]), vec!["10.96.0.9"], "it is made again"),
        (
            service(shown(new(), &["10.96.0.9"]), &["10.96.0.8"]),
            json!("10.96.0.8"),
            json!(["10.96.0.8"]),
            vec!["10.96.0.8"],
            "it has got another",
        ),
        (
            service(new(), &["10.96.0.9", "fd00::9"]),
            json!("10.96.0.9"),
            json!(["10.96.0.9", "fd00::9"]),
            vec!["10.96.0.9", "[fd00::9]"],
            "of two families",
        ),
        (service(new(), &["None"]), none.clone(), none, vec![], "a headless one has none"),
    ];
    for (world, address, ips, hosts, message) in table {
        assert_eq!(told(&world), (address, ips, hosts.into_iter().map(str::to_owned).collect()), "{message}");
    }
}

#[test]
fn a_service_that_is_gone_leaves_its_address_to_the_next() {
    let mut world = World::new(&[mk_plain_export()])
        .addressed(InputKind::ClientService, &mk_service(&["10.96.0.9"]))
        .addressed(InputKind::McsServiceImport, &json!({"ips": ["10.96.0.9"]}));
    let before = told(&world);
    for (kind, name) in [(InputKind::ClientService, "payment-clusterset"), (InputKind::McsServiceImport, "payment")] {
        let changes = world.gathered.snapshot.remove(kind, &Key::new("secure", name));
        assert_eq!(changes, [Change::Addresses(world.payment().key.clone())]);
        world.translator.update(&world.gathered.snapshot, &changes);
        let expected =
            if kind == InputKind::ClientService { before.clone() } else { (Value::Null, Value::Null, vec![]) };
        assert_eq!(told(&world), expected, "{name} is gone");
    }
}

#[test]
fn what_is_shown_is_what_all_clusters_say_of_it() {
    let service = mk_service(&["10.96.0.9"]);
    let shown = |fields: &str, settings: &Settings| {
        let world = World::new(&[mk_export("c1", fields)]).addressed(InputKind::ClientService, &service);
        clusterset_object(world.payment(), settings).map(|object| object.body)
    };
    let all = settings(DataPlane::Wasm);
    let none = Settings { has_mcs_imports: false, ..all.clone() };
    let plain = "ports: [{port: 8080, appProtocol: http}]";
    assert_eq!(shown(plain, &none), None, "the cluster does not have the kind");
    let headless = shown(&format!("{plain}, properties: {{type: Headless}}"), &all).unwrap();
    let spec = json!({"type": "Headless", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 8080, "protocol": "TCP", "appProtocol": "http"}]});
    assert_eq!(headless["spec"], spec, "a headless one has no address");
    let body = shown(plain, &all).unwrap();
    let spec = json!({"type": "ClusterSetIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 8080, "protocol": "TCP", "appProtocol": "http"}], "ips": ["10.96.0.9"], "ipFamilies": ["IPv4"]});
    assert_eq!(body["spec"], spec);
    let odd = "properties: {sessionAffinity: ClientIP, sessionAffinitySeconds: 10, internalTrafficPolicy: Local, \
               trafficDistribution: PreferClose, labels: {team: a, mc-wan.l7mp.io/import: b, istio.io/x: c}, \
               annotations: {note: d, kubectl.kubernetes.io/x: e}}";
    let body = shown(&format!("ports: [{{port: 53, protocol: UDP, name: dns}}, {{port: 80}}], {odd}"), &all).unwrap();
    let spec = json!({"type": "ClusterSetIP", "sessionAffinity": "ClientIP", "internalTrafficPolicy": "Local",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}}, "trafficDistribution": "PreferClose",
        "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "port-80", "port": 80, "protocol": "TCP"}],
        "ips": ["10.96.0.9"], "ipFamilies": ["IPv4"]});
    assert_eq!(body["spec"], spec);
    let labels = json!({"app.kubernetes.io/managed-by": "mcwan", "mc-wan.l7mp.io/import": "payment", "team": "a"});
    assert_eq!(at(&body, "/metadata/labels"), &labels, "none that anybody steers by");
    let annotations = json!({"note": "d", "multicluster.kubernetes.io/derived-service": "payment-clusterset"});
    assert_eq!(at(&body, "/metadata/annotations"), &annotations);
}

#[test]
fn an_http_route_names_no_address() {
    let documents = [mk_plain_export(), mk_import("payment", &[to_high("")])];
    let world = World::new(&documents).addressed(InputKind::ClientService, &mk_service(&["10.96.0.9", "fd00::9"]));
    let (objects, problems) = native_objects(&[world.payment()], |_| true);
    let before = native_objects(&[World::new(&documents).payment()], |_| true);
    assert_eq!(objects, before.0);
    assert_eq!(problems, before.1);
}

#[test]
fn hosts_that_users_name_come_first() {
    let hosts: Vec<_> = (0..64).map(|number| format!("h{number}.example")).collect();
    let import = mk_import("payment", &[to_high("")])
        .replace("spec:\n", &format!("spec:\n  hostnames: [{}]\n", hosts.join(", ")));
    let world =
        World::new(&[mk_plain_export(), import]).addressed(InputKind::ClientService, &mk_service(&["10.96.0.9"]));
    assert_eq!(world.payment().wire.hostnames, hosts, "no room is left, and nothing breaks");
    let [problem] = &world.payment().problems[..] else { panic!("want one: {:?}", world.payment().problems) };
    assert!(problem.message.contains("is no host of it, as it has 64 others"), "{problem:?}");
}
