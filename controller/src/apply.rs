//! The way out: what we want, by server-side apply, where it is not there yet.
//!
//! [`Applier`] compares the wanted state with the [observed](mcwan_core::observed) one and sends what differs. An object
//! that is not ours is never touched: an apply to what is ours names its uid, an apply to what is not there a
//! `resourceVersion` that no object has, and the API server itself refuses both where it is otherwise.

mod applier;
mod contact;
mod failure;
mod repair;
mod requests;

pub use applier::Applier;
pub use contact::Contact;
pub(crate) use requests::{ANSWER_TIMEOUT, NO_VERSION};
