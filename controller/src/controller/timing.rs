//! How long gateways get.

use std::time::Duration;

/// What the order of routes and plugins takes.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long gateways may take to have a new target in their routes before the filter steers to it, and a new export
    /// before other clusters hear of it.
    pub lead: Duration,
    /// How long gateways may take to have a new configuration of the filter before the targets that it no longer
    /// names leave the routes, and how long the filter waits for a route that the API server does not take.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { lead: Duration::from_secs(1), grace: Duration::from_secs(30) }
    }
}
