//! Imports: tier services, and the routes behind the filter.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{ImportVersions, Places, steering_value_of};
use mcwan_core::emit::object::{Kind, Object};
use serde_json::{Value, json};

use super::world::{
    World, at, common, import_objects, mk_export, mk_import, mk_plain_export, of_kind, reasons, settings, to_high,
};

fn objects(world: &World) -> Vec<Object> {
    import_objects(world.payment(), &settings(DataPlane::Wasm)).0
}

/// Name and weight of the backends of the only rule.
fn backends(objects: &[Object]) -> Vec<(String, u64)> {
    let routes = of_kind(objects, Kind::HttpRoute);
    let refs = at(routes[0].1, "/spec/rules/0/backendRefs").as_array().unwrap();
    refs.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["weight"].as_u64().unwrap())).collect()
}

#[test]
fn several_clusters_share_requests_by_their_ready_pods() {
    let source =
        |pods: u32, gateway: &str| format!("ports: [{{port: 8080}}], readyPods: {pods}, gateways: [{gateway}]");
    let other_port = source(9, "10.20.2.7").replace("8080", "9090");
    let more_ports = source(9, "10.20.2.7").replace("8080}", "8080}, {port: 9090, name: more}");
    let table = [
        (vec![source(3, "10.20.1.7")], vec![1], &["c0"][..], "one cluster: no split"),
        (vec![source(3, "10.20.1.7"), source(1, "10.20.2.7")], vec![3, 1], &["c0", "c1"], "by pods"),
        (vec![source(3, "10.20.1.7"), source(0, "10.20.2.7")], vec![3, 0], &["c0"], "without a pod: nothing"),
        (
            vec![source(0, "10.20.1.7"), source(0, "10.20.2.7")],
            vec![1, 1],
            &["c0", "c1"],
            "none has a pod: unknown is not down",
        ),
        (vec![source(3, "10.20.1.7"), source(9, "")], vec![3, 0], &["c0"], "without an address: nothing"),
        (vec![source(3, "10.20.1.7"), source(9, "127.0.0.1")], vec![3, 0], &["c0"], "without one of use: nothing"),
        (vec![source(3, "10.20.1.7"), other_port.clone()], vec![3, 0], &["c0"], "without the port: nothing"),
        (vec![source(3, "10.20.1.7"), more_ports], vec![3, 9], &["c0", "c1"], "with one more: by pods all the same"),
        (
            vec![source(0, "10.20.1.7"), other_port],
            vec![1, 0],
            &["c0", "c1"],
            "without the port: nothing, if others have no pod, too",
        ),
    ];
    for (clusters, expected, reached, message) in table {
        let exports = clusters.iter().enumerate().map(|(number, fields)| mk_export(&format!("c{number}"), fields));
        let documents: Vec<_> = exports.chain([mk_import("payment", &[to_high("")])]).collect();
        let objects = objects(&World::new(&documents));
        let (names, weights): (Vec<_>, Vec<_>) = backends(&objects).into_iter().unzip();
        assert_eq!(weights, expected, "{message}");
        assert_eq!(common(&objects), reached, "{message}: the tier service that users see");
        let services: Vec<_> = of_kind(&objects, Kind::Service).into_iter().map(|(name, _)| name).collect();
        assert!(services.contains(&"payment-secure-high"), "{message}: the name that users see");
        assert!(names.iter().all(|name| services.contains(&name.as_str())), "{message}: {names:?} of {services:?}");
        let grants = of_kind(&objects, Kind::ReferenceGrant);
        let granted: Vec<_> = at(grants[0].1, "/spec/to").as_array().unwrap().iter().map(|to| &to["name"]).collect();
        assert!(names.iter().all(|name| granted.iter().any(|granted| *granted == name)), "{message}: {granted:?}");
    }
}

#[test]
fn more_clusters_than_a_route_can_name_share_one_service() {
    let export =
        |number| mk_export(&format!("c{number}"), &format!("ports: [{{port: 80}}], gateways: [10.20.{number}.7]"));
    let documents: Vec<_> = (0..17).map(export).chain([mk_import("payment", &[to_high("")])]).collect();
    let objects = objects(&World::new(&documents));
    assert_eq!(backends(&objects), [("payment-secure-high".to_owned(), 1)]);
    assert_eq!(of_kind(&objects, Kind::EndpointSlice).len(), 17);
}

