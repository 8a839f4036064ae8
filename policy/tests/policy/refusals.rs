//! RESOURCES, "What is refused, and what answers": its table row by row, and what an unreadable match
//! is.

use std::borrow::Cow;

use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{Import, Match, Method, NoMatch, PluginConfig, RefuseReason, UnknownHosts};
use mcwan_policy::{Decision, HeaderLine, RuleMatch};

use crate::common::{
    Asked, HIGH, LOW, MatchBuilder, TableOutcome, ask, ask_config, compile, get, mk_config, mk_import, mk_match,
    mk_open_import, mk_rule, on_exact, on_prefix, on_regex, refuse, to,
};

fn refusal(import: &str, matched: Option<RuleMatch>, status: u16, reason: &str) -> TableOutcome {
    TableOutcome::Refuse { import: Some(import.to_owned()), matched, status, reason: reason.to_owned() }
}

/// What an import with this one match does with `GET /a`.
fn import_with(alternative: &Match) -> String {
    ask(&[mk_rule(std::slice::from_ref(alternative), &[to(HIGH)])], &get("payment.secure", "/a"))
}

#[test]
fn where_no_rule_matches_the_import_says_which_status_answers() {
    let rows = [
        (NoMatch::Forbidden, 403),
        (NoMatch::NotFound, 404),
        (NoMatch::TooManyRequests, 429),
        (NoMatch::ServiceUnavailable, 503),
    ];
    for (no_match, status) in rows {
        let import = Import { no_match, ..mk_import("secure/payment", &[mk_rule(&[on_prefix("/a")], &[to(HIGH)])]) };
        let config = mk_config(&[import]);
        assert_eq!(
            ask_config(&config, &get("payment.secure", "/b")),
            refusal("secure/payment", None, status, "NoRuleMatched")
        );
        assert_eq!(ask_config(&config, &get("payment.secure", "/a")).to_string(), "high", "a rule matches");
    }
}

#[test]
fn an_import_without_rules_refuses_everything() {
    assert_eq!(ask(&[], &get("payment.secure", "/")), "403 NoRuleMatched");
}

#[test]
fn a_rule_without_backend_and_redirect_answers_500() {
    let config = mk_config(&[mk_import("secure/payment", &[mk_rule(&[on_prefix("/a")], &[])])]);
    let matched = Some(RuleMatch { rule: 0, alternative: Some(0) });
    let table = compile(&config);
    let Ok(decision) = table.decide(&get("payment.secure", "/a"), Levels::ALL_IN, || 0);
    let outcome = TableOutcome::of(&decision, &get("payment.secure", "/a"));
    assert_eq!(outcome, refusal("secure/payment", matched, 500, "NoBackend"));
}

#[test]
fn what_cannot_be_done_answers_500_with_its_reason_for_what_the_rule_matches() {
    let rows = [
        (RefuseReason::BackendNotFound, "BackendNotFound"),
        (RefuseReason::RefNotPermitted, "RefNotPermitted"),
        (RefuseReason::UnsupportedFilter, "UnsupportedFilter"),
        (RefuseReason::InvalidFilter, "InvalidFilter"),
    ];
    for (reason, name) in rows {
        let rules = [mk_rule(&[on_prefix("/a"), on_prefix("/b")], &[refuse(reason)]), mk_rule(&[], &[to(HIGH)])];
        let config = mk_config(&[mk_import("secure/payment", &rules)]);
        let matched = Some(RuleMatch { rule: 0, alternative: Some(1) });
        let refused = ask_config(&config, &get("payment.secure", "/b/c"));
        assert_eq!(refused, refusal("secure/payment", matched, 500, name));
        assert_eq!(ask_config(&config, &get("payment.secure", "/c")).to_string(), "high", "what another rule matches");
    }
}

#[test]
fn no_usable_path_is_a_bad_request() {
    let config = mk_config(&[mk_open_import("secure/payment", &[])]);
    let rows: [(&str, Option<&[u8]>); 7] = [
        ("absent", None),
        ("empty", Some(b"")),
        ("an asterisk", Some(b"*")),
        ("absolute form", Some(b"http://payment.secure/")),
        ("authority form", Some(b"payment.secure:443")),
        ("only a query", Some(b"?q=1")),
        ("not UTF-8", Some(b"\xff/")),
    ];
    for (message, path) in rows {
        let request = Asked { path: path.map(<[u8]>::to_vec), ..get("payment.secure", "") };
        assert_eq!(ask_config(&config, &request), refusal("secure/payment", None, 400, "BadRequest"), "{message}");
    }
}

