//! Services that this cluster exports, too: its share goes to the Service itself.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{Provenance, native_objects, tier_services};
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::translate::{Destination, Import, SteeringKey};
use serde_json::{Value, json};

use super::world::{
    World, at, import_objects, mk_export, mk_import, mk_plain_export, of_kind, reasons, settings, to_high,
};

/// The fields of an export with so many pods.
fn source(pods: u32) -> String {
    format!("ports: [{{port: 8080}}], readyPods: {pods}, gateways: [10.20.1.7]")
}

fn close(fields: &str) -> String {
    format!("{fields}, properties: {{trafficDistribution: PreferClose}}")
}

fn objects(import: &Import) -> Vec<Object> {
    import_objects(import, &settings(DataPlane::Wasm)).0
}

/// The first rule of the first route.
fn rule(objects: &[Object]) -> &Value {
    at(of_kind(objects, Kind::HttpRoute)[0].1, "/spec/rules/0")
}

/// Namespace, name, port and weight of the backends of a rule.
fn backends(rule: &Value) -> Vec<String> {
    let refs = at(rule, "/backendRefs").as_array().unwrap().iter();
    let text = |one: &Value| {
        format!(
            "{}/{}:{} {}",
            one["namespace"].as_str().unwrap(),
            one["name"].as_str().unwrap(),
            one["port"],
            one["weight"]
        )
    };
    refs.map(text).collect()
}

#[test]
fn own_pods_take_their_share_without_a_tier() {
    let other_port = source(9).replace("8080", "9090");
    let table = [
        (vec![("own", source(1)), ("c1", source(3))], vec!["secure/payment:8080 1", "high 3"], "by pods"),
        (vec![("own", source(0)), ("c1", source(3))], vec!["secure/payment:8080 0", "high 3"], "none is ready here"),
        (vec![("own", source(1)), ("c1", source(0))], vec!["secure/payment:8080 1", "high 0"], "none is ready there"),
        (vec![("own", source(0)), ("c1", source(0))], vec!["secure/payment:8080 1", "high 1"], "none is ready at all"),
        (vec![("own", other_port), ("c1", source(3))], vec!["secure/payment:8080 0", "high 3"], "not its port here"),
        (vec![("own", source(1)), ("c1", close(&source(3)))], vec!["secure/payment:8080 1", "high 0"], "close ones"),
        (
            vec![("own", source(0)), ("c1", close(&source(3)))],
            vec!["secure/payment:8080 0", "high 3"],
            "close ones, if there are any",
        ),
        (vec![("own", source(5))], vec!["secure/payment:8080 1"], "nobody else has it"),
    ];
    for (clusters, expected, message) in table {
        let exports = clusters.iter().map(|(cluster, fields)| mk_export(cluster, fields));
        let documents: Vec<_> = exports.chain([mk_import("payment", &[to_high("")])]).collect();
        let world = World::new(&documents);
        let objects = objects(world.payment());
        let tier = "mc-wan/payment-secure-high:31111";
        let mut expected: Vec<_> = expected.into_iter().map(|share| share.replace("high", tier)).collect();
        let mut found = backends(rule(&objects));
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{message}");
        let is_alone = clusters.len() == 1;
        let services = of_kind(&objects, Kind::Service).into_iter().filter(|(name, _)| *name != "payment-clusterset");
        assert_eq!(services.count(), usize::from(!is_alone), "{message}: tier services lead elsewhere");
        assert_eq!(of_kind(&objects, Kind::ReferenceGrant).len(), usize::from(!is_alone), "{message}");
        let slices = of_kind(&objects, Kind::EndpointSlice);
        assert!(slices.iter().all(|(name, _)| name.contains(".c1.")), "{message}: none behind it is our own gateway");
    }
}

#[test]
fn more_clusters_than_a_route_can_name_leave_room_for_own_pods() {
    let exports = (0..17).map(|number| mk_export(&format!("c{number}"), &source(2)));
    let documents: Vec<_> =
        exports.chain([mk_export("own", &source(6)), mk_import("payment", &[to_high("")])]).collect();
    let world = World::new(&documents);
    let mut found = backends(rule(&objects(world.payment())));
    found.sort();
    assert_eq!(found, ["mc-wan/payment-secure-high:31111 34", "secure/payment:8080 6"]);
}

#[test]
fn what_nobody_wrote_rules_for_needs_a_tier_only_to_leave() {
    let table = [
        (vec![mk_export("own", &source(1))], Some("service.payment"), &[][..], "nobody else has it"),
        (vec![mk_export("own", &source(1)), mk_export("c1", &source(1))], None, &["NoTier"], "no tier is named"),
        (
            vec![mk_export("own", &source(1)), mk_export("c1", &format!("{}, defaultTier: high", source(1)))],
            Some("high"),
            &[],
            "one of them names a tier",
        ),
    ];
    for (documents, expected, problems, message) in table {
        let world = World::new(&documents);
        let import = world.payment();
        let targets: Vec<_> = import.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(targets, expected.into_iter().collect::<Vec<_>>(), "{message}");
        assert_eq!(reasons(&import.problems), problems, "{message}");
        let is_local =
            matches!(import.targets.first().map(|target| &target.destination), Some(Destination::Service { .. }));
        assert_eq!(is_local, expected == Some("service.payment"), "{message}");
    }
}

