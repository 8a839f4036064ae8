//! The Proxy-Wasm shell of mcwan: reads a request from the host, lets `mcwan-policy` decide, and tells
//! the host what to do. Nothing is decided here.

// Nothing that a client or a configuration says ends the process.
#![cfg_attr(
    not(test),
    warn(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)
)]

mod counters;
mod draw;
#[allow(unsafe_code, reason = "the one place that calls the host")]
mod host;
mod plugin;
mod prober;
mod request;
mod revision;
mod root;
mod steering;

/// The version of the wire format that this module reads, for who wants to know before he ships it: a custom
/// section of the module, four bytes, little-endian.
#[used]
#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "a section that nobody else writes")]
#[unsafe(link_section = "mcwan.wire")]
static WIRE_VERSION: [u8; 4] = mcwan_policy::wire::VERSION.to_le_bytes();

/// What the host calls: `_initialize`, once in a VM, and what the SDK's own entries would not bear.
mod entry {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|id| Box::new(crate::root::Root::new(id)));
    }}

    /// The host tells of an answer to an HTTP call. The SDK's callback of that name traps on what it does not know; this one
    /// has its place once the module is stripped (`xtask`), under the name that hosts call.
    #[expect(unsafe_code, reason = "a name that nobody else exports")]
    #[unsafe(export_name = "mcwan_on_http_call_response")]
    extern "C" fn on_http_call_response(_context: u32, token: u32, headers: usize, _body: usize, _trailers: usize) {
        crate::prober::answered(token, headers);
    }
}
