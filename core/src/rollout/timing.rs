//! How long gateways and API servers get.

use std::time::Duration;

use crate::moment::Moment;

/// What the order of routes and plugins takes.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long gateways may take to have a new target in their routes before the filter steers to it, and a new export
    /// before other clusters hear of it: istiod has told them, and a little more.
    pub lead: Duration,
    /// How long gateways that cannot be asked may take to have a new configuration of the filter before the targets that
    /// it no longer names leave the routes, and how long an import waits for a route that the API server does not take.
    pub grace: Duration,
}

/// How soon it is looked again at what nobody tells of. The lead may be none.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Timing {
    /// When it is looked again at what only time, or somebody else, ends.
    pub(super) fn look_again(self, now: Moment) -> Moment {
        now + self.lead.max(LOOK_AGAIN)
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self { lead: Duration::from_secs(1), grace: Duration::from_secs(30) }
    }
}

/// Between two configurations of one filter: each costs a gateway a table, and where rules change all the time the last of
/// them is what counts.
pub(super) const FILTER_PERIOD: Duration = Duration::from_millis(500);
