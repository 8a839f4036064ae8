//! Rules that routes of another namespace than the import's give, for clients there.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_core::api::{DataPlane, RouteKind};
use mcwan_core::emit::kubernetes::Provenance;
use mcwan_core::emit::object::Kind;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, Objects, input};
use mcwan_core::translate::Import;
use mcwan_policy::limits::IMPORT_HOSTNAMES;
use mcwan_policy::wire::{NoMatch, UnknownHosts};
use serde_json::{Value, json};

use super::routes::{PARENT, mk_route, on, rules, verdicts};
use super::world::{World, at, egress_objects, import_objects, mk_export, mk_import, of_kind, reasons, settings};

/// A route of namespace `shop` below `secure/payment`, with more of the parent.
fn mk_consumer(more: &str, rules: &[String]) -> String {
    let parent = PARENT.replace('}', &format!(", namespace: secure{more}}}"));
    mk_route("buy", 0, &[&parent], rules).replace("namespace: secure, creation", "namespace: shop, creation")
}

/// Lets routes of a kind in `shop` refer to what is of this kind in `secure`.
fn mk_grant(kind: &str, to: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {{name: g, namespace: secure}}\n\
         spec: {{from: [{{group: gateway.networking.k8s.io, kind: {kind}, namespace: shop}}], to: [{to}]}}\n"
    )
}

const IMPORT: &str = "{group: multicluster.x-k8s.io, kind: ServiceImport, name: payment}";

fn mk_ports() -> String {
    mk_export(
        "c1",
        "ports: [{name: http, port: 8080}, {name: admin, port: 9090}], gateways: [10.20.0.7], defaultTier: high",
    )
}

fn mk_pod(namespace: &str, address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: egress, namespace: {namespace}, labels: \
         {{gateway.networking.k8s.io/gateway-name: mcwan-egress}}}}\nspec: {{containers: []}}\n\
         status: {{phase: Running, podIPs: [{{ip: {address}}}], conditions: [{{type: Ready, status: 'True'}}]}}\n"
    )
}

/// What clients of `shop` see of the import.
fn seen(world: &World) -> Option<&Import> {
    world.translator.imports().get("shop", "payment.secure").map(|import| &**import)
}

