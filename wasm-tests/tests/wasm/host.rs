//! The host itself, tested with small modules written by hand.

mod data;
mod envoy;
mod failures;
mod guest;
mod headers;
mod life_cycle;
mod memory;
mod metrics;
mod modules;
mod wasi;
