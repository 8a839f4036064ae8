//! The command line as a person runs it, the controller's edges against small servers, and its rights.

mod additions;
mod admin;
mod cli;
mod clusters;
mod contact;
mod explain;
mod gateways;
mod module;
mod readable_secrets;
mod rights;
mod status;
mod steering;
mod watch;