#[test]
fn a_slice_holds_addresses_of_one_family() {
    let fields = "ports: [{port: 80}], gateways: [10.20.0.8, '2001:db8::7', 10.20.0.7, 127.0.0.1, 10.20.0.7]";
    let world = World::new(&[mk_export("c1", fields), mk_import("payment", &[to_high("")])]);
    let (objects, problems) = import_objects(world.payment(), &settings(DataPlane::Wasm));
    let slices: Vec<_> = of_kind(&objects, Kind::EndpointSlice)
        .into_iter()
        .map(|(name, slice)| {
            let addresses: Vec<_> =
                at(slice, "/endpoints").as_array().unwrap().iter().map(|one| at(one, "/addresses/0")).collect();
            (name, slice["addressType"].as_str().unwrap(), json!(addresses))
        })
        .collect();
    let expected = [
        ("payment-secure-high.c1.ipv4", "IPv4", json!(["10.20.0.7", "10.20.0.8"])),
        ("payment-secure-high.c1.ipv6", "IPv6", json!(["2001:db8::7"])),
    ];
    assert_eq!(slices, expected);
    assert_eq!(reasons(&problems), ["InvalidAddress spec.gateways"]);
    assert_eq!(problems[0].object.to_string(), "ExportedService mc-wan-registry/c1.secure.payment");
    assert!(problems[0].message.contains("127.0.0.1"), "{}", problems[0].message);
}

#[test]
fn the_rules_of_an_older_version_stand_behind_those_of_the_newest() {
    let export = mk_export("c1", "ports: [{port: 80}, {port: 81}], gateways: [10.20.0.7]");
    let old = World::new(&[export.clone(), mk_import("payment", &[to_high("timeouts: {request: 1s}")])]);
    let new = World::new(&[export, mk_import("payment", &[to_high("")])]);
    let rules = |objects: &[Object]| -> Vec<Vec<Value>> {
        let routes = of_kind(objects, Kind::HttpRoute).into_iter();
        routes.map(|(_, route)| at(route, "/spec/rules").as_array().unwrap().clone()).collect()
    };
    let before = rules(&objects(&old));
    let own = rules(&objects(&new));
    let both = vec![new.payment(), old.payment()];
    let versions = ImportVersions { backing: both.clone(), routed: both, ..ImportVersions::default() };
    let now = versions.objects(&settings(DataPlane::Wasm), &mut Places::new()).routes;
    for (port, (rules, (before, own))) in rules(&now).iter().zip(before.iter().zip(&own)).enumerate() {
        let expected: Vec<_> = own.iter().chain(before).cloned().collect();
        assert_eq!(*rules, expected, "port {port}: none of another port, none of ours twice");
        assert_ne!(steering_value_of(&own[0]), steering_value_of(&before[0]), "their steering values differ");
    }
}

#[test]
fn more_rules_than_one_route_can_hold_are_in_several() {
    let rules: Vec<_> = (1..=33).map(|seconds| to_high(&format!("timeouts: {{request: {seconds}s}}"))).collect();
    let objects = objects(&World::new(&[mk_plain_export(), mk_import("payment", &rules)]));
    let routes: Vec<_> = of_kind(&objects, Kind::HttpRoute)
        .into_iter()
        .map(|(name, route)| (name, at(route, "/spec/rules").as_array().unwrap().len()))
        .collect();
    assert_eq!(routes, [("payment.8080", 16), ("payment.8080.001", 16), ("payment.8080.002", 1)]);
}

#[test]
fn what_no_route_can_say_answers_500_and_is_named() {
    let set = |lines: &str| format!("filters: [{{type: RequestHeaderModifier, requestHeaderModifier: {{{lines}}}}}]");
    let table = [
        (set("set: [{name: x-a, value: '1'}]"), true, "a header"),
        (set("add: [{name: x-a, value: '1'}, {name: X-A, value: '2'}]"), false, "a header twice"),
    ];
    for (fields, sayable, message) in table {
        let rules = [to_high(""), to_high(&fields)];
        let world = World::new(&[mk_plain_export(), mk_import("payment", &rules)]);
        let (objects, problems) = import_objects(world.payment(), &settings(DataPlane::Wasm));
        let route = of_kind(&objects, Kind::HttpRoute)[0].1;
        assert_eq!(at(route, "/spec/rules/1/backendRefs").is_array(), sayable, "{message}: its backends");
        assert!(at(route, "/spec/rules/0/backendRefs").is_array(), "{message}: its neighbour's");
        let expected: &[_] = if sayable { &[] } else { &["UnsupportedFilter spec.http.rules[1]"] };
        assert_eq!(reasons(&problems), expected, "{message}");
    }
}

