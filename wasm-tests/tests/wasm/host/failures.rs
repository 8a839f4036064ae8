//! Modules that trap, loop, or refuse; host calls that fail on purpose.

use mcwan_wasm_tests::{Callback, Cause, Fault, Host, HostCall, Request, Status, Update};

use super::guest::{host, module, on_request_module, replying, status_in};

const LOG: &str = "(call $log (i32.const 2) (i32.const 0) (i32.const 0))";

#[test]
fn a_trap_is_a_failure_and_the_vm_is_unusable_after_it() {
    let mut host = host("", "unreachable");
    let failure = host.request(&Request::get("h", "/")).expect_err("a trap");
    assert_eq!(failure.callback, Callback::RequestHeaders);
    assert!(matches!(failure.cause, Cause::Trapped(_)), "{failure}");
    for failure in [host.request(&Request::get("h", "/")).err(), host.update("").err()] {
        let failure = failure.expect("a failure");
        assert!(matches!(failure.cause, Cause::Unusable), "{failure}");
    }
}

#[test]
fn a_loop_is_a_failure_and_not_a_hang() {
    let module = on_request_module("", "(loop $again (br $again))");
    let mut host = Host::builder(&module).fuel(1_000_000).load("").expect("it loads");
    let failure = host.request(&Request::get("h", "/")).expect_err("no fuel left");
    assert!(matches!(failure.cause, Cause::OutOfFuel), "{failure}");
}

#[test]
fn a_trap_in_the_canary_rejects_the_update_only() {
    // Traps on an empty configuration: it gets no address then, and reads the word before address 0.
    let module = module(
        r#"(func (export "proxy_on_configure") (param $root i32) (param $size i32) (result i32)
            (drop (i32.load8_u (i32.sub (local.get $size) (i32.const 1))))
            i32.const 1)
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) i32.const 0)"#,
    );
    assert!(Host::builder(&module).load("").is_err());
    let mut host = Host::builder(&module).load("{}").expect("it loads");
    let Ok(Update::Rejected(failure)) = host.update("") else { panic!("want it rejected") };
    assert!(matches!(failure.cause, Cause::Trapped(_)), "{failure}");
    assert!(host.request(&Request::get("h", "/")).is_ok());
}

#[test]
fn a_callback_of_the_wrong_type_is_a_failure() {
    let module = module(r#"(func (export "proxy_on_request_headers") (param i32 i32) (result i32) i32.const 0)"#);
    let failure = Host::builder(&module).load("").err().expect("a failure");
    assert_eq!(failure.callback, Callback::Initialize);
}

#[test]
fn a_fault_answers_every_call_of_its_function() {
    let mut host = host("", &replying(LOG));
    assert_eq!(status_in(&mut host), 0);
    for status in Status::ERRORS {
        host.inject(Fault::always(HostCall::Log, status));
        for _ in 0..2 {
            assert_eq!(status_in(&mut host), status.code());
        }
        host.clear_faults();
    }
    host.inject(Fault::always(HostCall::GetProperty, Status::InternalFailure));
    assert_eq!(status_in(&mut host), 0, "the fault of another function");
}

#[test]
fn a_fault_can_answer_the_nth_call_only() {
    let mut host = host("", &replying(LOG));
    host.inject(Fault::nth(HostCall::Log, 2, Status::BadArgument));
    let statuses = [(); 4].map(|()| status_in(&mut host));
    assert_eq!(statuses, [0, Status::BadArgument.code(), 0, 0]);
}

#[test]
fn a_call_that_fails_on_purpose_has_no_effect_and_is_counted() {
    let mut host = host("", &format!("(drop {LOG})"));
    host.inject(Fault::always(HostCall::Log, Status::InternalFailure));
    let trace = host.request(&Request::get("h", "/")).expect("no failure").trace;
    assert_eq!(trace.count(HostCall::Log), 1);
    assert!(trace.log.is_empty());
}

#[test]
fn a_fault_from_the_start_meets_the_canary() {
    let module = module(
        r#"(func (export "proxy_on_configure") (param i32 i32) (result i32)
            (i32.eqz (call $set_tick_period (i32.const 1))))"#,
    );
    let fault = Fault::always(HostCall::SetTickPeriodMilliseconds, Status::InternalFailure);
    assert!(Host::builder(&module).fault(fault).load("").is_err());
    assert!(Host::builder(&module).load("").is_ok());
}
