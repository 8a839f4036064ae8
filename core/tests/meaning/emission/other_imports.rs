//! Rules that lead to other imports.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::Provenance;
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, input};
use mcwan_core::translate::Import;
use serde_json::{Value, json};

use super::routes::{PARENT, mk_route, rules};
use super::world::{World, at, import_objects, mk_export, mk_plain_export, of_kind, reasons, settings};

/// The same of another service; cluster `c1` is there already.
fn mk_cart(cluster: &str, fields: &str) -> String {
    let both = mk_export(cluster, fields).replace("payment", "cart");
    let (_, export) = both.split_once("---\n").unwrap();
    if cluster == "c1" { export.to_owned() } else { both }
}

fn to(reference: &str) -> String {
    format!("{{backendRefs: [{{group: multicluster.x-k8s.io, kind: ServiceImport, {reference}}}]}}")
}

fn world(exports: &[String], rule: &str) -> World {
    World::new(&[exports, &[mk_plain_export(), mk_route("pay", 0, &[PARENT], &[rule.to_owned()])]].concat())
}

fn sound() -> String {
    mk_cart("c1", "ports: [{port: 7070}], gateways: [10.20.0.7], readyPods: 1, defaultTier: high")
}

#[test]
fn a_rule_leads_to_another_import_over_its_default_tier() {
    let world = world(&[sound()], &to("name: cart, port: 7070"));
    let [rule] = &rules(world.payment())[..] else { panic!("one rule") };
    assert!(rule.starts_with("[] * import.cart:7070.high~"), "{rule}");
    assert_eq!(reasons(&world.payment().problems), [""; 0]);
    let (objects, problems) = import_objects(world.payment(), &settings(DataPlane::Wasm));
    assert_eq!(reasons(&problems), [""; 0]);
    let rule = at(of_kind(&objects, Kind::HttpRoute)[0].1, "/spec/rules/0");
    let backend = at(rule, "/backendRefs/0");
    let own = backend["name"].as_str().unwrap();
    assert!(own.starts_with("payment-cart-high-"), "a tier service that no other import takes away: {own}");
    assert_eq!((&backend["namespace"], &backend["port"]), (&json!("mc-wan"), &json!(31111)));
    let set = at(backend, "/filters/0/requestHeaderModifier/set/0");
    assert_eq!(set["value"], "7070", "the far gateway is told the port of the other service");
    let filter = at(rule, "/filters/0/urlRewrite/hostname");
    assert_eq!(filter, "cart.secure.svc.cluster.local", "and its host");
    assert!(of_kind(&objects, Kind::Service).iter().any(|(name, _)| *name == own), "it is there");
    let granted = at(of_kind(&objects, Kind::ReferenceGrant)[0].1, "/spec/to").to_string();
    assert!(granted.contains(own), "and admitted: {granted}");
}

#[test]
fn what_is_no_other_import_is_refused_by_name() {
    let untiered = mk_cart("c1", "ports: [{port: 7070}], gateways: [10.20.0.7]");
    let table = [
        (vec![], "name: cart, port: 7070", "BackendNotFound", "no cluster exports it"),
        (vec![untiered], "name: cart, port: 7070", "BackendNotFound", "no default tier"),
        (vec![sound()], "name: cart, port: 1", "BackendNotFound", "no such port"),
        (vec![sound()], "name: cart", "BackendNotFound", "the port that the client used, which it does not have"),
        (vec![sound()], "name: cart, namespace: other, port: 7070", "RefNotPermitted", "another namespace"),
    ];
    for (exports, reference, expected, message) in table {
        let world = world(&exports, &to(reference));
        assert_eq!(rules(world.payment()), [format!("[] * {expected}")], "{message}");
    }
    let mirror = "{filters: [{type: RequestMirror, requestMirror: {backendRef: {group: multicluster.x-k8s.io, \
                  kind: ServiceImport, name: cart, port: 7070}}}], \
                  backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]}";
    assert_eq!(rules(world(&[sound()], mirror).payment()), ["[] * UnsupportedFilter"], "copies have the first's host");
}

#[test]
fn an_import_may_name_itself() {
    let own = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], defaultTier: high");
    let world = World::new(&[own, mk_route("pay", 0, &[PARENT], &[to("name: payment, port: 8080")])]);
    assert_eq!(rules(world.payment()), ["[] * high"]);
}

/// Where the other import moves, the rules that lead there move, too.
#[test]
fn what_becomes_of_the_other_import_changes_the_rule() {
    let mut world = world(&[sound()], &to("name: cart, port: 7070"));
    let removed =
        world.gathered.snapshot.remove(InputKind::ExportedService, &Key::new("mc-wan-registry", "c1.secure.cart"));
    world.translator.update(&world.gathered.snapshot, &removed);
    assert_eq!(rules(world.payment()), ["[] * BackendNotFound"]);
    let spec = json!({"cluster": "c1", "namespace": "secure", "name": "cart", "exportedAt": "2026-11-20T08:00:00Z",
        "ports": [{"port": 7070}], "readyPods": 1, "gateways": ["10.20.0.7"], "defaultTier": "high"});
    let metadata = json!({"namespace": "mc-wan-registry", "name": "c1.secure.cart"});
    let object = json!({"metadata": metadata, "spec": spec});
    let changes = world.gathered.snapshot.put(input::read(InputKind::ExportedService, &object).unwrap());
    world.translator.update(&world.gathered.snapshot, &changes);
    assert!(rules(world.payment())[0].contains("import.cart:7070.high"));
}

/// One that takes over knows what it made by what it finds.
#[test]
fn a_rule_to_another_import_is_the_imports_own() {
    let more = mk_cart("c2", "ports: [{port: 7070}], gateways: [10.20.2.7], readyPods: 3, defaultTier: high");
    for exports in [vec![sound()], vec![sound(), more]] {
        let world = world(&exports, &to("name: cart, port: 7070"));
        let (objects, _) = import_objects(world.payment(), &settings(DataPlane::Wasm));
        let services: BTreeSet<_> =
            of_kind(&objects, Kind::Service).into_iter().map(|(name, _)| name.to_owned()).collect();
        let provenance = Provenance {
            namespace: "secure",
            name: "payment",
            steering_key: world.translator.steering_key(),
            services: &services,
            tiers: &[("high", 31111)],
        };
        let rule = at(of_kind(&objects, Kind::HttpRoute)[0].1, "/spec/rules/0");
        assert!(provenance.is_own(rule), "{rule}");
        let mut shared: Value = rule.clone();
        let own =
            json!({"group": "", "kind": "Service", "name": "cart", "namespace": "secure", "port": 7070, "weight": 1});
        shared["backendRefs"].as_array_mut().unwrap().push(own);
        assert!(provenance.is_own(&shared), "this cluster's share of it: {shared}");
    }
}

#[test]
fn natively_it_is_the_same() {
    let world = world(&[sound()], &to("name: cart, port: 7070"));
    let import = Import { data_plane: Some(DataPlane::Native), ..world.payment().clone() };
    let (objects, problems) = mcwan_core::emit::kubernetes::native_objects(&[&import], |_| true);
    assert_eq!(reasons(&problems), [""; 0]);
    let rule = at(of_kind(&objects, Kind::HttpRoute)[0].1, "/spec/rules/0").to_string();
    assert!(rule.contains("cart.secure.svc.cluster.local") && rule.contains("\"7070\""), "{rule}");
}
