//! What came of each tier that a request might take, where measured quality chooses.

use mcwan_policy::sla::Level;
use mcwan_policy::{ConsideredSource, ConsideredTier, TierVerdict};
use serde::Serialize;

use crate::translate::{Import, Target};

/// A tier that a request might take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TierOutcome {
    /// Its name.
    pub name: String,
    /// Whether the request takes it, and why, or why not.
    pub verdict: TierChoice,
    /// The clusters that have the service.
    pub clusters: Vec<ClusterOutcome>,
}

/// What came of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum TierChoice {
    /// It is the first that keeps its promise.
    Taken,
    /// None keeps its promise, and it is the first that answers at all.
    TakenAsItAnswers,
    /// None answers, and it is the backend's own.
    TakenAsItIsOwn,
    /// One before it is taken.
    Behind,
    /// Its paths do not keep their promise.
    NotInSla,
    /// Its paths do not answer.
    NoAnswer,
    /// It leads to no ready pods.
    NoPods,
}

/// A cluster that has the service, by a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOutcome {
    /// Its name.
    pub name: String,
    /// Its share of the tier's requests, relative to the others that take part: ready pods.
    pub weight: u32,
    /// Where its path is: `In`, `Out` or `Down`. None: it is this cluster, to which there is none.
    pub level: Option<String>,
    /// Whether requests go there now.
    pub takes_part: bool,
}

impl TierOutcome {
    pub(super) fn new(tier: &ConsideredTier<'_>, import: &Import) -> Option<Self> {
        let target = |source: &ConsideredSource<'_>| -> Option<&Target> {
            import.targets.iter().find(|target| target.name == source.target.name())
        };
        let cluster = |source: &ConsideredSource<'_>| {
            Some(ClusterOutcome {
                name: target(source)?.destination.cluster()?.to_owned(),
                weight: source.weight,
                level: source.path.map(|_| source.level.to_string()),
                takes_part: source.is_taken,
            })
        };
        let name = tier.sources.iter().find_map(|source| target(source)?.destination.tier())?.to_owned();
        Some(Self { name, verdict: tier.verdict.into(), clusters: tier.sources.iter().filter_map(cluster).collect() })
    }
}

impl From<TierVerdict> for TierChoice {
    fn from(verdict: TierVerdict) -> Self {
        match verdict {
            TierVerdict::Taken(Level::In) => Self::Taken,
            TierVerdict::Taken(Level::Out) => Self::TakenAsItAnswers,
            TierVerdict::Taken(Level::Down) => Self::TakenAsItIsOwn,
            TierVerdict::Behind(_) => Self::Behind,
            TierVerdict::Passed(Level::Down) => Self::NoAnswer,
            TierVerdict::Passed(Level::Out | Level::In) => Self::NotInSla,
            TierVerdict::NoPods => Self::NoPods,
        }
    }
}

impl TierChoice {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "takes it: it is the first that keeps its promise",
            Self::TakenAsItAnswers => "takes it: none keeps its promise, and it is the first that answers",
            Self::TakenAsItIsOwn => "takes it: none answers, and it is the backend's own",
            Self::Behind => "does not take it: one before it does",
            Self::NotInSla => "does not take it: it does not keep its promise",
            Self::NoAnswer => "does not take it: it does not answer",
            Self::NoPods => "does not take it: it leads to no ready pods",
        }
    }

    /// Whether the request takes the tier.
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::Taken | Self::TakenAsItAnswers | Self::TakenAsItIsOwn)
    }
}
