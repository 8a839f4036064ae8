//! DESIGN, "The steering contract between filter and route", a test per sentence.

use mcwan_wasm_tests::{Action, Host, HostCall, Request, RouteCache};
use serde_json::{Value, json};

use super::config::{
    CANARY, HIGH, LOW, always, config, host, import, load, payment, prefix, release, rule, to, to_https, with,
    with_header,
};
use super::outcome::FilterOutcome::Passed;
use super::outcome::{get, header, outcome, play, refused, steered};

const UNKNOWN: &str = "payment.other";

#[test]
fn finds_the_import_by_host() {
    let mut host = host([payment(), import("ledger", [always(to(1))])]);
    let clusterset = "payment.secure.svc.clusterset.local";
    let mut hosts = vec![clusterset.to_owned()];
    for name in ["payment", "payment-clusterset"] {
        hosts.extend(["", ".secure", ".secure.svc", ".secure.svc.cluster.local"].map(|zone| format!("{name}{zone}")));
    }
    for known in hosts {
        assert_eq!(get(&mut host, &known, "/payment"), steered(HIGH), "{known}");
    }
    assert_eq!(get(&mut host, "ledger", "/payment"), steered(LOW));
    for unknown in [
        "paymen",
        "payments",
        UNKNOWN,
        "a.payment.secure",
        "payment.secure.svc.cluster",
        "payment.secure.svc.cluster.local.com",
        "payment-clusterset.secure.svc.clusterset.local",
        "payment-clusterset-clusterset",
    ] {
        assert_eq!(get(&mut host, unknown, "/payment"), Passed, "{unknown}");
    }
}

#[test]
fn host_is_case_insensitive_and_port_and_one_trailing_dot_are_ignored() {
    let mut host = host([payment()]);
    for known in [
        "Payment.SECURE",
        "payment.secure:8080",
        "payment.secure.",
        "payment.secure.:8080",
        "PAYMENT:1",
        "payment:",
        "payment:http",
    ] {
        assert_eq!(get(&mut host, known, "/payment"), steered(HIGH), "{known}");
    }
    for unknown in ["payment.secure..", "payment.secure:80:80", ".payment.secure"] {
        assert_eq!(get(&mut host, unknown, "/payment"), Passed, "{unknown}");
    }
}

#[test]
fn exact_hosts_go_before_wildcards() {
    let with_hosts = |name: &str, target, hosts| with(import(name, [always(to(target))]), "hostnames", hosts);
    let mut host = host([
        with_hosts("wide", 0, json!(["*.example.com"])),
        with_hosts("narrow", 1, json!(["*.pay.example.com"])),
        with_hosts("exact", 2, json!(["a.pay.example.com"])),
    ]);
    for (authority, target) in [
        ("a.pay.example.com", CANARY),
        ("b.pay.example.com", LOW),
        ("b.a.pay.example.com", LOW),
        ("pay.example.com", HIGH),
        ("a.b.example.com", HIGH),
    ] {
        assert_eq!(get(&mut host, authority, "/"), steered(target), "{authority}");
    }
    for unknown in ["example.com", "xexample.com", "a.example.com.org"] {
        assert_eq!(get(&mut host, unknown, "/"), Passed, "{unknown}");
    }
}

#[test]
fn a_host_of_no_import_has_the_steering_header_removed_and_passes() {
    let request = Request::get(UNKNOWN, "/payment").header("x-mcwan-target", HIGH).header("X-MCWAN-Target", LOW);
    let effects = play(&mut host([payment()]), &request);
    assert_eq!(effects.headers, *request.clone().without("x-mcwan-target").headers());
    assert_eq!(effects.reply, None);
}

#[test]
fn a_host_of_no_import_is_refused_where_the_config_says_so() {
    let mut host = load(&with(config([payment()]), "unknownHosts", json!("refuse")));
    assert_eq!(get(&mut host, UNKNOWN, "/payment"), refused(404, "UnknownHost"));
    assert_eq!(get(&mut host, "payment.secure", "/payment"), steered(HIGH));
}

