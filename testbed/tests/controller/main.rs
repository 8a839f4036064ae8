//! The controller on a real API server, with the rights of `manifests/`.

mod scene;
mod steady;

use scene::Scene;
