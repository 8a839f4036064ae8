//! The way out: what we want, by server-side apply, where it is not there yet.
//!
//! [`Observed`] holds what the API server has of the kinds that we write, one digest in place of each object.
//! [`Applier`] compares what is to be with it and sends what differs. An object that is not ours is never touched: an
//! apply to what is ours names its uid, an apply to what is not there a `resourceVersion` that no object has, and the
//! API server itself refuses both where it is otherwise.

mod applier;
mod contact;
mod digest;
mod failure;
mod fields;
mod live;
mod observed;
mod outcome;
mod repair;
mod requests;
mod waits;

pub use applier::{Applier, Options, Status};
pub use contact::Contact;
pub use digest::Digest;
pub use live::{Live, Owner, registry_writer};
pub use observed::{Comparison, Observed};
pub use outcome::{NAMESPACE_TERMINATING, Outcome};

/// The field manager under which everything is written.
pub const FIELD_MANAGER: &str = "mcwan";
