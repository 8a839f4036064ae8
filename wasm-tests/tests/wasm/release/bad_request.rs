//! Requests that a client should not send.

use mcwan_wasm_tests::{Headers, Host, Request};
use serde_json::json;

use super::config::{HIGH, LOW, always, host as host_of, import, prefix, rule, to, with, with_header};
use super::outcome::FilterOutcome::Passed;
use super::outcome::{get, outcome, refused, steered};

/// `/h` asks for `x-a: 1`, `/r` for an `x-a` that matches `[a-z]+`, `/` takes the rest.
fn host() -> Host {
    let by_regex = json!([{"name": "x-a", "value": {"regex": "[a-z]+"}}]);
    host_of([import(
        "payment",
        [
            rule([with_header(prefix("/h"), "x-a", "1")], [to(0)]),
            rule([with(prefix("/r"), "headers", by_regex)], [to(0)]),
            rule([prefix("/")], [to(1)]),
        ],
    )])
}

#[test]
fn without_a_usable_authority_it_is_refused() {
    let mut host = host();
    for authority in ["", ".", ":80", "pay ment", "payment\u{e9}"] {
        assert_eq!(get(&mut host, authority, "/"), refused(400, "BadRequest"), "{authority:?}");
    }
    let request = Request::get(b"payment\xff", "/");
    assert_eq!(outcome(&mut host, &request), refused(400, "BadRequest"), "not UTF-8");
    let request = Request::get("payment", "/").without(":authority");
    assert_eq!(outcome(&mut host, &request), refused(400, "BadRequest"), "absent");
    assert_eq!(outcome(&mut host, &Request::from(Headers::default())), refused(400, "BadRequest"), "no header at all");
}

#[test]
fn without_a_usable_path_it_is_refused() {
    let mut host = host();
    for path in ["", "*", "?", "payment", "http://payment.secure/", "//"] {
        let expected = if path == "//" { steered(LOW) } else { refused(400, "BadRequest") };
        assert_eq!(get(&mut host, "payment", path), expected, "{path:?}");
    }
    let request = Request::get("payment", "/").without(":path");
    assert_eq!(outcome(&mut host, &request), refused(400, "BadRequest"), "absent, as of CONNECT");
}

#[test]
fn a_path_that_is_not_utf_8_is_matched_as_bytes() {
    let mut host = host_of([import(
        "payment",
        [rule([json!({"path": {"regex": "/.*"}})], [to(0)]), rule([prefix("/a")], [to(1)])],
    )]);
    assert_eq!(outcome(&mut host, &Request::get("payment", b"/a/\xff")), steered(LOW));
    assert_eq!(outcome(&mut host, &Request::get("payment", b"/\xff")), steered(HIGH));
    assert_eq!(outcome(&mut host, &Request::get("payment", b"\xff")), refused(400, "BadRequest"));
}

#[test]
fn a_value_that_is_not_utf_8_matches_as_bytes() {
    let mut host = host();
    let mut of = |path, value: &[u8]| outcome(&mut host, &Request::get("payment", path).header("x-a", value));
    assert_eq!(of("/r", b"a"), steered(HIGH));
    assert_eq!(of("/r", b"a\xff"), steered(LOW));
    assert_eq!(of("/r", b"\xff"), steered(LOW));
    assert_eq!(of("/h", b"1\xff"), steered(LOW));
}

#[test]
fn each_line_of_a_repeated_header_is_looked_at_by_itself() {
    let mut host = host();
    let mut of = |lines: &[&str]| {
        let request = Request::get("payment", "/h");
        outcome(&mut host, &lines.iter().fold(request, |request, line| request.header("X-A", line)))
    };
    for matching in [&["1"][..], &["1", "2"], &["2", "1"], &["1", "1"]] {
        assert_eq!(of(matching), steered(HIGH), "{matching:?}");
    }
    for other in [&[][..], &["2"], &["1,2"], &["1, 1"], &["", "2"]] {
        assert_eq!(of(other), steered(LOW), "{other:?}");
    }
}

#[test]
fn large_headers_change_nothing() {
    let mut host = host();
    let large = "a".repeat(60 << 10);
    for request in [
        Request::get("payment", "/h").header("x-b", &large).header("x-a", "1"),
        Request::get("payment", "/r").header("x-a", &large),
        Request::get("payment", format!("/h/{large}?{large}")).header("x-a", "1"),
    ] {
        assert_eq!(outcome(&mut host, &request), steered(HIGH));
    }
    assert_eq!(outcome(&mut host, &Request::get("payment", format!("/{large}"))), steered(LOW));
    let long_host = Request::get(large, "/");
    assert_eq!(outcome(&mut host, &long_host), Passed);
}

#[test]
fn many_headers_change_nothing() {
    let many = (0..1_000).fold(Request::get("payment", "/h"), |request, n| request.header(format!("x-{n}"), "1"));
    assert_eq!(outcome(&mut host(), &many), steered(LOW));
    assert_eq!(outcome(&mut host(), &many.header("x-a", "1")), steered(HIGH));
}

#[test]
fn a_steering_header_of_the_client_is_never_kept() {
    let mut host = host_of([
        import("payment", [rule([prefix("/a")], [to(0)])]),
        import("gone", [always(json!({"refuse": {"reason": "BackendNotFound"}}))]),
    ]);
    for names in [&["x-mcwan-target"][..], &["X-MCWAN-TARGET"], &["x-mcwan-target", "X-Mcwan-Target", "x-mcwan-target"]]
    {
        for (authority, path, expected) in [
            ("payment", "/a", steered(HIGH)),
            ("payment", "/b", refused(403, "NoRuleMatched")),
            ("gone", "/", refused(500, "BackendNotFound")),
            ("elsewhere", "/a", Passed),
        ] {
            let request = Request::get(authority, path);
            let request = names.iter().fold(request, |request, name| request.header(name, LOW));
            assert_eq!(outcome(&mut host, &request), expected, "{names:?} to {authority}{path}");
        }
    }
}
