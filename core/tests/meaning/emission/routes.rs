//! Rules that users' `HTTPRoute`s give.

use mcwan_core::api::{DataPlane, RouteKind};
use mcwan_core::emit::object::Kind;
use mcwan_core::problem::Reason;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, input};
use mcwan_core::translate::{Import, Options};
use mcwan_policy::wire::{Action, NoMatch, PathMatch, Rule};
use serde_json::json;

use super::world::{
    World, at, import_objects, mk_export, mk_import, mk_plain_export, of_kind, options, reasons, settings, to_high,
};

/// The parent that is recommended: the `ServiceImport` of the Multi-Cluster Services API.
pub(super) const PARENT: &str = "{group: multicluster.x-k8s.io, kind: ServiceImport, name: payment}";

/// A route of namespace `secure`, created in a second, with these parents and rules.
pub(super) fn mk_route(name: &str, second: u8, parents: &[&str], rules: &[String]) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n\
         metadata: {{name: {name}, namespace: secure, creationTimestamp: '2026-11-20T08:00:{second:02}Z'}}\n\
         spec:\n  parentRefs: [{}]\n  rules: [{}]\n",
        parents.join(", "),
        rules.join(", ")
    )
}

/// A rule for a path that leads over the tier.
pub(super) fn on(path: &str) -> String {
    to_high(&format!("matches: [{{path: {{value: {path}}}}}]"))
}

/// The rules of an import: `[PORTS] PATH ACTION`.
pub(super) fn rules(import: &Import) -> Vec<String> {
    let path = |rule: &Rule| match rule.matches.first().and_then(|one| one.path.clone()) {
        Some(
            PathMatch::Exact(path) | PathMatch::Prefix(path) | PathMatch::RawPrefix(path) | PathMatch::Regex(path),
        ) => path,
        None => "*".to_owned(),
    };
    let action = |rule: &Rule| match &rule.actions[..] {
        [Action::Forward(forward)] => import.wire.targets[usize::try_from(forward.target).unwrap()].name.clone(),
        [Action::Refuse(refuse)] => format!("{:?}", refuse.reason),
        other => format!("{other:?}"),
    };
    import.wire.rules.iter().map(|rule| format!("{:?} {} {}", rule.ports, path(rule), action(rule))).collect()
}

/// What becomes of each route's parents: `ROUTE` and the reason.
pub(super) fn verdicts(import: &Import) -> Vec<String> {
    let verdict = |verdict: &Result<Vec<u16>, (Reason, String)>| match verdict {
        Ok(lost) if lost.is_empty() => "Accepted".to_owned(),
        Ok(lost) => format!("Accepted, but for {lost:?}"),
        Err((reason, _)) => reason.to_string(),
    };
    import.attachments.iter().map(|one| format!("{} {}", one.route.key.name, verdict(&one.verdict))).collect()
}

#[test]
fn a_route_below_an_import_gives_its_rules() {
    let ours = PARENT.replace("multicluster.x-k8s.io", "mc-wan.l7mp.io");
    for parent in [PARENT, &ours] {
        let world = World::new(&[mk_plain_export(), mk_route("pay", 0, &[parent], &[on("/pay")])]);
        assert_eq!(rules(world.payment()), ["[] /pay high"], "{parent}");
        assert_eq!(verdicts(world.payment()), ["pay Accepted"]);
        assert_eq!(world.payment().wire.no_match, NoMatch::NotFound, "as Gateway API says");
        let origin = &world.payment().rules[0];
        assert_eq!(
            (origin.object.to_string(), origin.field.to_string()),
            ("HTTPRoute secure/pay".into(), "spec.rules[0]".into())
        );
    }
    let gateway = World::new(&[mk_plain_export(), mk_route("pay", 0, &["{name: payment}"], &[on("/pay")])]);
    assert_eq!(verdicts(gateway.payment()), [""; 0], "a Gateway of that name is none of ours");
}

#[test]
fn of_routes_the_older_comes_first_and_then_the_name() {
    let route = |name: &str, second: u8| mk_route(name, second, &[PARENT], &[on(&format!("/{name}"))]);
    let world = World::new(&[mk_plain_export(), route("b", 1), route("c", 0), route("a", 1)]);
    assert_eq!(rules(world.payment()), ["[] /c high", "[] /a high", "[] /b high"]);
}

