//! The rules of mcwan, without anything around them.
//!
//! A gateway's rules arrive in the [`wire`] format and are compiled once into a [`RouteTable`].
//! [`RouteTable::decide`] says for one [`Request`] whether it passes, which target it takes, or how it
//! is answered; [`RouteTable::explain`] says the same with the reasons. The filter decides with this
//! crate, the controller checks with it what it ships, the command line explains with it: there is no
//! second matcher.
//!
//! The crate is pure: no input or output, no clock, no randomness (weighted choices take a draw from
//! the caller).

// Nothing that a client or a configuration says ends the process.
#![cfg_attr(
    not(test),
    warn(clippy::as_conversions, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)
)]

mod action;
mod arena;
mod budget;
mod choice;
mod decision;
mod draw;
mod error;
mod explain;
mod hash;
mod header;
mod host;
mod host_index;
mod import;
mod imports;
mod index;
pub mod limits;
mod listener;
mod method;
mod modifier;
pub mod moment;
mod path;
mod path_index;
mod pattern;
mod pattern_pool;
mod query;
mod redirect;
mod request;
mod rewrite;
mod rule;
pub mod sla;
mod store;
mod table;
mod target;
mod wan_path;
pub mod wire;

pub use budget::{Budget, Excess};
pub use choice::ChoiceError;
pub use decision::{
    Decision, FORWARDED_HOST_HEADER, PORT_HEADER, REASON_HEADER, Reply, Route, RuleMatch, STEERING_HEADER,
};
pub use error::{At, ConfigError, ImportError, Part, Reason};
pub use explain::{Considered, ConsideredSource, ConsideredTier, Explanation, TierVerdict, Verdict};
pub use host::{
    HostPattern, HostPatternError, canonical_host, clusterset_host, have_common_host, is_label, standard_hosts,
};
pub use import::check;
pub use imports::Claim;
pub use listener::{is_reserved_port, listener_port};
pub use modifier::ModifierError;
pub use path::{PathError, check as check_path, trim_prefix};
pub use pattern::PatternError;
pub use redirect::RedirectError;
pub use request::{HeaderLine, Request};
pub use rewrite::RewriteError;
pub use rule::Rank;
pub use store::Import;
pub use table::RouteTable;
pub use target::CompiledTarget;
pub use wan_path::{WanPath, WanPathError};
