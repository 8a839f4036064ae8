//! Where nothing is measured, all is as it was before there was a prober.

use std::time::Duration;

use mcwan_wasm_tests::HostCall::{
    CallForeignFunction, DefineMetric, GetBufferBytes, GetHeaderMapValue, IncrementMetric, RecordMetric,
    ReplaceHeaderMapValue, SetTickPeriodMilliseconds,
};
use mcwan_wasm_tests::{Host, Request, Trace};

use super::super::config::{host, payment};

fn tick(host: &mut Host) -> Trace {
    host.tick().unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn a_config_without_paths_makes_the_host_calls_that_it_always_made() {
    let mut host = host([payment()]);
    let of_one_vm = [GetBufferBytes, GetBufferBytes, SetTickPeriodMilliseconds];
    assert_eq!(host.loading().host_calls, [of_one_vm, of_one_vm].concat());
    assert_eq!(host.loading().wasi_calls, 0);
    assert_eq!(host.tick_period(), Some(Duration::from_millis(100)));

    let first = tick(&mut host);
    assert_eq!(first.host_calls, [DefineMetric, RecordMetric, SetTickPeriodMilliseconds]);
    assert_eq!(host.tick_period(), Some(Duration::from_secs(5)));
    for _ in 0..3 {
        assert_eq!(tick(&mut host).border_crossings(), 0);
    }

    let request = host.request(&Request::get("payment.secure", "/payment")).expect("no failure").trace;
    let calls =
        [GetHeaderMapValue, GetHeaderMapValue, ReplaceHeaderMapValue, ReplaceHeaderMapValue, CallForeignFunction];
    assert_eq!((request.host_calls, request.wasi_calls), (calls.to_vec(), 0));
    let report = tick(&mut host);
    assert_eq!(report.host_calls, [DefineMetric, IncrementMetric, DefineMetric, IncrementMetric]);
    assert_eq!(report.wasi_calls, 0);
}
