//! What the edges are given: the filter's configuration, and what carries it.

pub mod envoy;
pub mod kubernetes;
pub mod object;
pub mod plugin;
pub mod yaml;