#[test]
fn the_host_is_looked_at_before_the_path() {
    let pass = mk_config(&[mk_open_import("secure/payment", &[])]);
    let refuse = PluginConfig { unknown_hosts: UnknownHosts::Refuse, ..pass.clone() };
    let request = Asked { path: None, ..get("stats.secure", "") };
    assert_eq!(ask_config(&pass, &request), TableOutcome::Pass);
    assert_eq!(ask_config(&refuse, &request).to_string(), "404 UnknownHost");
    let request = Asked { path: None, authority: None, ..get("", "") };
    assert_eq!(ask_config(&refuse, &request).to_string(), "400 BadRequest");
}

#[test]
fn the_path_is_looked_at_before_the_import_is_found_broken() {
    let broken = mk_import("secure/payment", &[mk_rule(&[on_regex("(")], &[to(HIGH)])]);
    let config = mk_config(&[broken]);
    assert_eq!(ask_config(&config, &get("payment.secure", "*")).to_string(), "400 BadRequest");
    assert_eq!(ask_config(&config, &get("payment.secure", "/")).to_string(), "500 InvalidMatch");
}

#[test]
fn a_match_that_cannot_be_read_answers_500_for_the_whole_import() {
    let rules = [
        mk_rule(&[on_exact("/sound")], &[to(HIGH)]),
        mk_rule(&[on_prefix("/a"), on_regex("/b(")], &[to(LOW)]),
        mk_rule(&[], &[to(HIGH)]),
    ];
    let config = mk_config(&[mk_import("secure/payment", &rules)]);
    for path in ["/sound", "/a", "/b(", "/elsewhere"] {
        let outcome = ask_config(&config, &get("payment.secure", path));
        assert_eq!(outcome, refusal("secure/payment", None, 500, "InvalidMatch"), "{path}");
    }
}

#[test]
fn a_broken_import_leaves_its_neighbours_unharmed_and_keeps_its_hosts() {
    let broken = |hostname: &str| Import {
        hostnames: vec![hostname.to_owned()],
        ..mk_import("secure/broken", &[mk_rule(&[on_regex("(")], &[to(HIGH)])])
    };
    let imports = [
        mk_open_import("secure/before", &[]),
        broken("shared.example.com"),
        mk_open_import("secure/after", &["shared.example.com"]),
    ];
    let config = mk_config(&imports);
    let rows = [
        ("before", "high"),
        ("after", "high"),
        ("broken", "500 InvalidMatch"),
        ("shared.example.com", "500 InvalidMatch"),
        ("unknown.example.com", "pass"),
    ];
    for (authority, expected) in rows {
        assert_eq!(ask_config(&config, &get(authority, "/")).to_string(), expected, "{authority}");
    }
}

#[test]
fn an_action_on_a_target_that_is_not_there_never_routes() {
    let rules = [mk_rule(&[on_prefix("/a")], &[to(3)]), mk_rule(&[on_prefix("/b")], &[to(u32::MAX)])];
    let config = mk_config(&[mk_import("secure/payment", &rules), mk_open_import("secure/stats", &[])]);
    for path in ["/a", "/b"] {
        let outcome = ask_config(&config, &get("payment.secure", path));
        assert!(matches!(outcome, TableOutcome::Refuse { status: 500, .. }), "{path}: {outcome}");
    }
    assert_eq!(ask_config(&config, &get("stats.secure", "/a")).to_string(), "high", "its neighbour");
}

#[test]
fn hostnames_that_are_none_never_widen_what_an_import_has() {
    for hostname in
        ["", "*", "*.", "**.example.com", "*example.com", "a.*.com", "a b.example.com", "*.*.com", ".", "*.com:80"]
    {
        let odd = mk_open_import("secure/odd", &[hostname]);
        let config = mk_config(&[odd, mk_open_import("secure/stats", &[])]);
        for authority in ["a.example.com", "xexample.com", "a.b.com", "com", "*"] {
            assert_eq!(ask_config(&config, &get(authority, "/")), TableOutcome::Pass, "{hostname:?}: {authority}");
        }
        assert_eq!(ask_config(&config, &get("stats.secure", "/")).to_string(), "high", "{hostname:?}: its neighbour");
    }
}

