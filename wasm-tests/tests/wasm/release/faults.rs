//! A host call that fails: a request is answered 503 `Internal`, or what failed does not matter to it.

use mcwan_wasm_tests::{Cause, Fault, Host, HostCall, Request, Status};
use serde_json::json;

use super::config::{HIGH, config, import, payment, prefix, release, rule, to, with, with_header};
use super::outcome::FilterOutcome::{self, Held, Redirected};
use super::outcome::{get, outcome, play, refused, steered};

/// `/m` asks for a method, `/h` for a header, `/r` redirects to the listener's port, the rest is steered
/// with a new path.
fn host() -> Host {
    let forward = json!({"forward": {"target": 0, "path": {"full": "/new"}}});
    let rules = [
        rule([prefix("/")], [forward]),
        rule([with(prefix("/m"), "method", json!("GET"))], [to(0)]),
        rule([with_header(prefix("/h"), "x-a", "1")], [to(0)]),
        rule([prefix("/r")], [json!({"redirect": {"status": 301}})]),
        rule([prefix("/none")], []),
    ];
    let host = Host::builder(&release()).property(&["destination", "port"], 8080_i64.to_le_bytes());
    host.load(config([import("payment", rules)]).to_string()).expect("it loads")
}

/// What becomes of each request with each of its host calls failing with each status, one at a time.
fn with_each_fault(request: &Request, mut expected: impl FnMut(HostCall, usize, Status) -> FilterOutcome) {
    let calls = play(&mut host(), request).trace.host_calls;
    assert!(!calls.is_empty());
    let mut host = host();
    for (index, call) in calls.iter().enumerate() {
        let nth = calls[..=index].iter().filter(|earlier| *earlier == call).count();
        for status in Status::ERRORS {
            host.clear_faults();
            host.inject(Fault::nth(*call, nth, status));
            let expected = expected(*call, nth, status);
            assert_eq!(outcome(&mut host, request), expected, "call {nth} of {call} answers {status:?}");
        }
    }
}

fn internal() -> FilterOutcome {
    refused(503, "Internal")
}

#[test]
fn a_routed_request_is_steered_wholly_or_refused() {
    for (path, headers) in [("/else", false), ("/m", false), ("/h", true)] {
        let request = Request::get("payment.secure", path).header("x-a", "1").header("x-mcwan-target", "forged");
        with_each_fault(&request, |call, nth, status| match (call, nth, status) {
            (HostCall::GetHeaderMapValue, 1 | 2, Status::NotFound) => refused(400, "BadRequest"),
            // Without a method the rule that asks for none is next.
            (HostCall::GetHeaderMapValue, 3, Status::NotFound) if !headers => steered(HIGH),
            (HostCall::CallForeignFunction, _, Status::NotFound) => steered(HIGH),
            _ => internal(),
        });
    }
}

#[test]
fn a_request_of_no_import_passes_without_a_steering_header_or_is_refused() {
    with_each_fault(&Request::get("elsewhere", "/"), |call, _, status| match (call, status) {
        (HostCall::GetHeaderMapValue, Status::NotFound) => refused(400, "BadRequest"),
        _ => internal(),
    });
}

#[test]
fn a_redirect_is_answered_or_refused() {
    let request = Request::get("payment.secure", "/r");
    let without_port = || Redirected(301, "http://payment.secure/r".to_owned());
    with_each_fault(&request, |call, nth, status| match (call, nth, status) {
        (HostCall::GetHeaderMapValue, 1 | 2, Status::NotFound) => refused(400, "BadRequest"),
        // Without a scheme it is http, as it would have been.
        (HostCall::GetHeaderMapValue, 3, Status::NotFound) => {
            Redirected(301, "http://payment.secure:8080/r".to_owned())
        }
        (HostCall::GetProperty, _, Status::NotFound) => without_port(),
        _ => internal(),
    });
}

#[test]
fn a_reply_that_cannot_be_sent_holds_the_request() {
    let mut host = host();
    for path in ["/none", "/r", "/else"] {
        host.clear_faults();
        host.inject(Fault::always(HostCall::SendLocalResponse, Status::InternalFailure));
        host.inject(Fault::always(HostCall::ReplaceHeaderMapValue, Status::InternalFailure));
        assert_eq!(get(&mut host, "payment.secure", path), Held, "{path}");
    }
    host.clear_faults();
    assert_eq!(get(&mut host, "payment.secure", "/else"), steered(HIGH), "the VM lives");
}

#[test]
fn a_configuration_that_cannot_be_read_is_refused() {
    for status in Status::ERRORS {
        let fault = Fault::always(HostCall::GetBufferBytes, status);
        let loaded = Host::builder(&release()).fault(fault).load(config([payment()]).to_string());
        let failure = loaded.err().unwrap_or_else(|| panic!("{status:?}: want a failure"));
        assert!(matches!(failure.cause, Cause::Refused), "{status:?}: {failure}");
        assert_eq!(failure.trace.log.len(), 1, "{status:?}: {:?}", failure.trace.log);
    }
}

#[test]
fn no_tick_is_no_reason_to_refuse_a_configuration() {
    let fault = Fault::always(HostCall::SetTickPeriodMilliseconds, Status::InternalFailure);
    let host = Host::builder(&release()).fault(fault).load(config([payment()]).to_string());
    assert_eq!(get(&mut host.expect("it loads"), "payment.secure", "/payment"), steered(HIGH));
}

#[test]
fn a_host_that_cannot_log_traps_nothing() {
    let fault = Fault::always(HostCall::Log, Status::InternalFailure);
    let failure = Host::builder(&release()).fault(fault).load("").err().expect("a failure");
    assert!(matches!(failure.cause, Cause::Refused), "{failure}");
}
