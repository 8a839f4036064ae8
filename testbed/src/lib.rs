//! Starts the real things (Envoy, upstreams that echo) on loopback and plays the examples; starts real clusters.

pub mod check;
pub mod child;
pub mod client;
pub mod cluster;
pub mod controller;
pub mod demo;
pub mod describe;
pub mod echo;
pub mod environment;
pub mod envoy;
pub mod example;
pub mod forecast;
pub mod latin1;
pub mod loopback;
pub mod mode;
pub mod oci_registry;
pub mod outcome;
pub mod relocate;
pub mod setup;
pub mod table;
pub mod testbed;
pub mod tools;
pub mod wait;