#[test]
fn clients_of_the_routes_namespace_have_its_rules() {
    let service = "{group: '', kind: Service, name: payment}";
    for to in [IMPORT, service] {
        let world = World::new(&[mk_ports(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", to)]);
        assert_eq!(rules(world.payment()), ["[] * high"], "{to}: its own clients have what they had");
        assert_eq!(verdicts(world.payment()), [""; 0]);
        let seen = seen(&world).unwrap();
        assert_eq!(rules(seen), ["[] /pay high"]);
        assert_eq!(verdicts(seen), ["buy Accepted"]);
        assert_eq!(
            (seen.wire.namespace.as_str(), seen.wire.name.as_str()),
            ("secure", "payment"),
            "it is that service"
        );
        assert_eq!(seen.wire.no_match, NoMatch::NotFound);
        assert!(seen.wire.hostnames.contains(&"payment-secure-clusterset.shop.svc.cluster.local".to_owned()));
        assert_eq!(mcwan_policy::check(&seen.wire), []);
    }
}

#[test]
fn without_a_grant_nothing_is_emitted() {
    let table = [
        (String::new(), "none"),
        (mk_grant("GRPCRoute", IMPORT), "for another kind"),
        (mk_grant("HTTPRoute", &IMPORT.replace("payment", "other")), "for another import"),
        (mk_grant("HTTPRoute", IMPORT).replace("namespace: shop", "namespace: other"), "for another namespace"),
        (mk_grant("HTTPRoute", IMPORT).replace("g, namespace: secure", "g, namespace: shop"), "by those who ask"),
    ];
    for (grant, message) in table {
        let documents = [mk_ports(), mk_consumer("", &[on("/pay")]), grant];
        let world = World::new(&documents.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>());
        assert_eq!(seen(&world), None, "{message}");
        assert_eq!(rules(world.payment()), ["[] * high"], "{message}");
        assert_eq!(verdicts(world.payment()), ["buy RefNotPermitted"], "{message}");
    }
}

#[test]
fn a_grant_for_one_kind_of_routes_admits_no_other() {
    let calls = mk_consumer("", &["{matches: [{method: {service: a}}]}".to_owned()]).replace("HTTPRoute", "GRPCRoute");
    let world = World::new(&[mk_ports(), mk_consumer("", &[on("/pay")]), calls, mk_grant("HTTPRoute", IMPORT)]);
    assert_eq!(rules(seen(&world).unwrap()), ["[] /pay high"]);
    assert_eq!(verdicts(seen(&world).unwrap()), ["buy Accepted"]);
    assert_eq!(verdicts(world.payment()), ["buy RefNotPermitted"], "that of the other kind");
}

#[test]
fn the_rules_of_the_import_are_not_run_and_nothing_else_is_open() {
    let own = mk_import("payment", &[on("/own")]);
    let grant = mk_grant("HTTPRoute", IMPORT);
    let world = World::new(&[mk_ports(), own, mk_consumer(", sectionName: admin", &[on("/pay")]), grant.clone()]);
    assert_eq!(rules(world.payment()), ["[] /own high"]);
    assert_eq!(rules(seen(&world).unwrap()), ["[9090] /pay high"], "on the other port there is nothing");
    let world = World::new(&[mk_ports(), mk_consumer(", sectionName: nobody", &[on("/pay")]), grant]);
    assert_eq!(rules(seen(&world).unwrap()), [""; 0]);
    assert_eq!(verdicts(seen(&world).unwrap()), ["buy NoMatchingParent"]);
}

#[test]
fn the_consumer_has_a_gateway_of_its_own() {
    let world = World::new(&[mk_ports(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)]);
    let seen = seen(&world).unwrap();
    let (objects, problems) = import_objects(seen, &settings(DataPlane::Wasm));
    assert_eq!(reasons(&problems), [""; 0]);
    let routes = objects.iter().find(|object| object.id.kind == Kind::HttpRoute).unwrap();
    assert_eq!((&*routes.id.key.namespace, &*routes.id.key.name), ("shop", "payment.secure.8080"));
    assert_eq!(at(&routes.body, "/spec/hostnames/0"), "payment.secure.svc.cluster.local", "what the far gateway knows");
    let service = at(&routes.body, "/spec/rules/0/backendRefs/0/name").as_str().unwrap();
    assert!(service.starts_with("payment-secure-high-") && !service.contains('.'), "a Service's name: {service}");
    let own = import_objects(world.payment(), &settings(DataPlane::Wasm)).0;
    let names = |objects| of_kind(objects, Kind::Service).into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
    assert!(
        names(&objects).contains(service) && !names(&own).contains(service),
        "a tier service of its own: {service}"
    );
    assert!(names(&objects).contains("payment-secure-clusterset"), "what clients call: {:?}", names(&objects));
    let grant = of_kind(&objects, Kind::ReferenceGrant)[0].1;
    assert_eq!(at(grant, "/spec/from/0/namespace"), "shop");
    assert_eq!(at(grant, "/metadata/labels/mc-wan.l7mp.io~1import"), "payment.secure");
    let shared = egress_objects("shop", &[seen], &settings(DataPlane::Wasm));
    assert_eq!(reasons(&shared.problems), [""; 0]);
    assert!(shared.objects.iter().any(|object| object.id.kind == Kind::Gateway && *object.id.key.namespace == *"shop"));

    let services = names(&objects).into_iter().map(str::to_owned).collect();
    let provenance = Provenance {
        namespace: "shop",
        name: "payment.secure",
        steering_key: world.translator.steering_key(),
        services: &services,
        tiers: &[("high", 31111)],
    };
    let rule = at(&routes.body, "/spec/rules/0");
    assert!(provenance.is_own(rule), "one who takes over knows it: {rule}");
}

#[test]
fn its_addresses_are_published_for_the_import_and_go_with_the_grant() {
    let pods = [mk_pod("shop", "10.9.0.1"), mk_pod("secure", "10.9.0.2")];
    let documents = [vec![mk_ports(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)], pods.to_vec()];
    let mut world = World::new(&documents.concat());
    let published = |world: &World| {
        let gateways =
            world.translator.cluster(&world.gathered.snapshot, &world.translator.callers()).egress_gateways.into_iter();
        gateways.map(|gateway| format!("{} {:?}", gateway.namespace, gateway.addresses)).collect::<Vec<_>>()
    };
    assert_eq!(published(&world), ["secure [10.9.0.1, 10.9.0.2]"], "the far gateways admit both, for this namespace");
    let changes = world.gathered.snapshot.remove(InputKind::ReferenceGrant, &Key::new("secure", "g"));
    let affected = world.translator.update(&world.gathered.snapshot, &changes);
    assert!(affected.cluster, "the registry is told at once");
    assert_eq!(published(&world), ["secure [10.9.0.2]"]);
    assert_eq!(seen(&world), None);
    assert_eq!(verdicts(world.payment()), ["buy RefNotPermitted"]);
}

/// istiod asks about the Service itself, whatever a grant says of the import.
#[test]
fn this_clusters_own_share_needs_a_grant_to_the_service() {
    let own = mk_export("own", "ports: [{port: 8080}], readyPods: 1");
    let other = mk_export("c1", "ports: [{port: 8080}], readyPods: 1, gateways: [10.20.0.7]");
    let (import, service) = (mk_grant("HTTPRoute", IMPORT), mk_grant("HTTPRoute", "{group: '', kind: Service}"));
    let table = [
        (vec![&own, &other], &import, "[] /pay high", vec!["c1"], 1, "others take all"),
        (vec![&own, &other], &service, "[] /pay high", vec!["c1", "own"], 0, "both take their share"),
        (vec![&own], &import, "[] /pay RefNotPermitted", vec![], 1, "there is nobody else"),
        (vec![&own], &service, "[] /pay high", vec!["own"], 0, "it alone"),
    ];
    for (exports, grant, rule, clusters, problems, message) in table {
        let consumer = mk_consumer("", &[on("/pay")]);
        let documents: Vec<_> = exports.into_iter().chain([&consumer, grant]).cloned().collect();
        let world = World::new(&documents);
        let seen = seen(&world).unwrap();
        assert_eq!(rules(seen), [rule], "{message}");
        let sources = seen.own_tiers().flat_map(|tier| &tier.sources).map(|source| &*source.cluster);
        assert_eq!(sources.collect::<BTreeSet<_>>(), clusters.into_iter().collect(), "{message}");
        let expected = vec!["RefNotPermitted spec.rules[0].backendRefs[0]"; problems];
        assert_eq!(reasons(&seen.problems), expected, "{message}");
    }
}

#[test]
fn a_route_of_a_namespace_that_goes_is_told_so() {
    let documents = [mk_ports(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)];
    let mut world = World::new(&documents);
    world.gathered.snapshot.namespaces = Some(Objects::default());
    let put = |world: &mut World, metadata: Value| {
        let namespace = input::read(InputKind::Namespace, &json!({"metadata": metadata})).map_err(|_| "unreadable");
        let changes = world.gathered.snapshot.put(namespace.unwrap());
        world.translator.update(&world.gathered.snapshot, &changes);
    };
    put(&mut world, json!({"name": "secure"}));
    put(&mut world, json!({"name": "shop"}));
    assert!(seen(&world).is_some());
    put(&mut world, json!({"name": "shop", "deletionTimestamp": "2026-11-20T08:00:00Z"}));
    assert_eq!(seen(&world), None);
    assert_eq!(verdicts(world.payment()), ["buy NoMatchingParent"]);
}

/// A Service without a namespace is one of the route's.
#[test]
fn backends_are_looked_up_where_the_route_is() {
    let service = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: v2, namespace: {namespace}}}\nspec: {{ports: [{{port: 8080}}]}}\n"
        )
    };
    let rule = "{backendRefs: [{name: v2, port: 8080}]}".to_owned();
    let with = |service: String| {
        World::new(&[mk_ports(), mk_consumer("", std::slice::from_ref(&rule)), mk_grant("HTTPRoute", IMPORT), service])
    };
    assert_eq!(rules(seen(&with(service("shop"))).unwrap()), ["[] * service.v2:8080"]);
    assert_eq!(rules(seen(&with(service("secure"))).unwrap()), ["[] * BackendNotFound"]);
}

