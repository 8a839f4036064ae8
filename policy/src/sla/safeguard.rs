//! What keeps paths from being judged wrongly, by name: the simulation takes one out at a time, and finds that it is missed.

use super::Judge;

/// Something without which paths fall for nothing, or requests follow those that flap.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safeguard {
    /// A path gets better only after a hold.
    Hold,
    /// Each fall soon after getting better doubles the hold.
    Doubling,
    /// A doubled hold stays until a path has been in for long.
    Memory,
    /// After a path was down, the hold is at least as long as that was.
    Outage,
    /// A path gets better only after enough answers.
    Answers,
    /// Who is out must be better than the bounds on latency and jitter.
    Margin,
    /// Who is out must have lost less than what is allowed.
    Clean,
    /// Once a path is in, what was lost before the hold counts no more.
    Emptying,
    /// Loss is judged by how likely it is, not by 3 of 50.
    Evidence,
    /// Less than 3 lost probes are no evidence.
    Floor,
    /// A late answer is a lost packet.
    Lateness,
    /// Late answers are no jitter.
    LateIsNoJitter,
    /// One missed probe is not an outage.
    Misses,
}

impl Judge {
    /// The same without a safeguard.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, safeguard: Safeguard) -> Self {
        self.lacks = Some(safeguard);
        self.adjusted()
    }

    /// Whether a safeguard is there.
    pub(super) fn has(&self, safeguard: Safeguard) -> bool {
        self.lacks != Some(safeguard)
    }
}
