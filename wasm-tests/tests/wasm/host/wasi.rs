//! What a module gets of WASI.

use mcwan_wasm_tests::{Host, LogLevel, Request};

use super::guest::{effects, host, on_request_module, replying, status_in, status_of};

const EFAULT: u32 = 21;

#[test]
fn what_is_not_done_here_answers_enosys() {
    let zeros = "(i32.const 0) ".repeat(4);
    assert_eq!(status_of("", &format!("(call $fd_read {zeros})")), 52);
}

#[test]
fn there_are_no_environment_variables() {
    let sizes = "(i32.store (i32.const 0) (i32.const 7))
        (drop (call $environ_sizes (i32.const 0) (i32.const 4)))";
    let mut host = host("", &format!("{sizes} {}", replying("(i32.load (i32.const 0))")));
    assert_eq!(status_in(&mut host), 0);
}

#[test]
fn both_outputs_become_log_lines() {
    // Two parts, `on` at 32 and `e\n` at 34.
    let parts = r#"(data (i32.const 16) "\20\00\00\00\02\00\00\00\22\00\00\00\02\00\00\00one\0a")"#;
    let write = |file: u32| format!("(call $fd_write (i32.const {file}) (i32.const 16) (i32.const 2) (i32.const 0))");
    let lines = effects(parts, &format!("(drop {}) (drop {})", write(1), write(2))).trace.log;
    let lines: Vec<_> = lines.iter().map(|line| (line.level, line.text.as_str())).collect();
    assert_eq!(lines, [(LogLevel::Info, "one"), (LogLevel::Error, "one")]);
    assert_eq!(status_of(parts, &write(3)), 8, "no such file");
}

#[test]
fn an_address_outside_the_memory_is_a_fault() {
    for call in [
        "(call $fd_write (i32.const 1) (i32.const 65530) (i32.const 2) (i32.const 0))",
        "(call $fd_write (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 0))",
        "(call $fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const -1))",
        "(call $random (i32.const 0) (i32.const -1))",
        "(call $clock (i32.const 0) (i64.const 0) (i32.const 65530))",
        "(call $environ_sizes (i32.const -1) (i32.const 0))",
    ] {
        assert_eq!(status_of("", call), EFAULT, "{call}");
    }
}

#[test]
fn random_numbers_depend_on_the_seed_only() {
    let draw = "(drop (call $random (i32.const 0) (i32.const 13)))";
    let module = on_request_module("", &format!("{draw} {}", replying("(i32.load (i32.const 9))")));
    let draws = |seed| {
        let mut host = Host::builder(&module).seed(seed).load("").expect("it loads");
        [(); 2].map(|()| status_in(&mut host))
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
    assert_ne!(draws(1)[0], draws(1)[1]);
}

#[test]
fn the_clocks_differ_and_there_is_no_third() {
    let clock = |number: u32, result: u32| {
        format!("(drop (call $clock (i32.const {number}) (i64.const 0) (i32.const {result})))")
    };
    let hour = "(if (i64.ne (i64.load (i32.const 8)) (i64.const 3600000000000)) (then unreachable))";
    let later = "(if (i64.le_u (i64.load (i32.const 0)) (i64.load (i32.const 8))) (then unreachable))";
    let mut host = host("", &(clock(0, 0) + &clock(1, 8) + hour + later));
    assert!(host.request(&Request::get("h", "/")).is_ok());
    assert_eq!(status_of("", "(call $clock (i32.const 2) (i64.const 0) (i32.const 0))"), 58, "no such clock");
}

#[test]
fn to_exit_is_a_failure() {
    let failure = host("", "(call $exit (i32.const 3))").request(&Request::get("h", "/")).expect_err("a failure");
    assert!(failure.to_string().contains("exited with code 3"), "{failure}");
}

#[test]
fn wasi_calls_are_counted_apart() {
    let trace = effects("", "(drop (call $random (i32.const 0) (i32.const 1)))").trace;
    assert_eq!((trace.wasi_calls, trace.host_calls.len(), trace.border_crossings()), (1, 0, 1));
}
