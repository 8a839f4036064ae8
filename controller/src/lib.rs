//! The controller and command line of mcwan, as a library.
//!
//! Everything flows one way: [`gather`] makes a [`gather::Snapshot`] of the resources of [`api`], and
//! what follows is pure. Whatever is wrong with an object on the way becomes a [`problem::Problem`].

pub mod api;
pub mod cli;
pub mod emit;
pub mod explain;
pub mod gather;
pub mod problem;
pub mod translate;
