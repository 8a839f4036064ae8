//! Gateway API, `HTTPRequestRedirectFilter`, with a `ResponseHeaderModifier` beside it.

use mcwan_policy::wire::{Action, Header, HeaderModifier, Match, Redirect, Scheme};

use crate::common::{
    ActionBuilder, Asked, HIGH, TableOutcome, ask, ask_config, full, get, mk_config, mk_import, mk_redirect, mk_rule,
    on_exact, on_prefix, on_regex, replacing_prefix, to,
};

/// The outcome of a rule of one match that redirects.
fn redirected(alternative: &Match, redirect: &Redirect, request: &Asked) -> String {
    let rule = mk_rule(std::slice::from_ref(alternative), &[Action::Redirect(redirect.clone())]);
    ask(&[rule], request)
}

#[track_caller]
fn check(rows: &[(&str, Redirect, Asked, &str)]) {
    for (message, redirect, request, expected) in rows {
        assert_eq!(redirected(&on_prefix("/"), redirect, request), *expected, "{message}");
    }
}

fn http(port: u16) -> Asked {
    get("payment.secure", "/a").with_scheme("http").with_port(port)
}

fn https(port: u16) -> Asked {
    get("payment.secure", "/a").with_scheme("https").with_port(port)
}

#[test]
fn the_scheme_is_the_filters_or_the_requests() {
    let to_http = Redirect { scheme: Some(Scheme::Http), ..mk_redirect() };
    let to_https = Redirect { scheme: Some(Scheme::Https), ..mk_redirect() };
    check(&[
        ("the request's, http", mk_redirect(), http(80), "302 http://payment.secure/a"),
        ("the request's, https", mk_redirect(), https(443), "302 https://payment.secure/a"),
        ("the filter's, https", to_https, http(80), "302 https://payment.secure/a"),
        ("the filter's, http", to_http, https(443), "302 http://payment.secure/a"),
    ]);
}

#[test]
fn the_host_is_the_filters_or_the_requests_without_its_port() {
    let elsewhere = Redirect { hostname: Some("new.example.com".to_owned()), ..mk_redirect() };
    let asked = |authority: &str| http(80).with_authority(authority);
    check(&[
        ("the filter's", elsewhere.clone(), asked("payment.secure"), "302 http://new.example.com/a"),
        ("the filter's beside a port", elsewhere, asked("payment.secure:8080"), "302 http://new.example.com/a"),
        ("the request's", mk_redirect(), asked("payment.secure"), "302 http://payment.secure/a"),
        ("another name of the import", mk_redirect(), asked("payment"), "302 http://payment/a"),
        ("its port is not the listener's", mk_redirect(), asked("payment.secure:9999"), "302 http://payment.secure/a"),
        ("its trailing dot stays", mk_redirect(), asked("payment.secure.:9999"), "302 http://payment.secure./a"),
        ("as it was sent", mk_redirect(), asked("Payment.Secure:9999"), "302 http://Payment.Secure/a"),
    ]);
}

#[test]
fn the_port_is_the_filters() {
    let port = |port| Redirect { port: Some(port), ..mk_redirect() };
    let https_port = |port| Redirect { port: Some(port), scheme: Some(Scheme::Https), ..mk_redirect() };
    check(&[
        ("a port", port(8443), http(8080), "302 http://payment.secure:8443/a"),
        ("with a scheme", https_port(8443), http(8080), "302 https://payment.secure:8443/a"),
        ("the smallest", port(1), http(8080), "302 http://payment.secure:1/a"),
        ("the largest", port(65535), http(8080), "302 http://payment.secure:65535/a"),
    ]);
}

#[test]
fn without_port_a_given_scheme_has_its_well_known_port() {
    let to = |scheme| Redirect { scheme: Some(scheme), ..mk_redirect() };
    check(&[
        ("https from another scheme's port", to(Scheme::Https), http(8080), "302 https://payment.secure/a"),
        ("http from another scheme's port", to(Scheme::Http), https(8443), "302 http://payment.secure/a"),
        ("the request's own scheme, given", to(Scheme::Http), http(8080), "302 http://payment.secure/a"),
    ]);
}

#[test]
fn without_port_and_scheme_it_is_the_listeners() {
    check(&[
        ("http", mk_redirect(), http(8080), "302 http://payment.secure:8080/a"),
        ("https", mk_redirect(), https(8443), "302 https://payment.secure:8443/a"),
        ("https on http's port", mk_redirect(), https(80), "302 https://payment.secure:80/a"),
        ("http on https's port", mk_redirect(), http(443), "302 http://payment.secure:443/a"),
    ]);
}

