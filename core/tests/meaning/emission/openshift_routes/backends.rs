//! Where the requests of routes go.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::of_hosts;
use mcwan_core::translate::Admission;
use serde_json::{Value, json};

use super::super::world::{World, import_objects, of_kind, settings};
use super::orders::agrees;
use super::{admission, ask, change, hosts, live, mk_route, mk_route_of, mk_service, mk_slice, refusal, remove, world};

#[test]
fn a_backend_is_a_tier_an_import_or_a_service() {
    let to = |name: &str, more: Value| {
        let mut spec = json!({"host": "www.example.com", "to": {"kind": "Service", "name": name}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let table = [
        (to("payment-secure-high", json!({})), "import.payment:8080.high", "a tier service"),
        (to("payment-clusterset", json!({})), "import.payment:8080.high", "an import, over its default tier"),
        (to("shop", json!({})), "service.shop:80", "a Service: its first port"),
        (to("shop", json!({"port": {"targetPort": "admin"}})), "service.shop:81", "a port by its name"),
        (to("shop", json!({"port": {"targetPort": 8080}})), "service.shop:80", "by the pods' number"),
        (to("shop", json!({"port": {"targetPort": 80}})), "503", "the Service's number is none of the pods'"),
        (to("nobody", json!({})), "503", "nobody"),
        (
            to("nobody", json!({"alternateBackends": [{"kind": "Service", "name": "shop", "weight": 1}]})),
            "service.shop:80",
            "who is not there leaves the split",
        ),
        (
            to("shop", json!({"alternateBackends": [{"kind": "Service", "name": "shop", "weight": 0}]})),
            "503",
            "named again, the later weight holds",
        ),
    ];
    for (spec, expected, message) in table {
        let world = world(&[mk_route("www", spec), mk_service("shop")]);
        assert_eq!(ask(&world, "www.example.com", 80, "/"), expected, "{message}");
        assert_eq!(refusal(&world, "secure", "www"), None, "{message}");
    }
}

#[test]
fn an_annotation_names_the_tier() {
    let spec = json!({"host": "a.b", "to": {"kind": "Service", "name": "payment-clusterset"}});
    let on = |tier: &str| mk_route_of("secure", "www", 0, &json!({"mc-wan.l7mp.io/wan-policy": tier}), spec.clone());
    assert_eq!(ask(&world(&[on("high")]), "a.b", 80, "/"), "import.payment:8080.high");
    let lost = world(&[on("low")]);
    assert_eq!(ask(&lost, "a.b", 80, "/"), "503", "never another tier");
    assert_eq!(admission(&lost, "secure", "www").unresolved.as_ref().unwrap().0.to_string(), "BackendNotFound");
}

#[test]
fn routes_to_one_destination_share_one_target() {
    let on =
        |number: u8, path: &str| mk_route(&format!("r{number}"), json!({"host": format!("h{number}.b"), "path": path}));
    let all: Vec<_> = (0..40).map(|number| on(number, "/a")).chain([mk_service("shop")]).collect();
    let mut world = world(&all);
    assert_eq!(hosts(&world).targets.len(), 1);
    let routes = |world: &World| -> Vec<Value> {
        let (objects, _) = import_objects(hosts(world), &settings(DataPlane::Wasm));
        of_kind(&objects, Kind::HttpRoute).into_iter().map(|(_, body)| body.clone()).collect()
    };
    let before = routes(&world);
    assert_eq!(before.len(), 1);
    assert!(before[0]["spec"].get("hostnames").is_none(), "hosts are kept, and no route names them");
    let wire = hosts(&world).wire.clone();
    change(&mut world, &on(7, "/b"));
    assert_eq!(routes(&world), before, "a path is the filter's");
    assert_ne!(hosts(&world).wire, wire);
    for number in 0..39 {
        remove(&mut world, InputKind::OpenshiftRoute, "secure", &format!("r{number}"));
    }
    assert_eq!(routes(&world), before, "it stays until the last goes");
    remove(&mut world, InputKind::OpenshiftRoute, "secure", "r39");
    assert!(world.translator.imports().iter().all(|(key, _)| key != of_hosts("secure")));
}

#[test]
fn a_backend_that_says_nothing_has_weight_100() {
    let other = json!({"kind": "Service", "name": "other", "weight": 7});
    let to = json!({"kind": "Service", "name": "shop"});
    let world = world(&[
        mk_route("www", json!({"host": "a.b", "to": to, "alternateBackends": [other]})),
        mk_service("shop"),
        mk_service("other"),
    ]);
    let weights: Vec<_> = hosts(&world).wire.rules[0].actions.iter().map(mcwan_policy::wire::Action::weight).collect();
    assert_eq!(weights, [100, 7]);
}

#[test]
fn who_has_no_ready_endpoint_leaves_the_split() {
    let named = || {
        json!({"kind": "Service", "metadata": {"name": "shop", "namespace": "secure"},
            "spec": {"ports": [{"name": "web", "port": 80, "targetPort": "http"}]}})
    };
    let to = |port: Value| json!({"host": "a.b", "port": {"targetPort": port}});
    let ready = || mk_slice("shop", "web", 8080, &json!({}));
    let (none, web) = ("503", "service.shop:80");
    let table = [
        (to(json!("web")), vec![mk_service("shop"), ready()], web, None, "by name"),
        (to(json!(8080)), vec![mk_service("shop"), ready()], web, None, "by number"),
        (to(json!("admin")), vec![mk_service("shop"), ready()], none, None, "nobody has the port"),
        (to(json!("web")), vec![mk_service("shop")], none, None, "nobody is there"),
        (
            to(json!("web")),
            vec![mk_service("shop"), mk_slice("shop", "web", 8080, &json!({"ready": false}))],
            none,
            None,
            "nor ready",
        ),
        (to(json!("nix")), vec![mk_service("shop"), ready()], none, Some("BackendNotFound"), "no such port"),
        (to(json!(8080)), vec![named(), ready()], web, None, "by the number that the pods say"),
        (to(json!(8080)), vec![named()], none, None, "which none says yet"),
        (to(json!(9090)), vec![named(), ready()], none, Some("BackendNotFound"), "and none has"),
        (to(json!("web")), vec![], none, Some("BackendNotFound"), "before the Service is there"),
    ];
    for (spec, objects, expected, unresolved, message) in table {
        let world = live(&[vec![mk_route("www", spec)], objects].concat());
        assert_eq!(ask(&world, "a.b", 80, "/"), expected, "{message}");
        let Admission { admitted, unresolved: why, .. } = admission(&world, "secure", "www");
        assert_eq!(why.as_ref().map(|(reason, _)| reason.to_string()).as_deref(), unresolved, "{message}");
        let told = admitted.as_ref().expect(message);
        assert_eq!(told.contains("the answer is 503"), expected == none, "{message}: {told}");
    }
}

#[test]
fn a_service_that_comes_later_is_found_whatever_its_name() {
    for name in ["shop", "shop-clusterset", "shop-secure-high"] {
        let mut world = live(&[mk_route("www", json!({"host": "a.b", "to": {"kind": "Service", "name": name}}))]);
        assert_eq!(ask(&world, "a.b", 80, "/"), "503", "{name}");
        change(&mut world, &mk_slice(name, "web", 8080, &json!({})));
        change(&mut world, &mk_service(name));
        assert_eq!(ask(&world, "a.b", 80, "/"), format!("service.{name}:80"));
        agrees(&world.translator, &world.gathered.snapshot);
        remove(&mut world, InputKind::Service, "secure", name);
        assert_eq!(ask(&world, "a.b", 80, "/"), "503", "{name} is gone");
    }
}

fn mk_exported(name: &str, gateways: &[&str], pods: u32) -> Value {
    json!({"kind": "ExportedService", "metadata": {"name": format!("c1.secure.{name}"), "namespace": "mc-wan-registry"},
        "spec": {"cluster": "c1", "namespace": "secure", "name": name, "exportedAt": "2026-11-20T08:00:00Z",
            "ports": [{"port": 8080}], "gateways": gateways, "readyPods": pods, "defaultTier": "high"}})
}

#[test]
fn a_tier_service_is_known_by_its_hash() {
    let name = "a-service-whose-name-is-as-long-as-that-of-a-service-may-be";
    let mut world = live(&[mk_exported(name, &["10.20.0.7"], 1)]);
    let service = world.translator.imports().get("secure", name).unwrap().tiers[0].service.clone();
    assert!(!service.ends_with("-high"), "{service} ends in a hash");
    change(&mut world, &mk_route("www", json!({"host": "a.b", "to": {"kind": "Service", "name": service}})));
    assert_eq!(ask(&world, "a.b", 80, "/"), format!("import.{name}:8080.high"));
}

#[test]
fn a_tier_without_pods_or_gateways_leaves_the_split() {
    let to = json!({"kind": "Service", "name": "far-clusterset"});
    let table = [(&["10.20.0.7"][..], 1, true), (&["10.20.0.7"], 0, false), (&[], 1, false)];
    for (gateways, pods, is_served) in table {
        let route = mk_route("www", json!({"host": "a.b", "to": to}));
        let world = live(&[mk_exported("far", gateways, pods), route]);
        let expected = if is_served { "import.far:8080.high" } else { "503" };
        assert_eq!(ask(&world, "a.b", 80, "/"), expected, "{gateways:?}, {pods} pods");
        assert_eq!(admission(&world, "secure", "www").unresolved, None, "it is there");
    }
}
