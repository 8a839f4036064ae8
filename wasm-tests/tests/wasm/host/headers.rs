//! Request headers, local replies, the route cache.

use mcwan_wasm_tests::{Action, Headers, Host, Request, RouteCache, Status};

use super::guest::{effects, host, on_request_module, replying, status_in, status_of};

/// `x-a` at 16, `X-A` at 24, `v` at 32, `clear_route_cache` at 40.
const TEXTS: &str = r#"
    (data (i32.const 16) "x-a") (data (i32.const 24) "X-A") (data (i32.const 32) "v")
    (data (i32.const 40) "clear_route_cache")
"#;
const SET: &str = "(drop (call $set_header (i32.const 0) (i32.const 24) (i32.const 3) (i32.const 32) (i32.const 1)))";
const ADD: &str = "(drop (call $add_header (i32.const 0) (i32.const 24) (i32.const 3) (i32.const 32) (i32.const 1)))";
const REMOVE: &str = "(drop (call $remove_header (i32.const 0) (i32.const 24) (i32.const 3)))";
const CLEAR: &str = "(drop (call $foreign (i32.const 40) (i32.const 17)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";

fn values_after(on_request: &str) -> Vec<String> {
    let request = Request::get("h", "/").header("X-a", "1").header("b", "2").header("x-A", "3");
    let effects = host(TEXTS, on_request).request(&request).expect("no failure");
    effects.headers.get_all("x-a").map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

#[test]
fn a_name_in_any_case_is_the_same_name() {
    for (change, expected) in [("", &["1", "3"][..]), (SET, &["v"]), (ADD, &["1", "3", "v"]), (REMOVE, &[])] {
        assert_eq!(values_after(change), expected, "{change}");
    }
}

#[test]
fn the_first_value_is_got() {
    let get = "(drop (call $get_header (i32.const 0) (i32.const 16) (i32.const 3) (i32.const 0) (i32.const 4)))
        (drop (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4))))";
    let request = Request::get("h", "/").header("x-a", "first").header("x-a", "second");
    let effects = host(TEXTS, get).request(&request).expect("no failure");
    assert_eq!(effects.trace.log[0].text, "first");
}

#[test]
fn a_header_may_be_absent_and_so_may_its_map() {
    for (map, expected) in [(0, Status::NotFound), (2, Status::BadArgument), (99, Status::BadArgument)] {
        let call =
            format!("(call $get_header (i32.const {map}) (i32.const 16) (i32.const 3) (i32.const 0) (i32.const 4))");
        assert_eq!(status_of(TEXTS, &call), expected.code(), "map {map}");
    }
}

#[test]
fn an_empty_value_has_no_address() {
    let get = "(i32.store (i32.const 0) (i32.const 7))
        (drop (call $get_header (i32.const 0) (i32.const 16) (i32.const 3) (i32.const 0) (i32.const 4)))
        (if (i32.load (i32.const 0)) (then unreachable))
        (if (i32.load (i32.const 4)) (then unreachable))";
    let request = Request::get("h", "/").header("x-a", "");
    assert!(host(TEXTS, get).request(&request).is_ok());
}

#[test]
fn all_lines_can_be_got_and_set_again() {
    let copy = "(drop (call $get_headers (i32.const 0) (i32.const 0) (i32.const 4)))
        (drop (call $set_headers (i32.const 0) (i32.load (i32.const 0)) (i32.load (i32.const 4))))";
    let request = Request::get("h", "/").header("b", b"\xff\0").header("a", "").header("b", "2");
    let effects = host("", copy).request(&request).expect("no failure");
    assert_eq!(&effects.headers, request.headers());
}

#[test]
fn pairs_that_cannot_be_read_are_none() {
    let set = "(drop (call $set_headers (i32.const 0) (i32.const 40) (i32.const 17)))";
    assert_eq!(effects(TEXTS, set).headers, Headers::default());
}

#[test]
fn a_local_reply_is_recorded_and_the_first_one_counts() {
    // One line `x-a: v` at 64, in the form of pairs.
    let pairs = r#"(data (i32.const 64) "\01\00\00\00\03\00\00\00\01\00\00\00x-a\00v\00")"#;
    let reply = |status: u32| {
        format!(
            "(drop (call $reply (i32.const {status}) (i32.const 40) (i32.const 5) (i32.const 32) (i32.const 1)
                (i32.const 64) (i32.const 18) (i32.const -1)))"
        )
    };
    let effects = effects(&format!("{TEXTS} {pairs}"), &(reply(403) + &reply(500)));
    let reply = effects.reply.expect("a reply");
    assert_eq!((reply.status, reply.details.as_slice(), reply.body.as_slice()), (403, &b"clear"[..], &b"v"[..]));
    assert_eq!((reply.headers.get("x-a"), reply.grpc_status), (Some(&b"v"[..]), -1));
}

#[test]
fn the_action_is_what_the_module_returned() {
    assert_eq!(effects("", "").action, Action::Continue);
    assert_eq!(effects("", "(return (i32.const 1))").action, Action::Pause);
    assert_eq!(effects("", "(return (i32.const 99))").action, Action::Pause);
}

#[test]
fn the_route_is_of_the_headers_as_they_were_when_the_cache_was_cleared() {
    for (calls, expected) in [
        (vec![], RouteCache::Kept),
        (vec![SET], RouteCache::Kept),
        (vec![CLEAR], RouteCache::Cleared),
        (vec![SET, CLEAR], RouteCache::Cleared),
        (vec![CLEAR, SET], RouteCache::ClearedTooEarly),
        (vec![CLEAR, REMOVE, CLEAR], RouteCache::Cleared),
    ] {
        assert_eq!(effects(TEXTS, &calls.concat()).route_cache, expected, "{calls:?}");
    }
}

#[test]
fn a_host_may_lack_clear_route_cache() {
    let call = "(call $foreign (i32.const 40) (i32.const 17) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 4))";
    let module = on_request_module(TEXTS, &replying(call));
    let builder = Host::builder(&module);
    let mut with = builder.clone().load("").expect("it loads");
    let mut without = builder.without_clear_route_cache().load("").expect("it loads");
    assert_eq!(status_in(&mut with), 0);
    assert_eq!(status_in(&mut without), 1, "not found");
    assert_eq!(status_of(TEXTS, &call.replace("i32.const 17", "i32.const 5")), 1, "no such function");
}
