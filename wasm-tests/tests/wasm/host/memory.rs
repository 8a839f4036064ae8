//! Addresses that are not in the module's memory, and allocators that do not do their work.

use mcwan_wasm_tests::{Action, Callback, Host, Module, Request, Status};

use super::guest::{host, on_request_module, replying, status_in, status_of};

/// Addresses from which no four bytes can be read in a memory of one page.
const OUTSIDE: [&str; 3] = ["i32.const 65536", "i32.const -1", "i32.const 65535"];

#[test]
fn an_address_outside_the_memory_is_an_error() {
    let calls = [
        "(call $log (i32.const 2) (P) (i32.const 4))",
        "(call $log (i32.const 2) (i32.const 8) (P))",
        "(call $get_log_level (P))",
        "(call $now (P))",
        "(call $get_buffer (i32.const 6) (i32.const 0) (i32.const 9) (P) (i32.const 0))",
        "(call $get_buffer (i32.const 6) (i32.const 0) (i32.const 9) (i32.const 0) (P))",
        "(call $get_property (P) (i32.const 4) (i32.const 0) (i32.const 0))",
        "(call $set_property (i32.const 0) (i32.const 4) (P) (i32.const 4))",
        "(call $foreign (P) (i32.const 17) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))",
        "(call $get_header (i32.const 0) (P) (i32.const 4) (i32.const 0) (i32.const 0))",
        "(call $get_header (i32.const 0) (i32.const 16) (i32.const 5) (P) (i32.const 0))",
        "(call $add_header (i32.const 0) (i32.const 0) (i32.const 4) (P) (i32.const 4))",
        "(call $set_header (i32.const 0) (P) (i32.const 4) (i32.const 0) (i32.const 4))",
        "(call $remove_header (i32.const 0) (P) (i32.const 4))",
        "(call $get_headers (i32.const 0) (i32.const 0) (P))",
        "(call $set_headers (i32.const 0) (P) (i32.const 4))",
        "(call $define_metric (i32.const 0) (P) (i32.const 4) (i32.const 0))",
        "(call $define_metric (i32.const 0) (i32.const 16) (i32.const 5) (P))",
        "(call $reply (i32.const 200) (i32.const 0) (i32.const 0) (P) (i32.const 4)
            (i32.const 0) (i32.const 0) (i32.const -1))",
    ];
    for call in calls {
        for outside in OUTSIDE {
            let call = call.replace('P', outside);
            let module = on_request_module(r#"(data (i32.const 16) ":path")"#, &replying(&call));
            let mut host = Host::builder(&module).vm_configuration("vm").load("").expect("it loads");
            assert_eq!(status_in(&mut host), Status::InvalidMemoryAccess.code(), "{call}");
        }
    }
}

#[test]
fn the_last_byte_of_the_memory_can_be_used() {
    assert_eq!(status_of("", "(call $log (i32.const 2) (i32.const 65535) (i32.const 1))"), 0);
    assert_eq!(status_of("", "(call $log (i32.const 2) (i32.const 65536) (i32.const 0))"), 0);
}

fn with_allocator(allocate: &str) -> Host {
    let wasm = wat::parse_str(format!(
        r#"(module
            (import "env" "proxy_get_header_map_pairs" (func $get_headers (param i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "proxy_abi_version_0_2_1"))
            (func (export "malloc") (param i32) (result i32) {allocate})
            (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
                (call $get_headers (i32.const 0) (i32.const 0) (i32.const 4))))"#
    ));
    let module = Module::new(&wasm.expect("sound text")).expect("a sound module");
    Host::builder(&module).load("").expect("it loads")
}

#[test]
fn an_allocator_that_fails_is_an_error_for_the_module() {
    // The module returns the status of the call, which is an action other than to go on.
    for (allocate, expected) in [
        ("i32.const 16", Action::Continue),
        ("i32.const 0", Action::Pause),
        ("i32.const -8", Action::Pause),
        ("i32.const 65530", Action::Pause),
    ] {
        let effects = with_allocator(allocate).request(&Request::get("h", "/")).expect("no failure");
        assert_eq!(effects.action, expected, "{allocate}");
    }
}

#[test]
fn an_allocator_that_traps_is_a_failure() {
    let failure = with_allocator("unreachable").request(&Request::get("h", "/")).expect_err("a trap");
    assert_eq!(failure.callback, Callback::RequestHeaders);
}

#[test]
fn linear_memory_is_measured() {
    let mut host = host("", "(drop (memory.grow (i32.const 2)))");
    assert_eq!(host.memory_size(), 1 << 16);
    host.request(&Request::get("h", "/")).expect("no failure");
    assert_eq!(host.memory_size(), 3 << 16);
}

#[test]
fn linear_memory_is_bounded() {
    let grow = "(if (i32.ne (memory.grow (i32.const 65000)) (i32.const -1)) (then unreachable))";
    assert!(host("", grow).request(&Request::get("h", "/")).is_ok());
}
