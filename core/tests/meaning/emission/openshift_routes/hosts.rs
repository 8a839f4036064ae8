//! Who has which host, and which of its paths.

use mcwan_core::snapshot::change::InputKind;
use mcwan_core::translate::RouteOptions;
use serde_json::{Value, json};

use super::super::world::World;
use super::orders::agrees;
use super::{admission, ask, change, hosts, mk_route, mk_route_of, mk_service, refusal, remove, world, world_with};

#[test]
fn paths_are_by_segment_and_the_longest_goes_first() {
    let on = |name: &str, path: &str, port: &str| {
        mk_route(name, json!({"host": "a.b", "path": path, "port": {"targetPort": port}}))
    };
    let world = world(&[on("one", "/a", "web"), on("two", "/a/b/", "admin"), mk_service("shop")]);
    for (path, expected) in [
        ("/a", "service.shop:80"),
        ("/a/b", "service.shop:80"),
        ("/a/b/", "service.shop:81"),
        ("/a/b/c", "service.shop:81"),
        ("/ab", "503"),
        ("/", "503"),
        ("/A", "503"),
    ] {
        assert_eq!(ask(&world, "a.b", 80, path), expected, "{path}");
    }
    assert_eq!(ask(&world, "A.B.:80", 80, "/a"), "service.shop:80", "hosts in any case, with a dot and a port");
    assert_eq!(ask(&world, "b.b", 80, "/a"), "pass");
}

#[test]
fn the_oldest_has_the_host_for_its_namespace() {
    let on = |namespace: &str, name: &str, second, path: &str| {
        mk_route_of(namespace, name, second, &json!({}), json!({"host": "a.b", "path": path}))
    };
    let all = [
        on("other", "first", 1, "/x"),
        on("secure", "second", 2, "/"),
        on("secure", "third", 3, "/"),
        on("other", "fourth", 4, "/y"),
        on("other", "fifth", 5, "/x"),
    ];
    let mut world = world(&[&all[..], &[mk_service("shop")]].concat());
    let told = |world: &World| {
        [("other", "first"), ("secure", "second"), ("secure", "third"), ("other", "fourth"), ("other", "fifth")]
            .map(|(namespace, name)| refusal(world, namespace, name).is_none())
    };
    assert_eq!(told(&world), [true, false, false, true, false], "paths coexist in its namespace, the older first");
    assert_eq!(ask(&world, "a.b", 80, "/"), "pass");
    for gone in ["first", "fourth", "fifth"] {
        remove(&mut world, InputKind::OpenshiftRoute, "other", gone);
    }
    let told = ["second", "third"].map(|name| refusal(&world, "secure", name).is_none());
    assert_eq!(told, [true, false], "those that waited are promoted in turn");
    assert_eq!(ask(&world, "a.b", 80, "/"), "service.shop:80");
}

#[test]
fn a_route_without_a_host_has_one_below_the_domain() {
    let table = [
        ("www", json!({"host": "a.b"}), "a.b", "its own"),
        ("www", json!({"subdomain": "x.y"}), "x.y.apps.example.com", "but for the domain"),
        ("www", json!({}), "www-secure.apps.example.com", "name and namespace"),
        ("a.b.c", json!({"host": ""}), "a-b-c-secure.apps.example.com", "dots become dashes"),
    ];
    for (name, spec, expected, message) in table {
        let options = RouteOptions { domain: Some("apps.example.com".to_owned()), ..RouteOptions::default() };
        let world = world_with(options, &[mk_route(name, spec), mk_service("shop")]);
        assert_eq!(admission(&world, "secure", name).host.as_deref(), Some(expected), "{message}");
        assert_eq!(ask(&world, expected, 80, "/"), "service.shop:80", "{message}");
    }
}

#[test]
fn a_route_that_is_not_ours_is_not_looked_at() {
    let mut other = mk_route("other", json!({"host": "a.b"}));
    other["metadata"]["labels"] = json!({"mc-wan.l7mp.io/router": "default"});
    let world =
        world(&[other, mk_route_of("secure", "www", 9, &json!({}), json!({"host": "a.b"})), mk_service("shop")]);
    assert_eq!(refusal(&world, "secure", "www"), None, "the older claims nothing");
    assert_eq!(hosts(&world).admissions.len(), 1);
}

#[test]
fn one_that_is_refused_shows_the_host_that_it_names() {
    let table = [
        (json!({"host": "A.b"}), Some("A.b")),
        (json!({"host": "a.b", "path": "/a b"}), Some("a.b")),
        (json!({}), None),
    ];
    for (spec, expected) in table {
        let world = world(&[mk_route("www", spec)]);
        assert!(refusal(&world, "secure", "www").is_some());
        assert_eq!(admission(&world, "secure", "www").host.as_deref(), expected);
    }
}

