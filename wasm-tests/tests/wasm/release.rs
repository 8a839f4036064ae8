//! The release module, as it ships, in the host of this crate.

mod arbitrary;
mod bad_config;
mod bad_request;
mod config;
mod faults;
mod host_calls;
mod metrics;
mod outcome;
mod prober;
mod redirect;
mod revision;
mod steering;
mod update;