#[test]
fn rules_of_a_service_import_are_never_merged_with_others() {
    let route = mk_route("pay", 0, &[PARENT], &[on("/pay")]);
    let own = mk_import("payment", &[on("/own")]);
    let with = |import: String| World::new(&[mk_plain_export(), import, route.clone()]);
    let world = with(own.clone());
    assert_eq!(rules(world.payment()), ["[] /own high"]);
    assert_eq!(verdicts(world.payment()), ["pay Conflicted"]);
    let refusing = with(own.replace("rules:\n    - ", "rules: [] #"));
    assert_eq!(rules(refusing.payment()), [""; 0], "everything is refused");
    assert_eq!(verdicts(refusing.payment()), ["pay Conflicted"]);
    let waiting = own.replace("rules:\n    - ", "noMatch: {status: 503} #");
    let given = with(waiting.clone());
    assert_eq!(rules(given.payment()), ["[] /pay high"], "it asks for no rules of its own");
    assert_eq!(given.payment().wire.no_match, NoMatch::ServiceUnavailable);
    let none = World::new(&[mk_plain_export(), waiting]);
    assert_eq!(rules(none.payment()), [""; 0], "there are none yet, so nothing is open");
}

#[test]
fn a_parent_is_for_the_ports_that_fit_it() {
    let export = mk_export(
        "c1",
        "ports: [{name: http, port: 8080}, {name: admin, port: 9090}], gateways: [10.20.0.7], defaultTier: high",
    );
    let parent = |more: &str| PARENT.replace('}', &format!(", {more}}}"));
    let table = [
        ("port: 8080", vec!["[8080] /pay high", "[9090] * high"], "Accepted", "a number"),
        ("sectionName: admin", vec!["[9090] /pay high", "[8080] * high"], "Accepted", "a name"),
        ("sectionName: http, port: 8080", vec!["[8080] /pay high", "[9090] * high"], "Accepted", "both"),
        ("sectionName: http, port: 9090", vec!["[] * high"], "NoMatchingParent", "one of another"),
        ("port: 1", vec!["[] * high"], "NoMatchingParent", "none"),
    ];
    for (more, expected, verdict, message) in table {
        let world = World::new(&[export.clone(), mk_route("pay", 0, &[&parent(more)], &[on("/pay")])]);
        assert_eq!(rules(world.payment()), expected, "{message}");
        assert_eq!(verdicts(world.payment()), [format!("pay {verdict}")], "{message}");
    }
    let both = [parent("sectionName: http"), parent("sectionName: admin")];
    let world = World::new(&[export, mk_route("pay", 0, &[&both[0], &both[1]], &[on("/pay")])]);
    assert_eq!(rules(world.payment()), ["[8080, 9090] /pay high"], "each by itself, and none is left");
}

#[test]
fn what_a_route_asks_for_in_vain_is_refused_by_name() {
    let backend = |reference: &str| format!("{{backendRefs: [{reference}]}}");
    let table = [
        (
            backend("{name: payment-secure-high, namespace: mc-wan, port: 31111}"),
            "[] * high",
            None,
            "by the tier's port",
        ),
        (
            backend("{name: payment-secure-high, namespace: mc-wan, port: 8080}"),
            "[] * high",
            None,
            "by the service's port",
        ),
        (
            backend("{name: payment-secure-high, namespace: mc-wan, port: 1}"),
            "[] * BackendNotFound",
            Some("BackendNotFound"),
            "by none",
        ),
        (
            backend("{group: example.com, kind: Bucket, name: b}"),
            "[] * BackendNotFound",
            Some("InvalidKind"),
            "no backend",
        ),
        (
            backend("{name: v2, namespace: other, port: 80}"),
            "[] * RefNotPermitted",
            Some("RefNotPermitted"),
            "no grant",
        ),
        ("{}".to_owned(), "[] * []", Some("NoBackend"), "never the parent itself"),
    ];
    for (rule, expected, reason, message) in table {
        let world = World::new(&[mk_plain_export(), mk_route("pay", 0, &[PARENT], &[rule])]);
        assert_eq!(rules(world.payment()), [expected], "{message}");
        let found = reasons(&world.payment().problems);
        let found: Vec<_> = found.iter().filter_map(|text| text.split(' ').next()).collect();
        assert_eq!(found, reason.into_iter().collect::<Vec<_>>(), "{message}");
    }
}

