//! Which rules of live routes are an import's own, and what is granted for them.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{ImportVersions, Places, Provenance, Recovered};
use mcwan_core::emit::object::{Kind, Object};
use serde_json::{Value, json};

use super::world::{World, at, import_objects, mk_export, mk_import, mk_plain_export, of_kind, settings, to_high};

/// A tier service of another tenant.
const STRANGER: &str = "orders-other-high";
/// One that the import had, before the cluster behind it withdrew its export.
const FORMER: &str = "payment-secure-high-gone";

fn objects(world: &World) -> Vec<Object> {
    import_objects(world.payment(), &settings(DataPlane::Wasm)).0
}

/// The rules of the import's first route.
fn rules(world: &World) -> Vec<Value> {
    let objects = objects(world);
    at(of_kind(&objects, Kind::HttpRoute)[0].1, "/spec/rules").as_array().unwrap().clone()
}

/// The Services that are granted.
fn granted(objects: &[Object]) -> Vec<String> {
    let grants = of_kind(objects, Kind::ReferenceGrant).into_iter();
    grants
        .flat_map(|(_, grant)| at(grant, "/spec/to").as_array().unwrap())
        .map(|to| to["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A reference into the namespace of tiers.
fn mk_reference(service: &str) -> Value {
    json!({"group": "", "kind": "Service", "name": service, "namespace": "mc-wan", "port": 31111, "weight": 0})
}

fn mk_world(fields: &str) -> World {
    World::new(&[mk_plain_export(), mk_import("payment", &[to_high(fields)])])
}

#[test]
fn what_somebody_writes_into_a_route_is_not_granted() {
    let world = mk_world("");
    let mut edited = rules(&world).remove(0);
    for service in [STRANGER, FORMER] {
        edited["backendRefs"].as_array_mut().unwrap().push(mk_reference(service));
    }
    let mut forged = edited.clone();
    forged["matches"][0]["headers"][0]["value"] = "high.0123456789abcdef0123456789abcdef".into();
    let services = BTreeSet::from(["payment-secure-high".to_owned(), FORMER.to_owned()]);
    let provenance = mk_provenance(&world, &services);
    let sound = rules(&world).remove(0);
    let route = json!({"metadata": {"name": "payment.8080"}, "spec": {"rules": [edited, forged, sound]}});
    let (mut recovered, mut places) = (Recovered::default(), Places::new());
    recovered.read("payment", &route, &mut places, |rule| provenance.is_own(rule));
    assert_eq!(recovered.rules.len(), 1, "only the rule that we made is kept: {:?}", recovered.rules);
    let granted_with = |services: BTreeSet<String>| {
        let recovered = Recovered { services, ..recovered.clone() };
        let versions = ImportVersions { recovered: Some(&recovered), ..ImportVersions::of(world.payment()) };
        granted(&versions.objects(&settings(DataPlane::Wasm), &mut Places::new()).backing)
    };
    assert_eq!(granted_with(BTreeSet::new()), ["payment-secure-high"], "none of others");
    assert_eq!(granted_with(services.clone()), ["payment-secure-high", FORMER], "what the import had, for a while");
}

const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: v2, namespace: secure}\nspec: {ports: [{port: 8080}]}\n";

#[test]
fn every_rule_that_is_made_is_the_imports_own() {
    let mirror = |reference: &str| {
        to_high(&format!("filters: [{{type: RequestMirror, requestMirror: {{backendRef: {reference}}}}}]"))
    };
    let more = mk_export("c2", "ports: [{port: 8080}], gateways: [10.20.2.7], readyPods: 3");
    let table = [
        (to_high(""), "a tier"),
        (to_high("timeouts: {request: 1s}"), "a tier, and what its route does more"),
        ("{backendRefs: [{name: v2, port: 8080}]}".to_owned(), "a Service"),
        (mirror("{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}"), "copies over a tier"),
        (mirror("{name: v2, port: 8080}"), "copies to a Service"),
    ];
    for (rule, message) in table {
        for exports in [vec![mk_plain_export()], vec![mk_plain_export(), more.clone()]] {
            let world = World::new(
                &[exports, vec![SERVICE.to_owned(), mk_import("payment", std::slice::from_ref(&rule))]].concat(),
            );
            let objects = objects(&world);
            let services: BTreeSet<_> =
                of_kind(&objects, Kind::Service).into_iter().map(|(name, _)| name.to_owned()).collect();
            let rules = rules(&world);
            assert_eq!(rules.len(), 1, "{message}");
            assert!(mk_provenance(&world, &services).is_own(&rules[0]), "{message}: {}", rules[0]);
        }
    }
}

fn mk_provenance<'p>(world: &'p World, services: &'p BTreeSet<String>) -> Provenance<'p> {
    Provenance {
        namespace: "secure",
        name: "payment",
        steering_key: world.translator.steering_key(),
        services,
        tiers: &[("high", 31111)],
    }
}

#[test]
fn a_rule_that_somebody_changed_is_not() {
    let world = mk_world("");
    let services = BTreeSet::from(["payment-secure-high".to_owned()]);
    let provenance = mk_provenance(&world, &services);
    let rule = rules(&world).remove(0);
    assert!(provenance.is_own(&rule), "{rule}");

    let value = rule["matches"][0]["headers"][0]["value"].as_str().unwrap().to_owned();
    let (_, digest) = value.rsplit_once('.').unwrap();
    let reference = mk_reference(STRANGER);
    let local = json!({"group": "", "kind": "Service", "name": "v2", "namespace": "secure", "port": 31111});
    let mirror = json!([{"type": "RequestMirror", "requestMirror": {"backendRef": reference}}]);
    let own_mirror = json!([{
        "type": "RequestMirror",
        "requestMirror": {"backendRef": mk_reference("payment-secure-high")},
    }]);
    let table = [
        ("/backendRefs/-", reference.clone(), "a stranger's tier service, of weight 0"),
        ("/backendRefs/0/name", STRANGER.into(), "the same in place of its own"),
        ("/backendRefs/-", local, "two destinations"),
        ("/filters", mirror.clone(), "copies to a stranger's"),
        ("/backendRefs/0/filters", mirror, "the same for one backend"),
        ("/filters", own_mirror, "copies that the target does not make"),
        ("/backendRefs/0/port", 31112.into(), "another port"),
        ("/backendRefs", json!([]), "no backend"),
        ("/matches/-", json!({"path": {"type": "PathPrefix", "value": "/"}}), "a match for what nobody steered"),
        ("/matches/0/headers/0/type", "RegularExpression".into(), "an expression in place of the value"),
        ("/matches/0/headers/0/value", format!("low.{digest}").into(), "another target"),
        ("/matches/0/headers/0/value", format!("high.{}", "0".repeat(32)).into(), "a digest that is drawn"),
        ("/matches/0/headers/0/value", digest.into(), "a digest without a target"),
        ("/matches/0/headers/0/name", "x-other".into(), "another header"),
    ];
    for (place, value, message) in table {
        let mut changed = rule.clone();
        let (holder, field) = place.rsplit_once('/').unwrap();
        match changed.pointer_mut(holder).unwrap() {
            Value::Array(items) if field == "-" => items.push(value),
            holder => holder[field] = value,
        }
        assert_ne!(changed, rule, "{message}");
        assert!(!provenance.is_own(&changed), "{message}: {changed}");
    }
    let other = World::new(&[
        mk_plain_export().replace("payment", "stats"),
        mk_import("stats", &[to_high("")]),
        mk_import("payment", &[to_high("")]),
    ]);
    let stats = Provenance { name: "stats", ..mk_provenance(&other, &services) };
    assert!(!stats.is_own(&rule), "another import's");
}