#[test]
fn a_listener_that_stands_in_for_a_port_names_that_port() {
    let asked = |authority: &str, listener| http(listener).with_authority(authority);
    let elsewhere = Redirect { hostname: Some("new.example.com".to_owned()), ..mk_redirect() };
    check(&[
        ("Istio's health", mk_redirect(), asked("payment.secure:15021", 65021), "302 http://payment.secure:15021/a"),
        ("Envoy's admin", mk_redirect(), asked("payment.secure:15000", 65000), "302 http://payment.secure:15000/a"),
        ("under another host", elsewhere, asked("payment.secure:15021", 65021), "302 http://new.example.com:15021/a"),
        ("no port is said", mk_redirect(), asked("payment.secure", 65021), "302 http://payment.secure:15021/a"),
        ("another port is said", mk_redirect(), asked("payment.secure:80", 65021), "302 http://payment.secure:15021/a"),
        (
            "the listener's own",
            mk_redirect(),
            asked("payment.secure:65021", 65021),
            "302 http://payment.secure:65021/a",
        ),
        (
            "none stands behind it",
            mk_redirect(),
            asked("payment.secure:15022", 65022),
            "302 http://payment.secure:65022/a",
        ),
        ("no stand-in", mk_redirect(), asked("payment.secure:15021", 15021), "302 http://payment.secure:15021/a"),
    ]);
}

#[test]
fn the_default_port_of_the_resulting_scheme_is_left_out() {
    let to = |scheme, port| Redirect { scheme, port: Some(port), ..mk_redirect() };
    check(&[
        ("http, given", to(Some(Scheme::Http), 80), https(8443), "302 http://payment.secure/a"),
        ("https, given", to(Some(Scheme::Https), 443), http(8080), "302 https://payment.secure/a"),
        ("http, the request's", to(None, 80), http(8080), "302 http://payment.secure/a"),
        ("https, the request's", to(None, 443), https(8443), "302 https://payment.secure/a"),
        ("the listener's", mk_redirect(), http(80), "302 http://payment.secure/a"),
        ("https's under http stays", to(Some(Scheme::Http), 443), https(8443), "302 http://payment.secure:443/a"),
        ("http's under https stays", to(Some(Scheme::Https), 80), http(80), "302 https://payment.secure:80/a"),
    ]);
}

#[test]
fn the_path_is_the_requests_with_its_query_unless_the_filter_modifies_it() {
    let with = |rewrite| Redirect { path: Some(rewrite), ..mk_redirect() };
    let rows = [
        ("as it is", mk_redirect(), "/foo/bar?q=1&r", "/foo/bar?q=1&r"),
        ("only a query sign", mk_redirect(), "/foo?", "/foo?"),
        ("a full path", with(full("/x")), "/foo/bar?q=1", "/x?q=1"),
        ("a full path without query", with(full("/x/")), "/foo/bar", "/x/"),
        ("a prefix", with(replacing_prefix("/x")), "/foo/bar?q=1", "/x/bar?q=1"),
        ("a prefix to nothing", with(replacing_prefix("")), "/foo", "/"),
        ("a prefix to nothing, with more", with(replacing_prefix("/")), "/foo/bar", "/bar"),
    ];
    for (message, redirect, path, expected) in rows {
        let request = http(80).with_path(path);
        let expected = format!("302 http://payment.secure{expected}");
        assert_eq!(redirected(&on_prefix("/foo"), &redirect, &request), expected, "{message}");
    }
}

#[test]
fn a_prefix_replacement_on_another_kind_of_path_is_invalid() {
    let redirect = Redirect { path: Some(replacing_prefix("/x")), ..mk_redirect() };
    for alternative in [on_exact("/a"), on_regex("/a")] {
        assert_eq!(redirected(&alternative, &redirect, &http(80)), "500 InvalidFilter", "{alternative:?}");
    }
    let redirect = Redirect { path: Some(full("/x")), ..mk_redirect() };
    for alternative in [on_exact("/a"), on_regex("/a")] {
        let outcome = redirected(&alternative, &redirect, &http(80));
        assert_eq!(outcome, "302 http://payment.secure/x", "{alternative:?} and a full path");
    }
}

#[test]
fn the_status_is_one_of_the_redirects_that_gateway_api_knows() {
    for status in [301, 302, 303, 307, 308] {
        let redirect = Redirect { status, ..mk_redirect() };
        let expected = format!("{status} http://payment.secure/a");
        assert_eq!(redirected(&on_prefix("/"), &redirect, &http(80)), expected);
    }
    for status in [0, 200, 300, 304, 305, 306, 309, 404, 500, 999, u16::MAX] {
        let redirect = Redirect { status, ..mk_redirect() };
        assert_eq!(redirected(&on_prefix("/"), &redirect, &http(80)), "500 InvalidFilter", "{status}");
    }
}

#[test]
fn values_that_cannot_be_are_invalid() {
    let hostname = |name: &str| Redirect { hostname: Some(name.to_owned()), ..mk_redirect() };
    let path = |rewrite| Redirect { path: Some(rewrite), ..mk_redirect() };
    let rows = [
        ("port 0", Redirect { port: Some(0), ..mk_redirect() }),
        ("an empty host", hostname("")),
        ("a host with a path", hostname("a.example/b")),
        ("a host with a line break", hostname("a.example\r\nset-cookie: x")),
        ("a host with a space", hostname("a example")),
        ("a host with a user", hostname("user@a.example")),
        ("a wildcard", hostname("*.example.com")),
        ("a full path that is none", path(full("x"))),
        ("a prefix with a query", path(replacing_prefix("/x?y"))),
        ("a path with a line break", path(full("/x\r\ny"))),
    ];
    for (message, redirect) in rows {
        assert_eq!(redirected(&on_prefix("/"), &redirect, &http(80)), "500 InvalidFilter", "{message}");
    }
}