#[test]
fn matches_the_rules_by_gateway_apis_precedence() {
    let path = |kind: &str, path: &str| json!({"path": {kind: path}});
    // Each rule is more specific than the ones before it; all match `/a/b` but for the last.
    let mut host = host([import(
        "payment",
        [
            always(to(0)),
            rule([path("regex", "/a/.*")], [to(1)]),
            rule([prefix("/a")], [to(2)]),
            rule([with(prefix("/a"), "method", json!("GET"))], [to(0)]),
            rule([with_header(prefix("/a"), "x-a", "1")], [to(1)]),
            rule([path("exact", "/a/c")], [to(1)]),
        ],
    )]);
    let mut target = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let request = Request::new(method, "payment.secure", path);
        outcome(&mut host, &headers.iter().fold(request, |request, (name, value)| request.header(name, value)))
    };
    assert_eq!(target("GET", "/", &[]), steered(HIGH), "the rule that matches all");
    assert_eq!(target("POST", "/a", &[]), steered(CANARY), "a prefix before what matches all");
    assert_eq!(target("POST", "/ab", &[]), steered(HIGH), "a prefix ends with an element");
    assert_eq!(target("POST", "/a/b", &[]), steered(CANARY), "a prefix before a regular expression");
    assert_eq!(target("GET", "/a/b", &[("x-a", "1")]), steered(HIGH), "a method before a header");
    assert_eq!(target("POST", "/a/b", &[("x-a", "1")]), steered(LOW), "a header before none");
    assert_eq!(target("GET", "/a/c", &[("x-a", "1")]), steered(LOW), "an exact path before all else");
}

#[test]
fn picks_a_backend_by_weight() {
    let weighted = |target, weight| json!({"forward": {"target": target, "weight": weight}});
    let actions = [weighted(0, 90), weighted(1, 10), weighted(2, 0)];
    let mut host = host([import("payment", [rule([], actions)])]);
    let mut count = |target: &str| {
        let requests = std::iter::repeat_with(|| get(&mut host, "payment", "/")).take(2_000);
        requests.filter(|outcome| *outcome == steered(target)).count()
    };
    assert!((1_700..1_900).contains(&count(HIGH)), "nine tenths");
    assert!((100..300).contains(&count(LOW)), "one tenth");
    assert_eq!(count(CANARY), 0, "a weight of zero is never chosen");
}

#[test]
fn rewrites_path_if_the_rule_says_so() {
    let forward = |path| json!({"forward": {"target": 0, "path": path}});
    let rewrite = |matches: Option<Value>, path| rule(matches, [forward(path)]);
    let mut host = host([import(
        "payment",
        [
            rewrite(Some(prefix("/full")), json!({"full": "/new"})),
            rewrite(Some(prefix("/prefix")), json!({"prefix": "/new"})),
            rewrite(Some(prefix("/strip")), json!({"prefix": "/"})),
            always(to(0)),
        ],
    )]);
    for (before, after) in [
        ("/full/a?q=1", "/new?q=1"),
        ("/prefix", "/new"),
        ("/prefix/", "/new/"),
        ("/prefix/a?q=/prefix", "/new/a?q=/prefix"),
        ("/strip", "/"),
        ("/strip/a", "/a"),
        ("/prefixes", "/prefixes"),
        ("/else?q", "/else?q"),
    ] {
        let effects = play(&mut host, &Request::get("payment.secure", before));
        assert_eq!(header(&effects, ":path"), after, "{before}");
    }
}

#[test]
fn rewrites_authority_to_the_imports_canonical_host() {
    let mut host = host([with(payment(), "hostnames", json!(["pay.example.com"]))]);
    let canonical = "payment.secure.svc.cluster.local";
    for authority in ["payment", "PAYMENT.secure:8080", "pay.example.com", canonical] {
        let effects = play(&mut host, &Request::get(authority, "/payment"));
        assert_eq!(header(&effects, ":authority"), canonical, "{authority}");
    }
    let effects = play(&mut host, &Request::get(UNKNOWN, "/payment"));
    assert_eq!(header(&effects, ":authority"), UNKNOWN);
}

#[test]
fn sets_the_steering_header_replacing_whatever_the_client_sent() {
    let mut host = host([payment()]);
    for sent in [&[][..], &[("x-mcwan-target", LOW)], &[("X-Mcwan-Target", LOW), ("x-mcwan-target", "x")]] {
        let request = Request::get("payment.secure", "/payment");
        let request = sent.iter().fold(request, |request, (name, value)| request.header(name, value));
        assert_eq!(outcome(&mut host, &request), steered(HIGH), "{sent:?}");
    }
}

