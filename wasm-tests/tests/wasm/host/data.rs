//! Configuration, properties, log, time, contexts.

use mcwan_wasm_tests::{Host, LogLevel, Request, Status};

use super::guest::{effects, host, module, on_request_module, replying, status_in, status_of};

#[test]
fn a_configuration_can_be_read_while_it_is_loaded() {
    // Logs both configurations, the plugin's from its second byte on.
    let module = module(
        r#"(func (export "proxy_on_configure") (param i32) (param $size i32) (result i32)
            (drop (call $get_buffer (i32.const 7) (i32.const 1) (i32.const 100) (i32.const 0) (i32.const 4)))
            (drop (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4))))
            (drop (call $get_buffer (i32.const 6) (i32.const 0) (i32.const 100) (i32.const 0) (i32.const 4)))
            (drop (call $log (i32.const 3) (i32.load (i32.const 0)) (i32.load (i32.const 4))))
            (i32.eq (local.get $size) (i32.const 6)))"#,
    );
    let host = Host::builder(&module).vm_configuration("vm").load("plugin").expect("it loads");
    let lines: Vec<_> = host.loading().log.iter().map(|line| (line.level, line.text.as_str())).collect();
    let of_one_vm = [(LogLevel::Info, "lugin"), (LogLevel::Warn, "vm")];
    assert_eq!(lines, [of_one_vm, of_one_vm].concat());
}

#[test]
fn a_buffer_has_bounds() {
    let get = |buffer: u32, start: u32, size: u32| {
        let call = format!(
            "(call $get_buffer (i32.const {buffer}) (i32.const {start}) (i32.const {size}) (i32.const 0) (i32.const 4))"
        );
        let module = on_request_module("", &replying(&call));
        let mut host = Host::builder(&module).vm_configuration("vm").load("").expect("it loads");
        status_in(&mut host)
    };
    assert_eq!(get(6, 0, 100), 0);
    assert_eq!(get(6, 2, 100), 0, "empty");
    assert_eq!(get(6, 3, 100), Status::BadArgument.code(), "starts behind its end");
    assert_eq!(get(6, 1, u32::MAX), Status::BadArgument.code(), "overflows");
    assert_eq!(get(7, 0, 100), Status::NotFound.code(), "not while a request is played");
    assert_eq!(get(0, 0, 100), Status::NotFound.code(), "no body");
    assert_eq!(get(9, 0, 100), Status::BadArgument.code(), "no such buffer");
}

/// `destination`, a zero byte and `port` at 16; `v` at 48.
const PATH: &str = r#"(data (i32.const 16) "destination\00port") (data (i32.const 48) "v")"#;
const GET: &str = "(call $get_property (i32.const 16) (i32.const 16) (i32.const 0) (i32.const 4))";
const LOG_IT: &str = "(drop (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4))))";

#[test]
fn a_property_is_there_if_the_host_has_it() {
    let module = on_request_module(PATH, &format!("(drop {GET}) {LOG_IT}"));
    let mut host = Host::builder(&module).property(&["destination", "port"], "8080").load("").expect("it loads");
    let mut text = || host.request(&Request::get("h", "/")).expect("no failure").trace.log[0].text.clone();
    assert_eq!(text(), "8080");
    assert_eq!(status_of(PATH, GET), Status::NotFound.code());
}

#[test]
fn a_host_can_change_a_property() {
    let mut host = host(PATH, &replying(GET));
    assert_eq!(status_in(&mut host), Status::NotFound.code());
    host.set_property(&["destination", "port"], Some(b"1"));
    assert_eq!(status_in(&mut host), 0);
    host.set_property(&["destination", "port"], None);
    assert_eq!(status_in(&mut host), Status::NotFound.code());
}

#[test]
fn a_property_that_the_module_sets_is_the_requests_own() {
    let set = "(drop (call $set_property (i32.const 16) (i32.const 16) (i32.const 48) (i32.const 1)))";
    let module = on_request_module(PATH, &format!("(drop {GET}) {LOG_IT} {set} (drop {GET}) {LOG_IT}"));
    let mut host = Host::builder(&module).property(&["destination", "port"], "8080").load("").expect("it loads");
    for _ in 0..2 {
        let log = host.request(&Request::get("h", "/")).expect("no failure").trace.log;
        assert_eq!(log.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["8080", "v"]);
    }
}

#[test]
fn log_levels_are_the_six_of_the_abi() {
    let log = |level: u32| format!("(call $log (i32.const {level}) (i32.const 0) (i32.const 0))");
    let lines = effects("", &format!("(drop {}) (drop {})", log(0), log(5))).trace.log;
    assert_eq!(lines.iter().map(|line| line.level).collect::<Vec<_>>(), [LogLevel::Trace, LogLevel::Critical]);
    assert_eq!(status_of("", &log(6)), Status::BadArgument.code());
}

#[test]
fn the_module_can_ask_for_the_log_level() {
    let ask = "(drop (call $get_log_level (i32.const 0)))";
    let module = on_request_module("", &format!("{ask} {}", replying("(i32.load (i32.const 0))")));
    let builder = Host::builder(&module);
    assert_eq!(status_in(&mut builder.clone().load("").expect("it loads")), 2, "info");
    assert_eq!(status_in(&mut builder.log_level(LogLevel::Debug).load("").expect("it loads")), 1);
}

#[test]
fn the_clock_stands_still_between_ticks() {
    let module = module(
        r#"(global $last (mut i64) (i64.const 0))
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (i32.eqz (call $set_tick_period (i32.const 2000))))
        (func (export "proxy_on_tick") (param i32))
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (drop (call $now (i32.const 0)))
            (drop (call $reply
                (i32.wrap_i64 (i64.div_u (i64.sub (i64.load (i32.const 0)) (global.get $last)) (i64.const 1000000)))
                (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const -1)))
            (global.set $last (i64.load (i32.const 0)))
            i32.const 1)"#,
    );
    let mut host = Host::builder(&module).load("").expect("it loads");
    status_in(&mut host);
    assert_eq!(status_in(&mut host), 0);
    host.tick().expect("no failure");
    assert_eq!(status_in(&mut host), 2000);
}

#[test]
fn a_context_must_exist_to_be_acted_for() {
    for (context, expected) in [(0, Status::BadArgument), (2, Status::Ok), (3, Status::BadArgument)] {
        let call = format!("(call $set_effective_context (i32.const {context}))");
        assert_eq!(status_of("", &call), expected.code(), "context {context}");
    }
}

#[test]
fn a_root_context_has_no_request() {
    // Acts for the root context, asks for the headers, and acts for the request again to reply.
    let as_root = "(drop (call $set_effective_context (i32.const 1)))
        (i32.store (i32.const 8) (call $get_headers (i32.const 0) (i32.const 0) (i32.const 4)))
        (drop (call $set_effective_context (i32.const 2)))";
    let mut host = host("", &format!("{as_root} {}", replying("(i32.load (i32.const 8))")));
    assert_eq!(status_in(&mut host), Status::BadArgument.code());
}

#[test]
fn only_a_context_that_waits_can_be_done() {
    assert_eq!(status_of("", "(call $done)"), Status::NotFound.code());
}

#[test]
fn a_function_that_is_not_done_here_says_so() {
    assert_eq!(
        status_of("", "(call $dequeue (i32.const 0) (i32.const 0) (i32.const 4))"),
        Status::Unimplemented.code()
    );
}