#[test]
fn a_grant_for_routes_admits_a_route_and_no_service_import() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: v2, namespace: other}\nspec: {ports: [{port: 8080}]}\n";
    let grant = |group: &str, kind: &str| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {{name: g, namespace: other}}\n\
             spec: {{from: [{{group: {group}, kind: {kind}, namespace: secure}}], to: [{{group: '', kind: Service}}]}}\n"
        )
    };
    let route =
        mk_route("pay", 0, &[PARENT], &["{backendRefs: [{name: v2, namespace: other, port: 8080}]}".to_owned()]);
    let world = |grant: String| World::new(&[mk_plain_export(), service.to_owned(), grant, route.clone()]);
    let admitted = world(grant("gateway.networking.k8s.io", "HTTPRoute"));
    assert_eq!(rules(admitted.payment()), ["[] * service.v2.other:8080"]);
    assert_eq!(rules(world(grant("mc-wan.l7mp.io", "ServiceImport")).payment()), ["[] * RefNotPermitted"]);
    let route = route.replace("HTTPRoute", "GRPCRoute");
    let world =
        World::new(&[mk_plain_export(), service.to_owned(), grant("gateway.networking.k8s.io", "GRPCRoute"), route]);
    assert_eq!(rules(world.payment()), ["[] .* RefNotPermitted"], "an HTTPRoute is made of it");
    assert!(world.payment().problems[0].message.contains("HTTPRoutes"), "{:?}", world.payment().problems);
}

/// Ports that are not HTTP stay as they are where routes are for others.
#[test]
fn a_route_for_one_port_leaves_what_is_not_http() {
    let ports = "ports: [{name: http, port: 8080}, {name: db, port: 5432, appProtocol: tcp}], gateways: [10.20.0.7]";
    let export = mk_export("own", ports);
    let direct = |parent: &str| {
        let world = World::new(&[export.clone(), mk_route("pay", 0, &[parent], &[on("/pay")])]);
        world.payment().direct.len()
    };
    assert_eq!(direct(&PARENT.replace('}', ", sectionName: http}")), 1);
    assert_eq!(direct(PARENT), 0, "rules for all ports could not hold there");
}

#[test]
fn a_headless_service_has_no_gateway_that_could_apply_rules() {
    let ports = "ports: [{port: 8080}], gateways: [10.20.0.7], properties: {type: Headless}";
    let world = World::new(&[mk_export("c1", ports), mk_route("pay", 0, &[PARENT], &[on("/pay")])]);
    assert_eq!(verdicts(world.payment()), ["pay UnsupportedValue"]);
}

#[test]
fn natively_each_port_has_its_rules() {
    let export = mk_export(
        "c1",
        "ports: [{name: http, port: 8080}, {name: admin, port: 9090}], gateways: [10.20.0.7], defaultTier: high",
    );
    let parent = PARENT.replace('}', ", sectionName: http}");
    let named = |path: &str| on(path).replacen('{', "{name: one, ", 1);
    let route = |name: &str| mk_route(name, 0, &[&parent], &[named(&format!("/{name}"))]);
    let world = World::new(&[export, route("a"), route("b")]);
    let import = Import { data_plane: Some(DataPlane::Native), ..world.payment().clone() };
    let (objects, problems) = mcwan_core::emit::kubernetes::native_objects(&[&import], |_| true);
    assert_eq!(reasons(&problems), [""; 0]);
    let of_port = |port: &str| {
        let routes = of_kind(&objects, Kind::HttpRoute);
        let (_, body) = routes.iter().find(|(name, _)| name.contains(port)).expect("a route for the port");
        let rules = at(body, "/spec/rules").as_array().unwrap().iter();
        rules.map(|rule| format!("{} {}", rule["name"], at(rule, "/matches/0/path/value"))).collect::<Vec<_>>()
    };
    assert_eq!(of_port("8080"), [r#""0" "/a""#, r#""1" "/b""#], "two routes may name their rules alike");
    assert_eq!(of_port("9090"), [r#""2" "/""#]);
    assert!(!import_objects(world.payment(), &settings(DataPlane::Wasm)).0.is_empty());
}

/// What another cluster exports breaks no rules here: of more ports than are served, none has a rule.
#[test]
fn rules_for_a_port_stay_within_the_filters_bound() {
    let ports = |from: u16| {
        (from..from + 64).map(|port| format!("{{name: p{port}, port: {port}}}")).collect::<Vec<_>>().join(", ")
    };
    let export = |cluster: &str, from: u16| {
        mk_export(cluster, &format!("ports: [{}], gateways: [10.20.0.7], defaultTier: high", ports(from)))
    };
    let parent = PARENT.replace('}', ", port: 8000}");
    let world = World::new(&[export("c1", 8000), export("c2", 9000), mk_route("pay", 0, &[&parent], &[on("/pay")])]);
    let [own, others] = &world.payment().wire.rules[..] else { panic!("want two: {:?}", rules(world.payment())) };
    assert_eq!((own.ports.len(), others.ports.len()), (1, 63));
    assert_eq!(mcwan_policy::check(&world.payment().wire), []);
}

#[test]
fn a_route_below_the_service_gives_rules_unless_its_clients_reach_no_gateway() {
    let service = |spec: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: payment, namespace: secure}}\nspec: {{{spec}}}\n")
    };
    let table = [
        ("ports: [{port: 8080}]", "Accepted", "a Service"),
        ("clusterIP: None, ports: [{port: 8080}]", "UnsupportedValue", "headless"),
        ("type: ExternalName, externalName: a.example", "UnsupportedValue", "a name of DNS"),
    ];
    for group in ["''", "core"] {
        let route = mk_route("pay", 0, &[&format!("{{group: {group}, kind: Service, name: payment}}")], &[on("/pay")]);
        for (spec, expected, message) in table {
            let world = World::new(&[mk_plain_export(), route.clone(), service(spec)]);
            assert_eq!(verdicts(world.payment()), [format!("pay {expected}")], "{message}");
        }
        let world = World::new(&[mk_plain_export(), route.clone()]);
        assert_eq!(rules(world.payment()), ["[] /pay high"], "the Service need not be there");
        let key = Key::new("secure", "payment");
        assert!(world.payment().services.contains(&key), "it is looked at again when the Service changes");
    }
}

/// The definition of `HTTPRoute` refuses it; what is asked for all the same is nothing, and not the default tier.
#[test]
fn a_route_without_rules_opens_nothing() {
    let export = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], defaultTier: high");
    let world = World::new(&[export.clone(), mk_route("pay", 0, &[PARENT], &[])]);
    assert_eq!(rules(world.payment()), [""; 0]);
    assert_eq!(verdicts(world.payment()), ["pay Accepted"]);
    let parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment"});
    for (kind, expected, message) in [
        (RouteKind::Http, vec!["[] * []"], "the definition adds a rule without backends"),
        (RouteKind::Grpc, vec![], "that of the other kind adds none"),
    ] {
        let world = World::new(std::slice::from_ref(&export));
        let world = world.named(InputKind::Route(kind), "pay", &json!({"parentRefs": [parent]}));
        assert_eq!(rules(world.payment()), expected, "{message}");
        let found = reasons(&world.payment().problems);
        assert_eq!(found, vec!["NoBackend spec.rules[0].backendRefs"; expected.len()], "{message}");
    }
}

