//! What the resources mean: their types, the snapshot of them, its translation, what is emitted, explanation and status.
//!
//! Everything here is pure: no client, no clock, no file, no randomness. [`snapshot`] holds the resources of [`api`],
//! [`translate`] says what they mean, [`emit`] makes objects and configurations of that. Whatever is wrong with an object
//! on the way becomes a [`problem::Problem`].

// Nothing that a client or a configuration says ends the process.
#![cfg_attr(
    not(test),
    warn(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests begin at some time"))]

pub mod api;
pub mod backoff;
pub mod connection;
pub mod emit;
pub mod explain;
mod fixed_names;
pub mod json;
pub mod kind;
pub mod liveness;
mod normal_path;
pub mod observed;
pub mod outcome;
pub mod problem;
pub mod quality;
pub mod rollout;
pub mod snapshot;
pub mod status;
pub mod translate;
pub mod watched;

pub use mcwan_policy::moment;