#[test]
fn an_invalid_redirect_refuses_its_own_share_only() {
    let bad = Action::Redirect(Redirect { status: 200, ..mk_redirect() });
    let rules = [mk_rule(&[on_prefix("/a")], &[bad]), mk_rule(&[on_prefix("/b")], &[to(HIGH)])];
    assert_eq!(ask(&rules, &http(80)), "500 InvalidFilter");
    assert_eq!(ask(&rules, &http(80).with_path("/b")), "high", "another rule");
}

/// The header lines of a redirect with this modifier, as `name: value` separated by `; `, or the refusal.
fn modified(headers: HeaderModifier) -> String {
    let rule = mk_rule(&[], &[Action::Redirect(Redirect { headers, ..mk_redirect() })]);
    match ask_config(&mk_config(&[mk_import("secure/payment", &[rule])]), &http(80)) {
        TableOutcome::Redirect { headers, .. } => {
            let lines: Vec<String> = headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
            lines.join("; ")
        }
        other => other.to_string(),
    }
}

fn lines(lines: &[(&str, &str)]) -> Vec<Header> {
    lines.iter().map(|(name, value)| Header { name: (*name).to_owned(), value: (*value).to_owned() }).collect()
}

#[test]
fn a_response_header_modifier_changes_the_redirect() {
    let rows = [
        ("nothing", HeaderModifier::default(), ""),
        (
            "set and add, names in lower case",
            HeaderModifier {
                set: lines(&[("X-Set", "1")]),
                add: lines(&[("X-Add", "2"), ("x-more", "3")]),
                remove: vec!["x-gone".to_owned()],
            },
            "; x-set: 1; x-add: 2; x-more: 3",
        ),
        (
            "set after remove",
            HeaderModifier { set: lines(&[("x-a", "1")]), remove: vec!["x-a".to_owned()], ..HeaderModifier::default() },
            "; x-a: 1",
        ),
        (
            "add after set",
            HeaderModifier { set: lines(&[("x-a", "1")]), add: lines(&[("X-A", "2")]), ..HeaderModifier::default() },
            "; x-a: 1; x-a: 2",
        ),
        (
            "values as they are",
            HeaderModifier { set: lines(&[("cache-control", "No-Store, max-age=0")]), ..HeaderModifier::default() },
            "; cache-control: No-Store, max-age=0",
        ),
    ];
    for (message, modifier, expected) in rows {
        assert_eq!(modified(modifier), format!("location: http://payment.secure/a{expected}"), "{message}");
    }
}

#[test]
fn a_modifier_that_cannot_be_is_refused() {
    let set = |name, value| HeaderModifier { set: lines(&[(name, value)]), ..HeaderModifier::default() };
    let add = |name, value| HeaderModifier { add: lines(&[(name, value)]), ..HeaderModifier::default() };
    let remove = |name: &str| HeaderModifier { remove: vec![name.to_owned()], ..HeaderModifier::default() };
    let rows = [
        ("a header of ours, set", set("x-mcwan-reason", "NoBackend")),
        ("a header of ours, added", add("x-mcwan-target", "high")),
        ("a header of ours, removed", remove("x-mcwan-port")),
        ("a header of ours in another case", set("X-MCWAN-Anything", "1")),
        ("an empty name", set("", "1")),
        ("a name with a space", add("x a", "1")),
        ("a name with a colon", set(":status", "200")),
        ("a name beyond ASCII", remove("é")),
        ("a value with a line break", set("x-a", "1\r\nset-cookie: x")),
        ("a value with NUL", add("x-a", "\0")),
    ];
    for (message, modifier) in rows {
        let refused = modified(modifier);
        assert!(["500 InvalidFilter", "500 UnsupportedFilter"].contains(&refused.as_str()), "{message}: {refused}");
    }
}

#[test]
fn a_redirect_may_be_one_choice_among_others() {
    let rule = mk_rule(&[], &[to(HIGH), Action::Redirect(mk_redirect()).weighing(0)]);
    assert_eq!(ask(&[rule], &http(80)), "high");
    let rule = mk_rule(&[], &[to(HIGH).weighing(0), Action::Redirect(mk_redirect())]);
    assert_eq!(ask(&[rule], &http(80)), "302 http://payment.secure/a");
}

#[test]
fn a_location_keeps_a_path_that_is_not_utf_8() {
    let outcome = redirected(&on_prefix("/"), &mk_redirect(), &http(80).with_path(*b"/\xff"));
    assert_eq!(outcome, r"302 http://payment.secure/\xff");
}
