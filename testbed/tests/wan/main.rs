//! Clusters on a WAN: the seed's story on the real things.

mod attempt;
mod bypass;
mod examples;
mod harness;
mod objects;
mod payment;
mod protocols;
mod scene;
mod security;
mod steering;
