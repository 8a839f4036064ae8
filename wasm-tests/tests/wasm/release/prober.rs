//! The prober: which VM probes, what it sends, what becomes of it.

mod agreement;
mod answers;
mod arbitrary;
mod bounds;
mod gauges;
mod lease;
mod levels;
mod silence;
mod world;