#[test]
fn nothing_else_that_a_request_carries_is_trusted() {
    let mut host = host([payment()]);
    let forged = [
        ("x-mcwan-port", "1"),
        ("x-mcwan-reason", "NoRuleMatched"),
        ("x-mcwan-target-", LOW),
        ("host", UNKNOWN),
        ("x-forwarded-host", UNKNOWN),
        ("x-envoy-original-path", "/stats"),
        ("x-original-url", "/stats"),
        ("x-http-method-override", "DELETE"),
    ];
    for (name, value) in forged {
        let request = Request::get("payment.secure", "/payment").header(name, value);
        assert_eq!(outcome(&mut host, &request), steered(HIGH), "{name}");
        let request = Request::get("payment.secure", "/else").header(name, value);
        assert_eq!(outcome(&mut host, &request), refused(403, "NoRuleMatched"), "{name}");
    }
}

#[test]
fn touches_no_other_header() {
    let request = Request::get("payment.secure.svc.cluster.local", "/payment")
        .header("Cookie", "a=1")
        .header("x-a", b"\xff")
        .header("x-a", "2");
    let effects = play(&mut host([payment()]), &request);
    assert_eq!(effects.headers, *request.header("x-mcwan-target", HIGH).headers());
}

#[test]
fn clears_the_route_cache_explicitly() {
    let effects = play(&mut host([payment()]), &Request::get("payment.secure", "/payment"));
    assert_eq!(effects.route_cache, RouteCache::Cleared);
}

#[test]
fn tolerates_hosts_that_lack_clear_route_cache() {
    let host = Host::builder(&release()).without_clear_route_cache().load(config([payment()]).to_string());
    let mut host = host.expect("it loads");
    let effects = play(&mut host, &Request::get("payment.secure", "/payment"));
    assert_eq!(header(&effects, "x-mcwan-target"), HIGH);
    assert_eq!(effects.trace.count(HostCall::CallForeignFunction), 1);
}

#[test]
fn answers_locally_where_no_rule_matched() {
    let no_rule = |no_match: &str| with(payment(), "noMatch", json!(no_match));
    for (import, status) in [
        (payment(), 403),
        (no_rule("forbidden"), 403),
        (no_rule("notFound"), 404),
        (no_rule("tooManyRequests"), 429),
        (no_rule("serviceUnavailable"), 503),
        (import("payment", []), 403),
    ] {
        assert_eq!(get(&mut host([import]), "payment.secure", "/else"), refused(status, "NoRuleMatched"));
    }
}

#[test]
fn answers_500_where_the_backend_cannot_be_had() {
    let refuse = |reason: &str| json!({"refuse": {"reason": reason}});
    let no_weight = json!({"forward": {"target": 0, "weight": 0}});
    for (actions, reason) in [
        (vec![], "NoBackend"),
        (vec![no_weight.clone(), no_weight], "NoBackend"),
        (vec![refuse("BackendNotFound")], "BackendNotFound"),
        (vec![refuse("RefNotPermitted")], "RefNotPermitted"),
        (vec![refuse("UnsupportedFilter")], "UnsupportedFilter"),
        (vec![refuse("InvalidFilter")], "InvalidFilter"),
        (vec![to(3)], "BackendNotFound"),
    ] {
        let rules = [rule([prefix("/a")], actions), rule([prefix("/b")], [to(0)])];
        let mut host = host([import("payment", rules)]);
        assert_eq!(get(&mut host, "payment.secure", "/a"), refused(500, reason));
        assert_eq!(get(&mut host, "payment.secure", "/b"), steered(HIGH), "the rule beside the one with {reason}");
    }
}

#[test]
fn never_continues_after_a_local_reply() {
    let rules = [rule([prefix("/redirect")], [to_https()]), rule([prefix("/refuse")], [])];
    let mut host = host([import("payment", rules)]);
    for path in ["/redirect", "/refuse", "/else", "*"] {
        let request = Request::get("payment.secure", path).header("x-mcwan-target", HIGH);
        let effects = play(&mut host, &request);
        assert!(effects.reply.is_some(), "{path}");
        assert_eq!(effects.action, Action::Pause, "{path}");
        assert_eq!(effects.trace.count(HostCall::SendLocalResponse), 1, "{path}");
    }
}