/// A route of a namespace on `a.b`, created at a second, with a `uid`.
fn mk_claim(namespace: &str, second: u8, uid: &str, more: Value) -> Value {
    let mut spec = more;
    spec["host"] = spec.get("host").cloned().unwrap_or_else(|| "a.b".into());
    let mut route = mk_route_of(namespace, "www", second, &json!({}), spec);
    route["metadata"]["uid"] = uid.into();
    route
}

/// Whose route has the host.
fn owner(world: &World) -> &str {
    let owners = ["secure", "other"].map(|namespace| (namespace, refusal(world, namespace, "www")));
    owners.iter().find(|(_, refused)| refused.is_none()).map_or("nobody", |(namespace, _)| *namespace)
}

#[test]
fn who_has_a_host_is_certain() {
    let second = |second, uid: &str| mk_claim("other", second, uid, json!({}));
    let first = |second, uid: &str, more: Value| mk_claim("secure", second, uid, more);
    let passthrough = json!({"tls": {"termination": "passthrough"}});
    let table = [
        (first(1, "b", json!({})), second(2, "a"), "secure", "the older"),
        (first(1, "a", json!({})), second(1, "b"), "secure", "of one age the lesser uid"),
        (first(1, "b", json!({})), second(1, "a"), "other", "whatever the names"),
        (first(1, "a", passthrough), second(2, "b"), "nobody", "one that is refused keeps its claim"),
        (first(1, "a", json!({"path": "/a b"})), second(2, "b"), "other", "one that is invalid has none"),
        (first(1, "a", json!({"host": "A.b"})), second(2, "b"), "other", "nor has one without a host"),
    ];
    for (first, second, expected, message) in table {
        for routes in [[first.clone(), second.clone()], [second, first]] {
            assert_eq!(owner(&world(&routes)), expected, "{message}");
        }
    }
}

#[test]
fn a_host_goes_on_to_the_next_one() {
    let mut world = world(&[mk_claim("secure", 1, "a", json!({})), mk_claim("other", 1, "b", json!({}))]);
    let steps = [
        (mk_claim("secure", 1, "c", json!({})), "other", "made again within a second, it is the younger"),
        (mk_claim("other", 1, "b", json!({"host": "c.d"})), "secure", "another host frees the old one"),
        (mk_claim("other", 1, "b", json!({})), "other", "and takes it again"),
    ];
    for (route, expected, message) in steps {
        change(&mut world, &route);
        let waiting = ["secure", "other"].map(|namespace| refusal(&world, namespace, "www"));
        assert!(expected == "secure" || waiting[0].is_some(), "{message}");
        assert_eq!(waiting[usize::from(expected == "other")], None, "{message}");
        agrees(&world.translator, &world.gathered.snapshot);
    }
    remove(&mut world, InputKind::OpenshiftRoute, "other", "www");
    assert_eq!(refusal(&world, "secure", "www"), None, "its owner is gone");
}

#[test]
fn hosts_of_imports_come_first() {
    let import = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
        "metadata": {"name": "payment", "namespace": "secure"},
        "spec": {"hostnames": ["pay.example.com", "*.wild.example.com"]}});
    let parent =
        json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "cart", "namespace": "store"});
    let view = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "buy", "namespace": "secure"}, "spec": {"parentRefs": [parent], "rules": [{}]}});
    let from = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "secure"});
    let grant = json!({"apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
        "metadata": {"name": "g", "namespace": "store"},
        "spec": {"from": [from], "to": [{"group": "multicluster.x-k8s.io", "kind": "ServiceImport"}]}});
    let exported = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ExportedService",
        "metadata": {"name": "c1.store.cart", "namespace": "mc-wan-registry"},
        "spec": {"cluster": "c1", "namespace": "store", "name": "cart", "exportedAt": "2026-11-20T08:00:00Z",
            "ports": [{"port": 8080}], "gateways": ["10.20.0.7"], "readyPods": 3}});
    let others = [import, view, grant, exported, mk_service("shop")];
    for (host, is_taken, message) in [
        ("payment", true, "by its name"),
        ("payment-clusterset.secure.svc", true, "and namespace"),
        ("payment.other", false, "of another namespace"),
        ("pay.example.com", true, "a host that it names"),
        ("a.wild.example.com", true, "one below"),
        ("a.b.wild.example.com", true, "further below"),
        ("wild.example.com", false, "which that is not"),
        ("cart.store", true, "one that is seen here"),
        ("cart-store-clusterset.secure", true, "as clients call it here"),
        ("10.96.0.9", true, "an address"),
        ("10.96.0.8", false, "of nobody"),
    ] {
        let route = mk_route("www", json!({"host": host}));
        let addressed = world(&[&others[..], &[route]].concat())
            .addressed(InputKind::ClientService, &json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"]}));
        let expected = is_taken.then_some("HostAlreadyClaimed");
        assert_eq!(refusal(&addressed, "secure", "www").as_deref(), expected, "{host}: {message}");
        agrees(&addressed.translator, &addressed.gathered.snapshot);
    }
}
