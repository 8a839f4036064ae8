//! Hosts that users' `Route`s of `OpenShift` choose.

mod asks;
mod backends;
mod bounds;
mod hosts;
mod orders;

use mcwan_core::emit::plugin::Plugin;
use mcwan_core::explain::Asked;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Gathered, Key, Objects, Snapshot, input, of_hosts};
use mcwan_core::translate::{Admission, Import, Options, RouteOptions, Translator};
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::UnknownHosts;
use mcwan_policy::{Decision, Reply};
use serde_json::{Value, json};

use super::world::{World, mk_export, options};

/// A route of ours.
fn mk_route(name: &str, spec: Value) -> Value {
    mk_route_of("secure", name, 0, &json!({}), spec)
}

/// The same of a namespace, created at a second, with annotations.
fn mk_route_of(namespace: &str, name: &str, second: u8, annotations: &Value, mut spec: Value) -> Value {
    if spec.get("to").is_none() {
        spec["to"] = json!({"kind": "Service", "name": "shop"});
    }
    json!({"apiVersion": "route.openshift.io/v1", "kind": "Route",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}-{second}"),
            "creationTimestamp": format!("2026-11-20T08:00:{second:02}Z"), "annotations": annotations,
            "labels": {"mc-wan.l7mp.io/router": "mcwan"}},
        "spec": spec})
}

fn mk_service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "secure"},
        "spec": {"ports": [{"name": "web", "port": 80, "targetPort": 8080}, {"name": "admin", "port": 81}]}})
}

fn world(documents: &[Value]) -> World {
    let exports = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], readyPods: 3, defaultTier: high");
    let documents = documents.iter().map(|document| format!("{document}\n"));
    World::new(&[exports].into_iter().chain(documents).collect::<Vec<_>>())
}

/// The same where this holds for all routes.
fn world_with(routes: RouteOptions, documents: &[Value]) -> World {
    let World { gathered, .. } = world(documents);
    let mut translator = Translator::new(Options { routes, ..options() });
    translator.update(&gathered.snapshot, &[Change::Everything]);
    World { gathered, translator }
}

/// One that an API server tells of: a Service has the endpoints that there are.
fn live(objects: &[Value]) -> World {
    let mut world = world(&[]);
    world.gathered.snapshot.namespaces = Some(Objects::default());
    world.translator.update(&world.gathered.snapshot, &[Change::Everything]);
    change(&mut world, &json!({"kind": "Namespace", "metadata": {"name": "secure"}}));
    for object in objects {
        change(&mut world, object);
    }
    world
}

fn change(world: &mut World, object: &Value) {
    let changes = put(&mut world.gathered.snapshot, object);
    world.translator.update(&world.gathered.snapshot, &changes);
}

fn remove(world: &mut World, kind: InputKind, namespace: &str, name: &str) {
    let changes = world.gathered.snapshot.remove(kind, &Key::new(namespace, name));
    world.translator.update(&world.gathered.snapshot, &changes);
}

/// The endpoints of a Service, with a port that is called so.
fn mk_slice(service: &str, port: &str, number: u16, conditions: &Value) -> Value {
    json!({"kind": "EndpointSlice", "metadata": {"name": format!("{service}-1"), "namespace": "secure",
        "labels": {"kubernetes.io/service-name": service}}, "addressType": "IPv4",
        "ports": [{"name": port, "port": number}],
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": conditions}]})
}

fn hosts(world: &World) -> &Import {
    let key = of_hosts("secure");
    world.translator.imports().get(&key.namespace, &key.name).expect("there are routes")
}

fn admission<'w>(world: &'w World, namespace: &str, name: &str) -> &'w Admission {
    let key = of_hosts(namespace);
    let import = world.translator.imports().get(&key.namespace, &key.name).expect("there are routes");
    &import.admissions[&Key::new(namespace, name)]
}

/// Why a route is not admitted.
fn refusal(world: &World, namespace: &str, name: &str) -> Option<String> {
    admission(world, namespace, name).admitted.as_ref().err().map(|(reason, _)| reason.to_string())
}

/// What becomes of a request: the target, with its new path if there is one, or the status.
fn ask(world: &World, host: &str, port: u16, path: &str) -> String {
    let imports = world.translator.imports_of("secure");
    let imports: Vec<&Import> = imports.iter().map(|import| &***import).collect();
    let plugin = Plugin::new(&imports, UnknownHosts::Pass).expect("the filter takes it");
    let asked = Asked::new("GET", "http", host, Some(port), path, &[]);
    let Ok(decision) = plugin.table.decide(&asked, Levels::ALL_IN, || 0);
    match decision {
        Decision::Pass => "pass".to_owned(),
        Decision::Route(route) => {
            let path = route.path.map(|path| format!(" {}", String::from_utf8_lossy(&path))).unwrap_or_default();
            assert_eq!(route.import.authority(), None, "the host is kept");
            format!("{}{path}", route.target.name().split('~').next().unwrap_or_default())
        }
        Decision::Reply(Reply { status, headers, .. }) => {
            let to = headers.iter().find(|(name, _)| name == b"location");
            let to = to.map(|(_, value)| format!(" {}", String::from_utf8_lossy(value))).unwrap_or_default();
            format!("{status}{to}")
        }
    }
}

fn put(snapshot: &mut Snapshot, object: &Value) -> Vec<Change> {
    let kind = match object["kind"].as_str().unwrap() {
        "Route" => InputKind::OpenshiftRoute,
        "Service" => InputKind::Service,
        "EndpointSlice" => InputKind::EndpointSlice,
        "Namespace" => InputKind::Namespace,
        "WANPolicy" => InputKind::WanPolicy,
        "WANCluster" => InputKind::WanCluster,
        _ => InputKind::ExportedService,
    };
    snapshot.put(input::read(kind, object).unwrap_or_else(|unreadable| panic!("{}", unreadable.error)))
}

#[test]
fn the_seeds_two_slips_are_both_named() {
    let seed = "apiVersion: v1\nkind: Route\nmetadata:\n  name: test\n  spec:\n    host: www.example.com\n    to:\n      kind: Service\n      name: s1\n";
    let findings = Gathered::from_text("seed.yaml", seed).findings;
    let hints: Vec<_> = findings.iter().filter_map(|finding| finding.hint.as_deref()).collect();
    assert_eq!(hints, ["write `apiVersion: route.openshift.io/v1` and `kind: Route`", "write it beside `metadata`"]);
}