/// The import's own is over its default tier there, too; others of its namespace are not for this gateway.
#[test]
fn an_import_as_a_backend_is_one_of_the_namespace_or_the_parent() {
    let to = |reference: &str| {
        format!("{{backendRefs: [{{group: multicluster.x-k8s.io, kind: ServiceImport, {reference}}}]}}")
    };
    let cart = mk_ports().replace("payment", "cart");
    let (_, cart) = cart.split_once("---\n").unwrap();
    let till = cart.replace("namespace: secure", "namespace: shop").replace("secure.cart", "shop.till");
    let till = till.replace("name: cart", "name: till");
    let table = [
        ("name: payment, namespace: secure", "[] * high", "the parent"),
        ("name: payment, namespace: secure, port: 9090", "[] * high", "a port of it"),
        ("name: cart, namespace: secure", "[] * RefNotPermitted", "its neighbour"),
        ("name: payment", "[] * BackendNotFound", "one that is not in the route's namespace"),
        ("name: till, port: 8080", "[] * import.till:8080.high", "one that is"),
    ];
    for (reference, expected, message) in table {
        let consumer = mk_consumer("", &[to(reference)]);
        let world = World::new(&[mk_ports(), cart.to_owned(), till.clone(), consumer, mk_grant("HTTPRoute", IMPORT)]);
        let [rule] = &rules(seen(&world).unwrap())[..] else { panic!("{message}: one rule") };
        assert!(rule.starts_with(expected), "{message}: {rule}");
    }
}

