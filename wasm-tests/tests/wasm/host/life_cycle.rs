//! Which callbacks are called, in which order, for which context.

use std::time::Duration;

use mcwan_wasm_tests::{Callback, Cause, Host, Request, Trace, Update, VmKind};

use super::guest::module;

/// Every callback; a configuration that starts with `x` is refused, one that starts with `w` wants
/// to wait at its end until the next tick.
const EVERY_CALLBACK: &str = r#"
    (global $wait (mut i32) (i32.const 0))
    (global $waiting (mut i32) (i32.const 0))
    (func (export "_initialize"))
    (func (export "proxy_on_context_create") (param i32 i32))
    (func (export "proxy_on_vm_start") (param i32 i32) (result i32) i32.const 1)
    (func (export "proxy_on_configure") (param $root i32) (param $size i32) (result i32)
        (drop (call $get_buffer (i32.const 7) (i32.const 0) (local.get $size) (i32.const 0) (i32.const 4)))
        (drop (call $set_tick_period (i32.const 5000)))
        (if (i32.eq (i32.load8_u (i32.load (i32.const 0))) (i32.const 119))
            (then (global.set $wait (local.get $root))))
        (i32.ne (i32.load8_u (i32.load (i32.const 0))) (i32.const 120)))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) i32.const 0)
    (func (export "proxy_on_log") (param i32))
    (func (export "proxy_on_done") (param $context i32) (result i32)
        (if (i32.eq (local.get $context) (global.get $wait))
            (then (global.set $waiting (local.get $context)) (return (i32.const 0))))
        i32.const 1)
    (func (export "proxy_on_tick") (param i32)
        (if (global.get $waiting) (then
            (drop (call $set_effective_context (global.get $waiting)))
            (drop (call $done)))))
    (func (export "proxy_on_delete") (param i32))
"#;

/// The calls into the module, as `CALLBACK CONTEXT`; those into the canary begin with `canary`.
fn calls(trace: &Trace) -> Vec<String> {
    let calls = trace.callbacks.iter().map(|call| {
        let vm = if call.vm == VmKind::Canary { "canary " } else { "" };
        format!("{vm}{} {}", call.callback, call.context)
    });
    calls.collect()
}

fn host() -> Host {
    Host::builder(&module(EVERY_CALLBACK)).load("{}").expect("it loads")
}

#[test]
fn a_configuration_is_tried_in_a_canary_and_then_loaded() {
    assert_eq!(
        calls(host().loading()),
        [
            "canary _initialize 0",
            "canary proxy_on_context_create 1",
            "canary proxy_on_vm_start 1",
            "canary proxy_on_configure 1",
            "_initialize 0",
            "proxy_on_context_create 1",
            "proxy_on_vm_start 1",
            "proxy_on_configure 1",
        ]
    );
}

#[test]
fn a_first_configuration_that_is_refused_is_a_failure() {
    let failure = Host::builder(&module(EVERY_CALLBACK)).load("x").err().expect("a failure");
    assert_eq!(failure.callback, Callback::Configure);
    assert!(matches!(failure.cause, Cause::Refused), "{failure}");
    assert_eq!(calls(&failure.trace).last().map(String::as_str), Some("canary proxy_on_configure 1"));
}

#[test]
fn a_request_has_a_context_from_its_headers_to_its_end() {
    let mut host = host();
    for context in [2, 3] {
        let effects = host.request(&Request::get("h", "/")).expect("no failure");
        let expected = ["context_create", "request_headers", "log", "done", "delete"];
        assert_eq!(calls(&effects.trace), expected.map(|callback| format!("proxy_on_{callback} {context}")));
    }
}

#[test]
fn an_update_makes_a_new_root_context_before_the_old_one_ends() {
    let mut host = host();
    let Ok(Update::Accepted(trace)) = host.update("{}") else { panic!("want it accepted") };
    assert_eq!(
        calls(&trace)[4..],
        [
            "proxy_on_context_create 2",
            "proxy_on_vm_start 2",
            "proxy_on_configure 2",
            "proxy_on_done 1",
            "proxy_on_delete 1",
        ]
    );
    assert_eq!(calls(&host.tick().expect("no failure")), ["proxy_on_tick 2"]);
}

#[test]
fn an_update_that_the_canary_refuses_leaves_the_live_vm_alone() {
    let mut host = host();
    let Ok(Update::Rejected(failure)) = host.update("x") else { panic!("want it rejected") };
    assert_eq!(failure.callback, Callback::Configure);
    assert!(failure.trace.callbacks.iter().all(|call| call.vm == VmKind::Canary));
    assert_eq!(calls(&host.tick().expect("no failure")), ["proxy_on_tick 1"]);
}

#[test]
fn a_root_context_that_is_not_done_is_deleted_when_it_says_so() {
    let mut host = Host::builder(&module(EVERY_CALLBACK)).load("w").expect("it loads");
    let Ok(Update::Accepted(trace)) = host.update("{}") else { panic!("want it accepted") };
    assert_eq!(calls(&trace).last().map(String::as_str), Some("proxy_on_done 1"));
    assert_eq!(calls(&host.tick().expect("no failure")), ["proxy_on_tick 2", "proxy_on_delete 1"]);
}

#[test]
fn a_tick_is_of_the_root_context_that_asked_for_it() {
    let mut host = host();
    assert_eq!(host.tick_period(), Some(Duration::from_secs(5)));
    host.update("{}").expect("no failure");
    assert_eq!(host.tick_period(), Some(Duration::from_secs(5)));
    let mut silent = Host::builder(&module("")).load("").expect("it loads");
    assert_eq!(silent.tick_period(), None);
    assert_eq!(silent.tick().expect("no failure"), Trace::default());
}

#[test]
fn what_a_module_does_not_export_is_not_called() {
    let mut host = Host::builder(&module("")).load("x").expect("it loads");
    assert_eq!(host.loading(), &Trace::default());
    let request = Request::get("h", "/").header("a", "1");
    let effects = host.request(&request).expect("no failure");
    assert_eq!(effects.trace, Trace::default());
    assert_eq!(&effects.headers, request.headers());
    assert!(matches!(host.update("y"), Ok(Update::Accepted(trace)) if trace == Trace::default()));
}

#[test]
fn fuel_is_the_same_in_every_run() {
    let request = Request::get("h", "/");
    let [first, second] = [(); 2].map(|()| host().request(&request).expect("no failure").trace);
    assert!(first.fuel(Callback::RequestHeaders) > 0);
    assert_eq!(first, second);
}
