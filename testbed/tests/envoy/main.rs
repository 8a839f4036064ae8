//! Programs beside each other, without a cluster: a real Envoy, the module on wasmtime, an OCI registry.

mod agreement;
mod demo;
mod examples;
mod forecast;
#[path = "../common/images.rs"]
mod images;
mod module;
mod parts;
#[path = "../common/player.rs"]
mod player;
mod probing;
mod revision;
mod unsteered;
