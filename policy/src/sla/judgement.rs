//! What is thought of a path.

use std::fmt;

/// Whether requests may take a path. What is worse is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// As far as anybody knows the path keeps its promise.
    In,
    /// It does not: whoever has another path takes that.
    Out,
    /// It does not answer.
    Down,
}

/// A level, with the reason for it. What is worse is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Judgement {
    /// All that is measured is within its bounds.
    InSla,
    /// Too few probes were answered to tell: unknown is not down.
    FewAnswers,
    /// No probe can be sent, and so nothing is known.
    ProbeFailed,
    /// The median of the round trips is above its bound.
    Latency,
    /// The differences of neighbouring round trips are above their bound.
    Jitter,
    /// More probes are lost than the promise allows.
    Loss,
    /// The last probes were all missed.
    NoAnswer,
}

impl Judgement {
    pub(super) const ALL: [Self; 7] =
        [Self::InSla, Self::FewAnswers, Self::ProbeFailed, Self::Latency, Self::Jitter, Self::Loss, Self::NoAnswer];

    /// Its number, where there are but numbers.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::InSla => 0,
            Self::FewAnswers => 1,
            Self::ProbeFailed => 2,
            Self::Latency => 3,
            Self::Jitter => 4,
            Self::Loss => 5,
            Self::NoAnswer => 6,
        }
    }

    /// The one with a number.
    pub(super) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.code() == code)
    }

    /// The one that is written so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// The level that it puts a path on.
    pub const fn level(self) -> Level {
        match self {
            Self::InSla | Self::FewAnswers | Self::ProbeFailed => Level::In,
            Self::Latency | Self::Jitter | Self::Loss => Level::Out,
            Self::NoAnswer => Level::Down,
        }
    }

    /// The reason in conditions, Events and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InSla => "InSla",
            Self::FewAnswers => "FewAnswers",
            Self::ProbeFailed => "ProbeFailed",
            Self::Latency => "Latency",
            Self::Jitter => "Jitter",
            Self::Loss => "Loss",
            Self::NoAnswer => "NoAnswer",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::In => "In",
            Self::Out => "Out",
            Self::Down => "Down",
        })
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
