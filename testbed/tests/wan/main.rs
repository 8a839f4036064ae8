//! Clusters on a WAN: the seed's story on the real things.

mod analyze;
mod attempt;
mod audit;
mod bypass;
mod changes;
mod examples;
mod harness;
mod images;
mod kills;
mod liveness;
mod module;
mod moves;
mod objects;
mod observability;
mod protocols;
mod rules;
mod scene;
mod security;
mod steering;
mod tiers;