#[test]
fn a_kind_that_is_off_gives_no_rules() {
    let export = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], defaultTier: high");
    let calls = to_high("matches: [{method: {service: a}}]");
    let calls = mk_route("calls", 0, &[PARENT], &[calls]).replace("HTTPRoute", "GRPCRoute");
    let documents = [export, mk_route("pay", 0, &[PARENT], &[on("/pay")]), calls];
    let table = [
        ("HTTPRoute,GRPCRoute", vec!["[] /a/ high"], vec!["calls Accepted", "pay Conflicted"]),
        ("HTTPRoute", vec!["[] /pay high"], vec!["pay Accepted"]),
        ("GRPCRoute", vec!["[] /a/ high"], vec!["calls Accepted"]),
        ("", vec!["[] * high"], vec![]),
    ];
    for (front_ends, expected, verdict) in table {
        let world = World::with(Options { front_ends: front_ends.parse().unwrap(), ..options() }, &documents);
        assert_eq!(rules(world.payment()), expected, "{front_ends}");
        assert_eq!(verdicts(world.payment()), verdict, "{front_ends}");
    }
}

/// The watch may tell of the new one alone.
#[test]
fn a_route_made_again_under_its_name_is_the_youngest() {
    let route = |name: &str, second: u8| mk_route(name, second, &[PARENT], &[on(&format!("/{name}"))]);
    let mut world = World::new(&[mk_plain_export(), route("a", 0), route("b", 1)]);
    assert_eq!(rules(world.payment()), ["[] /a high", "[] /b high"]);
    let old = world.gathered.snapshot.routes.iter().next().unwrap();
    let mut again = json!(old);
    again["metadata"]["uid"] = "another".into();
    again["metadata"]["creationTimestamp"] = "2026-11-20T08:00:02Z".into();
    let again = input::read(InputKind::Route(RouteKind::Http), &again).map_err(|_| "unreadable").unwrap();
    let changes = world.gathered.snapshot.put(again);
    world.translator.update(&world.gathered.snapshot, &changes);
    assert_eq!(rules(world.payment()), ["[] /b high", "[] /a high"]);
}

#[test]
fn a_route_that_goes_leaves_the_next_level() {
    let export = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], defaultTier: high");
    let mut world = World::new(&[export, mk_route("pay", 0, &[PARENT], &[on("/pay")])]);
    assert_eq!(rules(world.payment()), ["[] /pay high"]);
    let changes = world.gathered.snapshot.remove(InputKind::Route(RouteKind::Http), &Key::new("secure", "pay"));
    world.translator.update(&world.gathered.snapshot, &changes);
    assert_eq!(rules(world.payment()), ["[] * high"]);
}
