//! Rules that users' `GRPCRoute`s give.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::translate::Import;
use mcwan_policy::wire::{Action, NoMatch, RefuseStatus};

use super::routes::{PARENT, mk_route, on, rules, verdicts};
use super::world::{World, at, mk_export, mk_plain_export, of_kind, reasons, to_high};

/// The same of the other kind.
fn mk_grpc_route(name: &str, second: u8, parents: &[&str], rules: &[String]) -> String {
    mk_route(name, second, parents, rules).replace("kind: HTTPRoute", "kind: GRPCRoute")
}

/// A rule for calls that leads over the tier.
fn calls(method: &str) -> String {
    to_high(&format!("matches: [{{method: {{{method}}}}}]"))
}

fn mk_ports(fields: &str) -> String {
    let ports = "ports: [{name: http, port: 8080}, {name: grpc, port: 9090}], gateways: [10.20.0.7]";
    mk_export("c1", &format!("{ports}{fields}"))
}

fn parent(more: &str) -> String {
    PARENT.replace('}', &format!(", {more}}}"))
}

#[test]
fn a_route_of_calls_gives_rules_for_paths() {
    let given = [
        calls("service: pay.v1.Pay, method: Refund"),
        calls("service: pay.v1.Pay"),
        calls("method: Refund"),
        calls("type: RegularExpression, service: 'a|b'"),
        to_high(""),
    ];
    let world = World::new(&[mk_plain_export(), mk_grpc_route("pay", 0, &[PARENT], &given)]);
    let expected = [
        "[] /pay.v1.Pay/Refund high",
        "[] /pay.v1.Pay/ high",
        "[] /[^/]+/Refund high",
        "[] /(?:a|b)/[^/]+ high",
        "[] .* high",
    ];
    assert_eq!(rules(world.payment()), expected);
    assert_eq!(world.payment().wire.no_match, NoMatch::NotFound, "which gRPC reads as UNIMPLEMENTED");
    assert_eq!(world.payment().rules[0].object.to_string(), "GRPCRoute secure/pay");
    assert_eq!(mcwan_policy::check(&world.payment().wire), []);
}

#[test]
fn what_a_call_cannot_have_is_unavailable() {
    let none = "{group: mc-wan.l7mp.io, kind: WANPolicy, name: high, weight: 0},".repeat(16);
    let none = format!("{{backendRefs: [{none}]}}");
    let table = [
        ("{backendRefs: [{name: nobody, port: 80}]}", "BackendNotFound", "a Service that is not there"),
        (&none, "NoBackend", "as many backends as there may be, and no weight"),
        ("{}", "NoBackend", "no backend"),
        ("{backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high, weight: 0}]}", "NoBackend", "no weight"),
    ];
    for (rule, expected, message) in table {
        let world = World::new(&[mk_plain_export(), mk_grpc_route("pay", 0, &[PARENT], &[rule.to_owned()])]);
        let last = world.payment().wire.rules[0].actions.last();
        let Some(Action::Refuse(refuse)) = last else { panic!("{message}: {last:?}") };
        assert_eq!(format!("{:?}", refuse.reason), expected, "{message}");
        assert_eq!((refuse.status, refuse.weight), (RefuseStatus::ServiceUnavailable, 1), "{message}");
        assert_eq!(mcwan_policy::check(&world.payment().wire), [], "{message}");
    }
}

#[test]
fn on_its_ports_a_route_of_calls_has_precedence() {
    let http = |more: &[&str]| mk_route("http", 0, more, &[on("/pay")]);
    let grpc = |more: &str| mk_grpc_route("grpc", 9, &[&parent(more)], &[calls("service: a")]);
    let [of_http, of_grpc] = ["sectionName: http", "sectionName: grpc"].map(parent);
    let table = [
        (
            [http(&[PARENT]), grpc("sectionName: grpc")],
            vec!["[9090] /a/ high", "[8080] /pay high"],
            vec!["grpc Accepted", "http Accepted, but for [9090]"],
            "one of two ports",
        ),
        (
            [http(&[&of_http]), grpc("sectionName: grpc")],
            vec!["[9090] /a/ high", "[8080] /pay high"],
            vec!["grpc Accepted", "http Accepted"],
            "a port each",
        ),
        (
            [http(&[&of_grpc]), grpc("sectionName: grpc")],
            vec!["[9090] /a/ high", "[8080] * high"],
            vec!["grpc Accepted", "http Conflicted"],
            "the only port, and the other has the default tier",
        ),
        (
            [http(&[PARENT]), grpc("port: 1")],
            vec!["[] /pay high"],
            vec!["grpc NoMatchingParent", "http Accepted"],
            "none that there is",
        ),
    ];
    for (routes, expected, verdict, message) in table {
        let world = World::new(&[vec![mk_ports(", defaultTier: high")], routes.to_vec()].concat());
        assert_eq!(rules(world.payment()), expected, "{message}");
        assert_eq!(verdicts(world.payment()), verdict, "{message}");
    }
    let all = mk_grpc_route("grpc", 9, &[PARENT], &[calls("service: a")]);
    let world = World::new(&[mk_ports(""), http(&[PARENT]), all]);
    assert_eq!(rules(world.payment()), ["[] /a/ high"]);
    assert_eq!(verdicts(world.payment()), ["grpc Accepted", "http Conflicted"]);
}

/// What an `HTTPRoute` cannot say is refused by name.
#[test]
fn natively_a_service_alone_is_refused() {
    let native = |rule: String| {
        let world = World::new(&[mk_plain_export(), mk_grpc_route("pay", 0, &[PARENT], &[rule])]);
        let import = Import { data_plane: Some(DataPlane::Native), ..world.payment().clone() };
        let (objects, problems) = mcwan_core::emit::kubernetes::native_objects(&[&import], |_| true);
        let routes = of_kind(&objects, Kind::HttpRoute);
        (at(routes[0].1, "/spec/rules/0/matches/0/path").to_string(), reasons(&problems))
    };
    let (method, problems) = native(calls("service: a, method: B"));
    assert_eq!((method.as_str(), problems), (r#"{"type":"Exact","value":"/a/B"}"#, vec![]));
    let (everything, problems) = native(calls("service: a"));
    assert_eq!(
        everything, r#"{"type":"PathPrefix","value":"/"}"#,
        "all is refused: without it others would match more"
    );
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("InvalidMatch"), "{problems:?}");
    let (_, problems) = native("{backendRefs: [{name: nobody, port: 80}]}".to_owned());
    assert_eq!(problems.len(), 1, "503 is none of its answers: {problems:?}");
}
