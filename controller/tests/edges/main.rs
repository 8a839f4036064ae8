//! The command line as a person runs it, and the controller's edges against small servers.

mod additions;
mod admin;
mod cli;
mod contact;
mod gateways;
mod module;
mod steering;
mod watch;
