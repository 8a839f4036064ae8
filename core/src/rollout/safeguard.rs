//! What keeps requests from getting lost, by name: the simulation takes one out at a time, and finds that it is missed.

use super::Rollout;

/// Something without which requests get lost. The waits themselves are in [`Timing`](super::Timing).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safeguard {
    /// Routes wait until gateways know what they lead to.
    Backing,
    /// What older versions need stays until no gateway has one.
    InForce,
    /// The same of native imports, of which no filter tells: until gateways know the routes of the newest version.
    NativeInForce,
    /// Other clusters hear of an export once its gateways know its routes.
    Announcement,
    /// Nothing is pruned before everything has been looked at, or while gateways may have a filter of before that leads there.
    Prune,
    /// One who takes over finds out what gateways may have from before.
    Recovery,
    /// Other clusters hear that they are admitted once gateways know it.
    Admission,
    /// New gateway pods take requests once other clusters admit them.
    Readiness,
}

impl Rollout {
    /// The same without a safeguard.
    #[doc(hidden)]
    #[must_use]
    pub fn without(self, safeguard: Safeguard) -> Self {
        Self { lacks: Some(safeguard), ..self }
    }

    /// Whether a safeguard is there.
    pub(super) fn has(&self, safeguard: Safeguard) -> bool {
        self.lacks != Some(safeguard)
    }
}
