//! Many routes, and what of them is told when they are too many.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::problem::Reason;
use serde_json::{Value, json};

use super::super::world::{World, egress_objects, of_kind, settings};
use super::{admission, ask, hosts, mk_route, mk_route_of, mk_service, refusal, world};

#[test]
fn of_a_thousand_on_one_host_each_is_told_why() {
    let on = |number: u16| mk_route(&format!("r{number:04}"), json!({"host": "a.b"}));
    let neighbour = mk_route("neighbour", json!({"host": "b.b"}));
    let world = world(&[(0..1_000).map(on).collect(), vec![neighbour, mk_service("shop")]].concat());
    assert_eq!(refusal(&world, "secure", "r0000"), None);
    for number in 1..1_000 {
        let told = refusal(&world, "secure", &format!("r{number:04}"));
        assert_eq!(told.as_deref(), Some("HostAlreadyClaimed"), "{number}");
    }
    assert_eq!(ask(&world, "b.b", 80, "/"), "service.shop:80");
}

/// Routes of as many hosts, the older first.
fn many(count: u16, spec: impl Fn(u16) -> Value) -> World {
    let route = |number: u16| {
        let second = u8::try_from(number % 60).unwrap();
        let mut route = mk_route_of("secure", &format!("r{number:04}"), second, &json!({}), spec(number));
        route["metadata"]["creationTimestamp"] = format!("2026-11-20T08:{:02}:{second:02}Z", number / 60).into();
        route
    };
    world(&[(0..count).map(route).collect(), vec![mk_service("shop")]].concat())
}

#[test]
fn the_youngest_are_refused_where_the_filter_has_no_room_for_all() {
    let spec = |number: u16| {
        let path = format!("/{}", "a".repeat(1_000));
        json!({"host": format!("h{number}.b"), "path": path,
            "httpHeaders": {"actions": {"request": [{"name": format!("x-{number}"), "action": {"type": "Delete"}}]}}})
    };
    let world = many(1_000, spec);
    let told: Vec<_> = (0..1_000).map(|number| refusal(&world, "secure", &format!("r{number:04}"))).collect();
    assert_eq!((told[0].as_deref(), told[999].as_deref()), (None, Some("TooLarge")));
    assert!(told.is_sorted(), "the older before the younger");
    let served = told.iter().filter(|told| told.is_none()).count();
    assert!((500..900).contains(&served), "{served} take most of it");
    let egress = egress_objects("secure", &[hosts(&world)], &settings(DataPlane::Wasm));
    assert!(egress.filter.bytes > 700_000, "{} of a mebibyte", egress.filter.bytes);
    assert_eq!(egress.problems, [], "it fits");
    assert_eq!(admission(&world, "secure", "r0999").host.as_deref(), Some("h999.b"));
}

#[test]
fn the_oldest_hosts_have_listeners_and_the_routes_of_the_others_are_told() {
    let tls = json!({"termination": "edge", "externalCertificate": {"name": "tls"}});
    let world = many(70, |number| json!({"host": format!("h{:02}.b", 99 - number), "tls": tls}));
    let egress = egress_objects("secure", &[hosts(&world)], &settings(DataPlane::Wasm));
    let (_, gateway) = of_kind(&egress.objects, Kind::Gateway)[0];
    assert_eq!(gateway["spec"]["listeners"].as_array().unwrap().len(), 64);
    let told: Vec<_> = egress.problems.iter().map(|problem| (problem.object.to_string(), problem.reason)).collect();
    let expected = (63..70).map(|number| (format!("Route secure/r{number:04}"), Reason::TooLarge));
    assert_eq!(told, expected.collect::<Vec<_>>(), "the youngest, whatever their hosts are called");
}

#[test]
fn a_host_that_an_import_has_all_the_same_is_told_to_its_routes() {
    let on = |name: &str, host: &str, path: &str| mk_route(name, json!({"host": host, "path": path}));
    let world = world(&[on("one", "a.b", "/1"), on("two", "a.b", "/2"), on("three", "b.b", "/"), mk_service("shop")]);
    let mut payment = world.payment().clone();
    payment.wire.hostnames.push("a.b".to_owned());
    let problems = egress_objects("secure", &[&payment, hosts(&world)], &settings(DataPlane::Wasm)).problems;
    let told: Vec<_> = problems.iter().map(|problem| (problem.object.to_string(), problem.reason)).collect();
    let expected = ["one", "two"].map(|name| (format!("Route secure/{name}"), Reason::HostConflict));
    assert_eq!(told, expected);
}
