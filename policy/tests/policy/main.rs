//! The rules as the RESOURCES and the wire format have them, and the laws that the table keeps.

mod bounds;
mod choice;
mod common;
mod config;
mod hosts;
mod laws;
mod matching;
mod patterns;
mod ports;
mod precedence;
mod redirect;
mod refusals;
mod rewrite;
mod sla;
mod values;
mod weights;
