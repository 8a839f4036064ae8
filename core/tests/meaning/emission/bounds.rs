//! How many ports an import is served on.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::everything;
use mcwan_core::emit::object::Kind;
use mcwan_core::problem::Reason;

use super::world::{World, at, mk_export, mk_import, mk_plain_export, of_kind, settings, to_high};

fn mk_ports(ports: RangeInclusive<u16>) -> String {
    let ports: Vec<_> = ports.map(|port| format!("{{port: {port}}}")).collect();
    format!("ports: [{}], gateways: [10.20.0.7], readyPods: 1", ports.join(", "))
}

/// Reason, object and message of everything that is wrong.
fn problems(world: &World) -> Vec<(Reason, String, String)> {
    let (_, mut problems) = everything(&world.translator, &world.gathered.snapshot, &settings(DataPlane::Wasm));
    for import in world.translator.imports().values() {
        problems.extend(import.problems.iter().chain(&import.export_problems).cloned());
    }
    problems.into_iter().map(|problem| (problem.reason, problem.object.to_string(), problem.message)).collect()
}

/// The ports of listeners of the egress gateways, and those that routes attach to.
fn listeners(world: &World) -> (BTreeSet<String>, BTreeSet<String>) {
    let (objects, _) = everything(&world.translator, &world.gathered.snapshot, &settings(DataPlane::Wasm));
    let text = |name: &serde_json::Value| name.as_str().unwrap().to_owned();
    let gateways = of_kind(&objects, Kind::Gateway).into_iter();
    let listeners = gateways.flat_map(|(_, gateway)| at(gateway, "/spec/listeners").as_array().unwrap());
    let listeners = listeners.map(|listener| text(&listener["name"])).collect();
    let routes = of_kind(&objects, Kind::HttpRoute).into_iter();
    (listeners, routes.map(|(_, route)| text(at(route, "/spec/parentRefs/0/sectionName"))).collect())
}

#[test]
fn of_the_ports_of_several_clusters_those_of_the_oldest_exports_are_served() {
    let younger = mk_export("c2", &mk_ports(60..=100)).replace("2026-11-20", "2026-11-21");
    let world = World::new(&[younger, mk_export("c1", &mk_ports(101..=150)), mk_import("payment", &[to_high("")])]);
    let expected: Vec<u16> = (60..=73).chain(101..=150).collect();
    assert_eq!(world.payment().ports, expected, "the oldest's ports whole, and of the younger's the first");
    let [(reason, object, message)] = &problems(&world)[..] else { panic!("{:?}", problems(&world)) };
    assert_eq!((*reason, object.as_str()), (Reason::PortConflict, "ExportedService mc-wan-registry/c2.secure.payment"));
    assert!(message.contains("74, 75, ") && message.contains("100"), "{message}");
}

#[test]
fn no_route_is_without_a_listener() {
    let other = mk_export("c1", &mk_ports(201..=210)).replace("payment", "other");
    let world = World::new(&[
        mk_export("c1", &mk_ports(101..=160)),
        other.split_once("---\n").unwrap().1.to_owned(),
        mk_import("payment", &[to_high("")]),
        mk_import("other", &[to_high("")]),
    ]);
    let (listeners, attached) = listeners(&world);
    assert_eq!(listeners.len(), 64);
    assert_eq!(attached, listeners, "every listener has a route, and every route a listener");
    let refused: Vec<_> = problems(&world);
    assert_eq!(refused.len(), 6, "{refused:?}");
    assert!(
        refused.iter().all(|(reason, object, _)| *reason == Reason::PortConflict && object.ends_with("secure/other"))
    );
}

#[test]
fn a_local_service_of_many_ports_is_served_on_as_many_as_there_are_listeners() {
    let ports: Vec<_> = (1..=65).map(|port| format!("{{name: p{port}, port: {port}}}")).collect();
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: old, namespace: secure}}\nspec: {{ports: [{}]}}\n",
        ports.join(", ")
    );
    let import = mk_import("payment", &["{backendRefs: [{name: old}]}".to_owned()]);
    let world = World::new(&[service, import]);
    assert_eq!(world.payment().ports.len(), 64);
    let [(reason, object, message)] = &problems(&world)[..] else { panic!("{:?}", problems(&world)) };
    assert_eq!((*reason, object.as_str()), (Reason::PortConflict, "ServiceImport secure/payment"));
    assert!(message.contains("65"), "{message}");
}

#[test]
fn a_service_of_more_ports_than_an_export_may_have_is_not_exported() {
    let ports: Vec<_> = (1..=65).map(|port| format!("{{name: p{port}, port: {port}}}")).collect();
    let service = |ports: &[String]| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: own, namespace: secure}}\nspec: {{ports: [{}]}}\n",
            ports.join(", ")
        )
    };
    let export =
        "apiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: {name: own, namespace: secure}\n";
    for (count, exported) in [(64, true), (65, false)] {
        let world = World::new(&[mk_plain_export(), service(&ports[..count]), export.to_owned()]);
        let export = world.translator.local_exports().get("secure", "own").unwrap();
        assert_eq!(export.is_exported(), exported, "{count} ports");
        let reasons: Vec<_> = export.problems.iter().map(|problem| problem.reason).collect();
        assert_eq!(reasons, Vec::from_iter((!exported).then_some(Reason::TooLarge)), "{count} ports");
    }
}

#[test]
fn an_import_that_leads_to_too_many_places_is_refused_before_any_is_made() {
    for (rules, is_refused) in [(128, false), (129, true)] {
        let timeout = |number| to_high(&format!("timeouts: {{request: {number}ms}}"));
        let rules: Vec<_> = (1..=rules).map(timeout).collect();
        let world = World::new(&[mk_export("c1", &mk_ports(101..=164)), mk_import("payment", &rules)]);
        let told: Vec<_> = problems(&world).into_iter().map(|(reason, _, _)| reason).collect();
        assert_eq!(told, Vec::from_iter(is_refused.then_some(Reason::TooLarge)), "{} rules", rules.len());
        assert_eq!(world.payment().targets.is_empty(), is_refused);
        let refused = mcwan_policy::check(&world.payment().wire);
        assert_eq!(!refused.is_empty(), is_refused, "what the gateway is told answers 500: {refused:?}");
    }
}