/// Copies have the host that the request is given.
#[test]
fn the_far_gateway_knows_the_host_of_copies() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: v2, namespace: secure}\nspec: {ports: [{port: 8080}]}\n";
    let mirror =
        "{type: RequestMirror, requestMirror: {backendRef: {group: mc-wan.l7mp.io, kind: WANPolicy, name: high}}}";
    for (host, problems) in [
        ("payment.secure.svc.clusterset.local", &[][..]),
        ("legacy.example.com", &["InvalidFilter spec.http.rules[0].filters"]),
    ] {
        let rewrite = format!("{{type: URLRewrite, urlRewrite: {{hostname: {host}}}}}");
        let rule = format!("{{backendRefs: [{{name: v2, port: 8080}}], filters: [{rewrite}, {mirror}]}}");
        let world = World::new(&[mk_plain_export(), service.to_owned(), mk_import("payment", &[rule])]);
        assert_eq!(reasons(&world.payment().problems), problems, "{host}");
    }
}

#[test]
fn copies_and_plain_routes_stay_here_where_nobody_else_has_it() {
    let mirror =
        "{type: RequestMirror, requestMirror: {backendRef: {group: mc-wan.l7mp.io, kind: WANPolicy, name: high}}}";
    let import = mk_import("payment", &[to_high(&format!("filters: [{mirror}]"))]);
    for (exports, expected) in [
        (vec![mk_export("own", &source(1))], json!({"namespace": "secure", "name": "payment", "port": 8080})),
        (
            vec![mk_export("own", &source(1)), mk_export("c1", &source(1))],
            json!({"namespace": "mc-wan", "name": "payment-secure-high", "port": 31111}),
        ),
    ] {
        let documents: Vec<_> = exports.into_iter().chain([import.clone()]).collect();
        let world = World::new(&documents);
        let steered = objects(world.payment());
        let plain = native_objects(&[world.payment()], |_| true).0;
        for objects in [&steered, &plain] {
            let rule = rule(objects);
            let filters = at(rule, "/filters").as_array().unwrap();
            let copy = filters.iter().find_map(|filter| filter.pointer("/requestMirror/backendRef")).unwrap();
            for field in ["namespace", "name", "port"] {
                assert_eq!(copy[field], expected[field], "{rule}");
            }
        }
        assert_eq!(backends(rule(&plain)), backends(rule(&steered)), "of either data plane");
    }
}

fn mk_provenance<'p>(steering_key: &'p SteeringKey, services: &'p BTreeSet<String>) -> Provenance<'p> {
    let tiers = &[("high", 31_111), ("low", 31_112)];
    Provenance { namespace: "secure", name: "payment", steering_key, services, tiers }
}

#[test]
fn rules_with_an_own_share_are_known_again() {
    for clusters in [&["own"][..], &["own", "c1"], &["own", "c1", "c2"]] {
        let exports = clusters.iter().map(|cluster| mk_export(cluster, &source(1)));
        let documents: Vec<_> = exports.chain([mk_import("payment", &[to_high("")])]).collect();
        let world = World::new(&documents);
        let objects = objects(world.payment());
        let (key, services) = ("0123456789abcdef".parse().unwrap(), tier_services(world.payment()));
        let provenance = mk_provenance(&key, &services);
        assert!(provenance.is_own(rule(&objects)), "{clusters:?}");
        let mut alone = rule(&objects).clone();
        alone["backendRefs"].as_array_mut().unwrap().retain(|backend| backend["namespace"] == "secure");
        assert!(provenance.is_own(&alone), "{clusters:?}: all others have withdrawn since");
        let mut changed = rule(&objects).clone();
        changed["backendRefs"][0]["name"] = "bank".into();
        assert_eq!(
            provenance.is_own(&changed),
            clusters.len() == 1,
            "{clusters:?}: a Service of the namespace is no tier's"
        );
    }
}

#[test]
fn a_rule_for_the_own_share_alone_is_known_again_where_others_have_come_since() {
    let world = |clusters: &[&str]| {
        let exports = clusters.iter().map(|cluster| mk_export(cluster, &source(1)));
        World::new(&exports.chain([mk_import("payment", &[to_high("")])]).collect::<Vec<_>>())
    };
    let [alone, both] = [&["own"][..], &["own", "c1"]].map(world);
    let (key, services) = ("0123456789abcdef".parse().unwrap(), tier_services(both.payment()));
    let provenance = mk_provenance(&key, &services);
    let mut joined = rule(&objects(both.payment())).clone();
    joined["matches"] = rule(&objects(alone.payment()))["matches"].clone();
    assert_ne!(joined["matches"], rule(&objects(both.payment()))["matches"], "the value is another one");
    assert!(provenance.is_own(&joined), "{joined}");
    let backends = joined["backendRefs"].as_array_mut().unwrap();
    let remote = backends.iter_mut().find(|backend| backend["namespace"] == "mc-wan").expect("it leads to the others");
    remote["port"] = 31_112.into();
    assert!(!provenance.is_own(&joined), "no value that names a tier leads over another one");
}
