//! The controller and command line of mcwan, as a library.
//!
//! Everything flows one way: [`gather`] makes a [`gather::Snapshot`] of the resources of [`api`], and
//! what follows is pure. Whatever is wrong with an object on the way becomes a [`problem::Problem`].

pub mod admin;
pub mod api;
pub mod apply;
pub mod backoff;
pub mod cli;
pub mod controller;
pub mod emit;
pub mod events;
pub mod explain;
pub mod gateways;
pub mod gather;
pub mod leader;
pub mod liveness;
pub mod module;
pub mod problem;
pub mod registry;
pub mod status;
pub mod steering_secret;
pub mod translate;
pub mod watch;
