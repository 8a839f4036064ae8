//! The tiers that a backend may take, and what came of each.

use crate::choice::{Choice, Source};
use crate::sla::{Level, Levels};
use crate::store::Import;
use crate::target::CompiledTarget;
use crate::wan_path::WanPath;

/// A tier that the backend may take, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsideredTier<'t> {
    /// What came of it.
    pub verdict: TierVerdict,
    /// The clusters that have the service.
    pub sources: Vec<ConsideredSource<'t>>,
}

/// What came of a tier. A level is that of the best path to a cluster with ready pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierVerdict {
    /// The request takes it: the first that is In, or where none is, what there is.
    Taken(Level),
    /// One before it is taken.
    Behind(Level),
    /// It is not In, and so one behind it, or none, is taken.
    Passed(Level),
    /// It leads to no ready pods.
    NoPods,
}

/// A cluster that has the service, by a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsideredSource<'t> {
    /// The target that leads there.
    pub target: CompiledTarget<'t>,
    /// Ready pods.
    pub weight: u32,
    /// What is measured; none: it is this cluster.
    pub path: Option<&'t WanPath>,
    /// Where the path is.
    pub level: Level,
    /// Whether requests go there now.
    pub is_taken: bool,
}

/// What comes of each candidate while paths are on these levels.
pub(super) fn tiers<'t>(
    choice: &'t Choice,
    import: Import<'t>,
    paths: &'t [WanPath],
    levels: Levels<'_>,
) -> Vec<ConsideredTier<'t>> {
    let taken = choice.candidate(levels).ok();
    let tier = |(candidate, sources): (u8, &'t [Source])| {
        let best = sources.iter().filter(|source| source.weight > 0).map(|source| source.level(levels)).min();
        let verdict = match (best, taken) {
            (None, _) => TierVerdict::NoPods,
            (Some(best), Some((taken, _))) if taken == candidate => TierVerdict::Taken(best),
            (Some(best), Some((taken, _))) if taken < candidate => TierVerdict::Behind(best),
            (Some(best), _) => TierVerdict::Passed(best),
        };
        let worst = taken.filter(|(taken, _)| *taken == candidate).map(|(_, worst)| worst);
        let considered = |source: &'t Source| {
            let level = source.level(levels);
            Some(ConsideredSource {
                target: import.target(source.target)?,
                weight: source.weight,
                path: source.path().and_then(|path| paths.get(path)),
                level,
                is_taken: source.weight > 0 && worst.is_some_and(|worst| level <= worst),
            })
        };
        ConsideredTier { verdict, sources: sources.iter().filter_map(considered).collect() }
    };
    choice.candidates().map(tier).collect()
}
