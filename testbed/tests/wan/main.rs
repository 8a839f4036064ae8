//! Clusters on a WAN: the seed's story on the real things.

mod examples;
mod harness;
mod objects;
mod payment;
mod protocols;
mod scene;
mod security;
