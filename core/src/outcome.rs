//! What became of writing or deleting an object.

use std::time::Duration;

use crate::problem::Reason;

/// Why a request did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// What is there is not what the request was meant for.
    Conflict,
    /// There is no such object.
    NotFound {
        /// What the API server said.
        message: String,
    },
    /// It may work later.
    Passing {
        /// Why.
        reason: Reason,
        /// What happened.
        message: String,
        /// When the API server asks to try again.
        after: Option<Duration>,
    },
    /// It will not work.
    Lasting {
        /// Why.
        reason: Reason,
        /// What the API server said.
        message: String,
    },
    /// We do not lead, so it was not sent, or nobody waited for the answer.
    NotLeading,
}

impl WriteError {
    /// Something that may work later.
    pub fn passing(reason: Reason, message: impl Into<String>) -> Self {
        Self::Passing { reason, message: message.into(), after: None }
    }
}

/// What became of writing or deleting an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It was written.
    Applied,
    /// It is gone, or about to go.
    Deleted,
    /// There is an object of that name that is not ours. It was not touched.
    Conflict,
    /// It did not work now, and may later.
    Retry {
        /// When to try again. Until then the same is not sent again, unless somebody insists.
        after: Duration,
        /// Why.
        reason: Reason,
        /// What happened.
        message: String,
    },
    /// The API server does not take it, and will not unless something changes: the object, our rights, a policy.
    Refused {
        /// Why.
        reason: Reason,
        /// What the API server said.
        message: String,
    },
    /// We do not lead (any more), so nothing more was sent.
    NotLeading,
}

/// How long what was refused is left alone. Nothing tells us when a policy or a quota changes, and an API server that has
/// just started refuses everything until it knows its roles.
pub const REFUSED_WAIT: Duration = Duration::from_secs(30);
/// How long what was not sent, as we do not lead, is left alone: the rollout hears of that a moment later, and forgets it.
pub const NOT_LEADING_WAIT: Duration = Duration::from_secs(1);

impl WriteOutcome {
    /// Whether the wanted state is not reached unless somebody does something.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Conflict | Self::Refused { .. })
    }
}
