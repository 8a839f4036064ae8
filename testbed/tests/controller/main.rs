//! The controller on a real API server, with the rights of `manifests/`.

mod bad_input;
mod chaos;
mod exports;
mod history;
mod leader;
mod objects;
mod order;
mod prune;
mod repair;
mod scene;
mod state;
mod steady;

use scene::Scene;
