//! The Proxy-Wasm host of this crate, and the release module in it.

mod host;
mod release;
