//! Clusters on a WAN: the seed's story on the real things.

mod analyze;
mod attempt;
mod audit;
mod bypass;
mod changes;
mod clusterset;
mod conformance;
mod connections;
mod consumers;
mod demo;
mod examples;
#[path = "../common/fifteen.rs"]
mod fifteen;
mod harness;
mod hosts;
#[path = "../common/images.rs"]
mod images;
#[path = "../common/impaired.rs"]
mod impaired;
mod impairments;
mod kills;
mod liveness;
mod module;
mod moves;
mod network;
mod objects;
mod observability;
mod ordinary;
#[path = "../common/player.rs"]
mod player;
mod protocols;
mod quality;
mod rules;
mod scene;
mod security;
mod shares;
mod sidecar;
mod steering;
mod tiers;