#[test]
fn consumers_call_an_import_by_the_hosts_that_users_chose() {
    let hosts = mk_import("payment", &[on("/own")]).replace("spec:\n", "spec:\n  hostnames: [pay.example.com]\n");
    let world = World::new(&[mk_ports(), hosts, mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)]);
    assert!(seen(&world).unwrap().wire.hostnames.contains(&"pay.example.com".to_owned()));
}

#[test]
fn consumers_are_served_though_an_import_has_all_the_hosts_that_it_may_have() {
    let hosts: Vec<_> = (0..IMPORT_HOSTNAMES).map(|number| format!("pay-{number}.example.com")).collect();
    let hosts = format!("spec:\n  hostnames: [{}]\n", hosts.join(", "));
    let own = mk_import("payment", &[on("/own")]).replace("spec:\n", &hosts);
    let world = World::new(&[mk_ports(), own, mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)]);
    for import in [world.payment(), seen(&world).unwrap()] {
        assert_eq!(mcwan_policy::check(&import.wire), [], "{}", import.key);
    }
}

#[test]
fn a_match_that_cannot_be_read_answers_500_to_consumers_alone() {
    let mut world = World::new(&[mk_ports(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)]);
    let parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment", "namespace": "secure",
        "sectionName": "admin"});
    let odd = json!({"metadata": {"name": "odd", "namespace": "shop"},
        "spec": {"parentRefs": [parent], "rules": [{"matches": [{"color": "red"}]}]}});
    let odd = input::read(InputKind::Route(RouteKind::Http), &odd).map_err(|_| "unreadable").unwrap();
    let changes = world.gathered.snapshot.put(odd);
    world.translator.update(&world.gathered.snapshot, &changes);
    assert_eq!(rules(seen(&world).unwrap()), ["[] * InvalidMatch"]);
    assert_eq!(rules(world.payment()), ["[] * high"], "the import's own clients have what they had");
}

#[test]
fn what_the_gateways_own_namespace_imports_has_its_hosts_first() {
    let own = mk_ports().replace("namespace: secure", "namespace: shop").replace(".secure.", ".shop.");
    let (_, own) = own.split_once("---\n").unwrap();
    let world =
        World::new(&[mk_ports(), own.to_owned(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)]);
    let keys: Vec<_> = world.translator.imports_of("shop").iter().map(|import| import.key.to_string()).collect();
    assert_eq!(keys, ["shop/payment", "shop/payment.secure"]);
    let imports = world.translator.imports_of("shop");
    let imports: Vec<&Import> = imports.iter().map(|import| &***import).collect();
    let plugin = Plugin::new(&imports, UnknownHosts::Refuse).unwrap();
    let hosts = |import| plugin.table.claims(import).into_iter().map(|claim| (claim.host, claim.owner));
    let [own, far] = [0, 1].map(|import| hosts(import).collect::<BTreeMap<_, _>>());
    for host in ["payment", "payment-clusterset", "payment.shop"] {
        assert_eq!((own[host], far.contains_key(host)), (Some(0), false), "{host} is its own there");
    }
    assert_eq!(far["payment.secure"], Some(1));
}

#[test]
fn names_that_no_label_has_room_for_are_refused() {
    let long = "n".repeat(60);
    let documents = [mk_ports(), mk_consumer("", &[on("/pay")]), mk_grant("HTTPRoute", IMPORT)];
    let world = World::new(&documents.map(|text| text.replace("payment", &long)));
    assert!(world.translator.imports().get("shop", &format!("{long}.secure")).is_none());
    let own = world.translator.imports().get("secure", &long).unwrap();
    assert_eq!(verdicts(own), ["buy UnsupportedValue"]);
}
