//! Small modules written by hand.

use mcwan_wasm_tests::{Effects, Host, Module, Request};

/// What every module here has: all host functions that tests call, memory, an allocator that never
/// frees, and two words at address 0 in which it gets addresses and sizes.
const COMMON: &str = r#"
    (import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))
    (import "env" "proxy_get_log_level" (func $get_log_level (param i32) (result i32)))
    (import "env" "proxy_get_current_time_nanoseconds" (func $now (param i32) (result i32)))
    (import "env" "proxy_set_tick_period_milliseconds" (func $set_tick_period (param i32) (result i32)))
    (import "env" "proxy_set_effective_context" (func $set_effective_context (param i32) (result i32)))
    (import "env" "proxy_done" (func $done (result i32)))
    (import "env" "proxy_get_buffer_bytes" (func $get_buffer (param i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_get_property" (func $get_property (param i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_set_property" (func $set_property (param i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_call_foreign_function" (func $foreign (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_get_header_map_value" (func $get_header (param i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_add_header_map_value" (func $add_header (param i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_replace_header_map_value" (func $set_header (param i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_remove_header_map_value" (func $remove_header (param i32 i32 i32) (result i32)))
    (import "env" "proxy_get_header_map_pairs" (func $get_headers (param i32 i32 i32) (result i32)))
    (import "env" "proxy_set_header_map_pairs" (func $set_headers (param i32 i32 i32) (result i32)))
    (import "env" "proxy_send_local_response" (func $reply (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_define_metric" (func $define_metric (param i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_increment_metric" (func $increment_metric (param i32 i64) (result i32)))
    (import "env" "proxy_record_metric" (func $record_metric (param i32 i64) (result i32)))
    (import "env" "proxy_get_metric" (func $get_metric (param i32 i32) (result i32)))
    (import "env" "proxy_get_shared_data" (func $get_shared_data (param i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_set_shared_data" (func $set_shared_data (param i32 i32 i32 i32 i32) (result i32)))
    (import "env" "proxy_dequeue_shared_queue" (func $dequeue (param i32 i32 i32) (result i32)))
    (import "env" "proxy_http_call" (func $http_call (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 4096))
    (func (export "proxy_abi_version_0_2_1"))
    (func (export "proxy_on_memory_allocate") (param $size i32) (result i32)
        global.get $free
        (global.set $free (i32.add (global.get $free) (local.get $size))))
"#;

/// A module of the common part and more.
pub(crate) fn module(more: &str) -> Module {
    let wasm = wat::parse_str(format!("(module {COMMON} {more})")).expect("sound text");
    Module::new(&wasm).expect("a sound module")
}

/// A host with a module that does this in `proxy_on_request_headers` and goes on.
pub(crate) fn host(more: &str, on_request: &str) -> Host {
    Host::builder(&on_request_module(more, on_request)).load("").expect("a module that loads")
}

/// A module that does this in `proxy_on_request_headers` and goes on.
pub(crate) fn on_request_module(more: &str, on_request: &str) -> Module {
    module(&format!(
        r#"{more}
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            {on_request}
            i32.const 0)"#
    ))
}

/// What a module does that does this, with a request for `/` of the host `h`.
pub(crate) fn effects(more: &str, on_request: &str) -> Effects {
    host(more, on_request).request(&Request::get("h", "/")).expect("no failure")
}

/// The result of one call: the module answers the request with it as the status.
pub(crate) fn status_of(more: &str, call: &str) -> u32 {
    status_in(&mut host(more, &replying(call)))
}

/// The text of a call whose result is the status of a local reply.
pub(crate) fn replying(call: &str) -> String {
    let nothing = "(i32.const 0) ".repeat(6);
    format!("(drop (call $reply {call} {nothing} (i32.const -1)))")
}

/// The status of the local reply that this host gives to any request.
pub(crate) fn status_in(host: &mut Host) -> u32 {
    let effects = host.request(&Request::get("h", "/")).expect("no failure");
    effects.reply.expect("a local reply").status
}
