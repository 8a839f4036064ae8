//! The controller on a real API server, with the rights of `manifests/`.

mod bad_input;
mod chaos;
mod clusterset;
mod data_plane;
mod delivery;
mod events;
mod exports;
mod filter_kind;
mod history;
mod leader;
mod log;
mod order;
mod prune;
mod repair;
pub(crate) mod state;
mod steady;
