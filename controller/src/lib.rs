//! The controller and command line of mcwan, as a library.
//!
//! The edges around [`mcwan_core`]: files and API servers, where resources come from and where objects go, the gateways,
//! the module, and who leads.

// Nothing that a client or a configuration says ends the process.
#![cfg_attr(
    not(test),
    warn(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)
)]

pub mod admin;
pub mod apply;
pub mod cli;
pub mod controller;
mod errors;
pub mod events;
pub mod files;
pub mod gateways;
pub mod leader;
pub mod listing;
pub mod module;
pub mod readable_secrets;
pub mod registry;
pub mod steering_secret;
pub mod watch;
