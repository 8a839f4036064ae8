//! Clusters on a WAN: the seed's story on the real things.

mod attempt;
mod audit;
mod bypass;
mod changes;
mod examples;
mod harness;
mod images;
mod module;
mod objects;
mod protocols;
mod rules;
mod scene;
mod security;
mod steering;
