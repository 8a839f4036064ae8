//! Custom statistics.

use mcwan_wasm_tests::{Host, Metric, Status, Update};

use super::guest::{module, on_request_module, replying, status_in};

/// Defines the counter `c`, the gauge `g` and the histogram `h`; their numbers are 1, 2 and 3.
const DEFINE: &str = r#"
    (data (i32.const 16) "cgh")
    (func $define
        (drop (call $define_metric (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 0)))
        (drop (call $define_metric (i32.const 1) (i32.const 17) (i32.const 1) (i32.const 0)))
        (drop (call $define_metric (i32.const 2) (i32.const 18) (i32.const 1) (i32.const 0))))
    (func (export "proxy_on_configure") (param i32 i32) (result i32) (call $define) i32.const 1)
"#;

fn host(call: &str) -> Host {
    Host::builder(&on_request_module(DEFINE, &replying(call))).load("").expect("it loads")
}

#[test]
fn each_kind_has_its_operations() {
    for (call, status, metric, value) in [
        ("(call $increment_metric (i32.const 1) (i64.const 2))", 0, "c", Metric::Counter(2)),
        ("(call $increment_metric (i32.const 1) (i64.const 0))", 2, "c", Metric::Counter(0)),
        ("(call $increment_metric (i32.const 1) (i64.const -1))", 2, "c", Metric::Counter(0)),
        ("(call $record_metric (i32.const 1) (i64.const 3))", 0, "c", Metric::Counter(3)),
        ("(call $increment_metric (i32.const 2) (i64.const 5))", 0, "g", Metric::Gauge(5)),
        ("(call $record_metric (i32.const 2) (i64.const 7))", 0, "g", Metric::Gauge(7)),
        ("(call $record_metric (i32.const 3) (i64.const 9))", 0, "h", Metric::Histogram(vec![9])),
        ("(call $increment_metric (i32.const 3) (i64.const 9))", 2, "h", Metric::Histogram(vec![])),
    ] {
        let mut host = host(call);
        assert_eq!(status_in(&mut host), status, "{call}");
        assert_eq!(host.metrics().get(metric), Some(&value), "{call}");
    }
}

#[test]
fn a_number_that_was_never_given_out_is_not_found() {
    for number in [0, 4, -1] {
        for call in [
            format!("(call $increment_metric (i32.const {number}) (i64.const 1))"),
            format!("(call $record_metric (i32.const {number}) (i64.const 1))"),
            format!("(call $get_metric (i32.const {number}) (i32.const 0))"),
        ] {
            assert_eq!(status_in(&mut host(&call)), Status::NotFound.code(), "{call}");
        }
    }
}

#[test]
fn a_value_can_be_read_back() {
    let read = "(call $record_metric (i32.const 2) (i64.const 418)) drop
        (call $get_metric (i32.const 2) (i32.const 0)) drop (i32.load (i32.const 0))";
    assert_eq!(status_in(&mut host(read)), 418);
    assert_eq!(status_in(&mut host("(call $get_metric (i32.const 3) (i32.const 0))")), 2, "a histogram has no value");
}

#[test]
fn a_name_has_one_kind() {
    let define =
        |kind: u32| format!("(call $define_metric (i32.const {kind}) (i32.const 16) (i32.const 1) (i32.const 0))");
    assert_eq!(status_in(&mut host(&define(0))), 0);
    assert_eq!(status_in(&mut host(&define(1))), Status::BadArgument.code());
    assert_eq!(status_in(&mut host(&define(3))), Status::BadArgument.code(), "no such kind");
}

#[test]
fn statistics_outlive_configurations() {
    let module = module(
        r#"(data (i32.const 16) "c")
        (func (export "proxy_on_configure") (param i32 i32) (result i32)
            (drop (call $define_metric (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 0)))
            (i32.eqz (call $increment_metric (i32.load (i32.const 0)) (i64.const 1))))"#,
    );
    let mut host = Host::builder(&module).load("").expect("it loads");
    assert!(matches!(host.update(""), Ok(Update::Accepted(_))));
    assert_eq!(host.metrics().counter("c"), 4, "each VM that is configured counts, the canaries too");
    assert_eq!(host.metrics().gauge("c"), None);
    assert_eq!(host.metrics().iter().count(), 1);
}
