//! How many calls into the host a request costs, and which.

use mcwan_wasm_tests::{HostCall, Request, Trace};
use serde_json::{Value, json};

use super::config::{always, host, import, payment, prefix, rule, to, to_https, with, with_header};
use super::outcome::play;

const CANONICAL: &str = "payment.secure.svc.cluster.local";

fn trace(import: Value, request: &Request) -> Trace {
    play(&mut host([import]), request).trace
}

#[test]
fn a_request_routed_by_host_and_path_takes_five() {
    let trace = trace(payment(), &Request::get("payment.secure", "/payment"));
    assert_eq!(trace.border_crossings(), 5, "{:?}", trace.host_calls);
}

#[test]
fn one_that_has_the_canonical_host_takes_four() {
    let trace = trace(payment(), &Request::get(CANONICAL, "/payment"));
    assert_eq!(trace.border_crossings(), 4, "{:?}", trace.host_calls);
}

#[test]
fn one_routed_by_method_too_takes_six() {
    let by_method = |method: &str| with(prefix("/a"), "method", json!(method));
    let rules = [rule([by_method("GET")], [to(0)]), rule([by_method("POST")], [to(1)])];
    for method in ["GET", "POST"] {
        let request = Request::new(method, "payment.secure", "/a");
        let trace = trace(import("payment", rules.clone()), &request);
        assert_eq!(trace.border_crossings(), 6, "{method}: {:?}", trace.host_calls);
    }
}

#[test]
fn one_for_a_host_that_is_not_ours_takes_two() {
    let trace = trace(payment(), &Request::get("elsewhere", "/payment"));
    assert_eq!(trace.border_crossings(), 2, "{:?}", trace.host_calls);
}

#[test]
fn a_refused_one_takes_three() {
    let trace = trace(payment(), &Request::get("payment.secure", "/else"));
    assert_eq!(trace.border_crossings(), 3, "{:?}", trace.host_calls);
}

#[test]
fn a_new_path_takes_one_more() {
    let forward = json!({"forward": {"target": 0, "path": {"full": "/new"}}});
    let trace = trace(import("payment", [always(forward)]), &Request::get("payment.secure", "/"));
    assert_eq!(trace.border_crossings(), 6, "{:?}", trace.host_calls);
}

#[test]
fn a_rule_for_a_port_takes_one_more_however_many_there_are() {
    let on = |ports: Value, rule: Value| with(rule, "ports", ports);
    let rules = [on(json!([9090]), always(to(0))), on(json!([8080, 80]), always(to(1)))];
    let mut host = host([import("payment", rules)]);
    host.set_property(&["destination", "port"], Some(&8080_i64.to_le_bytes()));
    let trace = play(&mut host, &Request::get("payment.secure", "/")).trace;
    assert_eq!(trace.border_crossings(), 6, "{:?}", trace.host_calls);
}

#[test]
fn the_method_is_asked_for_only_where_a_candidate_rule_asks_for_it() {
    let by_method = with(prefix("/a"), "method", json!("GET"));
    let rules = [rule([by_method], [to(0)]), rule([prefix("/b")], [to(1)])];
    let gets = |path| {
        trace(import("payment", rules.clone()), &Request::get("payment", path)).count(HostCall::GetHeaderMapValue)
    };
    assert_eq!((gets("/a"), gets("/b")), (3, 2));
}

#[test]
fn the_header_map_is_read_once_and_only_where_a_candidate_rule_asks_for_a_header() {
    let by_header = |value: &str| with_header(prefix("/a"), "x-a", value);
    let matches = ["1", "2", "3"].map(by_header);
    let rules = [rule(matches, [to(0)]), rule([prefix("/b")], [to(1)])];
    let pairs = |path| {
        let request = Request::get("payment", path).header("x-a", "3");
        trace(import("payment", rules.clone()), &request).count(HostCall::GetHeaderMapPairs)
    };
    assert_eq!((pairs("/a"), pairs("/b")), (1, 0));
}

#[test]
fn the_listeners_port_is_asked_for_only_where_a_redirect_needs_it() {
    let redirect = |redirect| import("payment", [always(json!({"redirect": redirect}))]);
    let request = Request::get("payment", "/");
    assert_eq!(trace(redirect(json!({"status": 301})), &request).count(HostCall::GetProperty), 1);
    for known in [json!({"status": 301, "port": 81}), json!({"status": 301, "scheme": "https"})] {
        assert_eq!(trace(redirect(known), &request).count(HostCall::GetProperty), 0);
    }
    assert_eq!(trace(import("payment", [always(to_https())]), &request).count(HostCall::GetHeaderMapValue), 2);
}

#[test]
fn randomness_is_asked_for_once_and_only_where_weights_need_it() {
    let weights = rule([], [to(0), to(1)]);
    let mut split = host([import("payment", [weights])]);
    let request = Request::get("payment", "/");
    let [first, second] = [(); 2].map(|()| play(&mut split, &request).trace.wasi_calls);
    assert!(first <= 2, "{first}");
    assert_eq!(second, 0);
    assert_eq!(trace(payment(), &request).wasi_calls, 0);
}

#[test]
fn nothing_is_logged_or_counted_by_the_host_per_request() {
    let mut host = host([payment()]);
    for (authority, path) in [("payment", "/payment"), ("payment", "/else"), ("payment", "*"), ("elsewhere", "/")] {
        let trace = play(&mut host, &Request::get(authority, path)).trace;
        for call in [HostCall::Log, HostCall::DefineMetric, HostCall::IncrementMetric, HostCall::RecordMetric] {
            assert_eq!(trace.count(call), 0, "{authority}{path}: {call}");
        }
        assert!(trace.log.is_empty(), "{:?}", trace.log);
    }
}
