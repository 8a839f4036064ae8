//! Redirects (Gateway API, `HTTPRequestRedirectFilter`).

use mcwan_wasm_tests::{Host, Request};
use serde_json::{Value, json};

use super::config::{config, import, prefix, release, rule};
use super::outcome::FilterOutcome::Redirected;
use super::outcome::{outcome, play};

/// A host whose listener has port 8080, and whose import redirects `/a` like this.
fn host(redirect: &Value) -> Host {
    let config = config([import("payment", [rule([prefix("/a")], [json!({"redirect": redirect})])])]);
    let host = Host::builder(&release()).property(&["destination", "port"], 8080_i64.to_le_bytes());
    host.load(config.to_string()).expect("it loads")
}

#[test]
fn location_is_the_request_but_for_what_the_rule_says() {
    for (redirect, location) in [
        (json!({"status": 301, "scheme": "https"}), "https://payment.secure/a/b?q=1"),
        (json!({"status": 302, "hostname": "b.example.com"}), "http://b.example.com:8080/a/b?q=1"),
        (json!({"status": 303, "port": 81}), "http://payment.secure:81/a/b?q=1"),
        (json!({"status": 307, "port": 80}), "http://payment.secure/a/b?q=1"),
        (json!({"status": 308, "path": {"full": "/c"}}), "http://payment.secure:8080/c?q=1"),
        (json!({"status": 301, "path": {"prefix": "/c"}}), "http://payment.secure:8080/c/b?q=1"),
    ] {
        let status = redirect["status"].as_u64().and_then(|status| status.try_into().ok()).expect("a status");
        let request = Request::get("payment.secure:9", "/a/b?q=1");
        let expected = Redirected(status, location.to_owned());
        assert_eq!(outcome(&mut host(&redirect), &request), expected, "{redirect}");
    }
}

#[test]
fn without_the_property_the_port_is_left_out() {
    let mut host = host(&json!({"status": 301}));
    host.set_property(&["destination", "port"], None);
    let request = Request::get("payment.secure", "/a");
    assert_eq!(outcome(&mut host, &request), Redirected(301, "http://payment.secure/a".to_owned()));
}

#[test]
fn the_answer_has_the_headers_of_a_modifier_beside_the_redirect() {
    let headers = json!({"set": [{"name": "X-A", "value": "1"}], "add": [{"name": "x-b", "value": "2"}]});
    let mut host = host(&json!({"status": 301, "scheme": "https", "headers": headers}));
    let reply = play(&mut host, &Request::get("payment.secure", "/a")).reply.expect("a reply");
    assert_eq!((reply.headers.get("x-a"), reply.headers.get("x-b")), (Some(&b"1"[..]), Some(&b"2"[..])));
    assert_eq!(reply.headers.get("x-mcwan-reason"), None);
}
