//! The Proxy-Wasm shell of mcwan: reads a request from the host, lets `mcwan-policy` decide, and tells
//! the host what to do. Nothing is decided here.

mod counters;
mod draw;
#[allow(unsafe_code, reason = "the one place that calls the host")]
mod host;
mod request;
mod root;
mod steering;

/// `_initialize`, which the host calls once in a VM.
mod entry {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| Box::new(crate::root::Root::default()));
    }}
}