/// Asserts of each of these path values whether an import with it is refused.
#[track_caller]
fn check_path_values<'v>(values: impl IntoIterator<Item = &'v str>, expected: &str) {
    for value in values {
        for alternative in [on_exact(value), on_prefix(value)] {
            assert_eq!(import_with(&alternative.method(Method::Trace)), expected, "{value:?}");
        }
    }
}

#[test]
fn a_path_value_follows_the_validation_of_gateway_api() {
    let sound = r"/ /a /a/ /a/b /a.b /.a /..a /a.. /a/.b /a./b /... /a~b /%20 /%25 /a%2Eb /a%2e%2E /-._~!$&'()*+,;=:@";
    check_path_values(sound.split_whitespace(), "403 NoRuleMatched");
    for broken in [
        "a a/ * // /a//b /a// /./a /a/./b /../a /a/../b /a/.. /a/. /. /..",
        "/a%2fb /a%2Fb /% /%2 /%2g /%zz /a%",
        r#"/# /a#b /a?b /a"b /a\b /a<b /a[b] /a{b} /a|b /a^b /a`b /é"#,
    ] {
        check_path_values(broken.split_whitespace(), "500 InvalidMatch");
    }
    check_path_values(["", " ", "/a b", "/a\n", "/\0"], "500 InvalidMatch");
}

#[test]
fn a_header_or_parameter_name_is_a_token() {
    let sound = r"x-a X-A a 1 _ !#$%&'*+-.^_`|~ x.y";
    let broken = r#"x:a :method x/a x=a x,a x[] é x" (x) x@y x{} <x> x\ x?"#;
    let broken = broken.split_whitespace().chain(["", " ", "x a", "x\n", "x\0"]);
    let rows = sound.split_whitespace().map(|name| (name, "403 NoRuleMatched"));
    for (name, expected) in rows.chain(broken.map(|name| (name, "500 InvalidMatch"))) {
        assert_eq!(import_with(&mk_match().header(name, "1")), expected, "header {name:?}");
        assert_eq!(import_with(&mk_match().query(name, "1")), expected, "query parameter {name:?}");
    }
}

#[test]
fn a_refusal_has_a_sentence_for_the_person_at_the_client() {
    let rules = [mk_rule(&[on_prefix("/a")], &[refuse(RefuseReason::BackendNotFound)])];
    let table = compile(&mk_config(&[mk_import("secure/payment", &rules)]));
    for (path, status) in [("/a", 500), ("/b", 403), ("*", 400)] {
        let request = get("payment.secure", path);
        let Ok(decision) = table.decide(&request, Levels::ALL_IN, || 0);
        let Decision::Reply(reply) = decision else { panic!("{path} is refused") };
        assert_eq!(reply.status, status, "{path}");
        assert!(reply.body.is_ascii() && reply.body.contains(' '), "{path}: {:?}", reply.body);
        assert!(!reply.body.trim_end().contains('\n'), "{path}: one sentence: {:?}", reply.body);
    }
}

/// A request whose first part cannot be read.
struct Unreadable;

impl mcwan_policy::Request for Unreadable {
    type Error = &'static str;

    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error> {
        Err("the host call failed")
    }

    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error> {
        Ok(None)
    }

    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error> {
        Ok(None)
    }

    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error> {
        Ok(None)
    }

    fn port(&self) -> Result<Option<u16>, Self::Error> {
        Ok(None)
    }

    fn headers(&self) -> Result<&[HeaderLine], Self::Error> {
        Ok(&[])
    }
}

#[test]
fn a_request_that_cannot_be_read_ends_the_decision() {
    let table = compile(&mk_config(&[mk_open_import("secure/payment", &[])]));
    assert_eq!(table.decide(&Unreadable, Levels::ALL_IN, || 0).err(), Some("the host call failed"));
}