#[test]
fn a_port_that_gateways_need_has_a_listener_elsewhere() {
    let table = [
        ("[{port: 80}, {port: 15021}]", vec![(80, 80), (15021, 65021)], 0, "a stand-in"),
        ("[{port: 65021}, {port: 15021}]", vec![(65021, 65021)], 1, "the stand-in is taken"),
    ];
    for (ports, expected, conflicts, message) in table {
        let export = mk_export("c1", &format!("ports: {ports}, gateways: [10.20.0.7]"));
        let world = World::new(&[export, mk_import("payment", &[to_high("")])]);
        let (objects, problems) = import_objects(world.payment(), &settings(DataPlane::Wasm));
        let services = of_kind(&objects, Kind::Service);
        let (_, clusterset) = services.iter().find(|(name, _)| *name == "payment-clusterset").unwrap();
        let ports: Vec<_> = at(clusterset, "/spec/ports")
            .as_array()
            .unwrap()
            .iter()
            .map(|port| (port["port"].as_u64().unwrap(), port["targetPort"].as_u64().unwrap()))
            .collect();
        assert_eq!(ports, expected, "{message}");
        let routes = of_kind(&objects, Kind::HttpRoute);
        let sections: Vec<_> = routes.iter().map(|(_, route)| at(route, "/spec/parentRefs/0/sectionName")).collect();
        let listeners: Vec<_> = expected.iter().map(|(_, listener)| json!(format!("http-{listener}"))).collect();
        assert!(
            sections.iter().zip(&listeners).all(|(section, listener)| *section == listener),
            "{message}: {sections:?}"
        );
        assert_eq!(problems.len(), conflicts, "{message}: {problems:?}");
    }
}

#[test]
fn a_name_at_the_limit_makes_names_that_an_api_server_takes() {
    let name = "n".repeat(63);
    let export = mk_plain_export()
        .replace("secure.payment", &format!("secure.{name}"))
        .replace("name: payment", &format!("name: {name}"));
    let world = World::new(&[export, mk_import(&name, &[to_high("")])]);
    let import = world.translator.imports().get("secure", &name).unwrap();
    let (objects, problems) = import_objects(import, &settings(DataPlane::Wasm));
    for (name, _) in of_kind(&objects, Kind::Service) {
        assert!(name.len() <= 63, "{name}");
    }
    assert_eq!(reasons(&problems), ["NameTooLong"]);
}

#[test]
fn routes_need_a_grant_of_their_own() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: old, namespace: other}\nspec: {ports: [{port: 8080}]}\n";
    let grant = |kinds: &[(&str, &str)]| {
        let from: Vec<_> =
            kinds.iter().map(|(group, kind)| format!("{{group: {group}, kind: {kind}, namespace: secure}}")).collect();
        format!(
            "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {{name: g, namespace: other}}\n\
             spec: {{from: [{}], to: [{{group: '', kind: Service}}]}}\n",
            from.join(", ")
        )
    };
    let import = ("mc-wan.l7mp.io", "ServiceImport");
    let route = ("gateway.networking.k8s.io", "HTTPRoute");
    let table = [
        (vec![import, route], 0, "both are admitted"),
        (vec![import], 1, "imports alone are"),
        (vec![route], 1, "routes alone are"),
    ];
    for (kinds, missing, message) in table {
        let rule = "{backendRefs: [{name: old, namespace: other, port: 8080}]}".to_owned();
        let documents =
            [mk_plain_export(), service.to_owned(), grant(&kinds), mk_import("payment", &[to_high(""), rule])];
        let world = World::new(&documents);
        let expected = vec!["RefNotPermitted spec.http.rules[1].backendRefs[0]"; missing];
        assert_eq!(reasons(&world.payment().problems), expected, "{message}");
    }
}
