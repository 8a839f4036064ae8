//! The choice of a tier by measured quality.

use crate::draw::Draw;
use crate::error::{Part, Reason};
use crate::rewrite::PathRewrite;
use crate::sla::{Level, Levels};
use crate::{limits, wire};

/// The tiers that a backend may take.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) path: Option<PathRewrite>,
    when_none_in_sla: wire::WhenNoneInSla,
    /// Those of the first candidate first, and so on: one list takes less room than a list of lists.
    sources: Box<[Source]>,
}

/// A cluster that has the service, by a tier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// Place among the import's targets.
    pub(crate) target: u32,
    /// Its share; of weight zero it takes no request.
    pub(crate) weight: u32,
    /// Which of the candidates it belongs to.
    candidate: u8,
    /// Place among the configuration's paths; none: this cluster.
    path: Option<u8>,
}

/// What can be wrong with a choice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// There is nothing to choose from.
    #[error("it has no candidates")]
    NoCandidates,
    /// A candidate leads nowhere.
    #[error("candidate {0} has no sources")]
    NoSources(usize),
    /// A path that an earlier source has.
    #[error("candidate {candidate} has path {path}, which the choice has already")]
    PathTwice {
        /// The later candidate.
        candidate: usize,
        /// The path.
        path: u32,
    },
    /// A candidate that has this cluster twice.
    #[error("candidate {0} has two sources without a path")]
    OwnTwice(usize),
    /// A candidate that has a target twice.
    #[error("candidate {candidate} has target {target} twice")]
    TargetTwice {
        /// The candidate.
        candidate: usize,
        /// The target.
        target: u32,
    },
}

impl Choice {
    /// Checks a choice. Whether the configuration has its paths shows when all of that is read.
    pub(crate) fn new(choose: wire::Choose, targets: usize, by_prefix: bool) -> Result<Self, Part> {
        let wire::Choose { weight: _, path, candidates, when_none_in_sla } = choose;
        Part::bound("candidates", candidates.len(), limits::CANDIDATES)?;
        if candidates.is_empty() {
            return Err(ChoiceError::NoCandidates.into());
        }
        let mut sources: Vec<Source> = Vec::with_capacity(candidates.iter().map(|tier| tier.sources.len()).sum());
        let mut paths = Vec::new();
        for (index, wire::Candidate { sources: written }) in candidates.into_iter().enumerate() {
            check_sources(index, &written, targets, &mut paths)?;
            let candidate = u8::try_from(index).unwrap_or(u8::MAX);
            sources.extend(written.into_iter().map(|wire::Source { target, weight, path }| {
                // A configuration that has no such path is refused.
                let path = path.map(|path| u8::try_from(path).unwrap_or(u8::MAX));
                Source { target, weight, candidate, path }
            }));
        }
        let path = path.map(|path| PathRewrite::new(path, by_prefix)).transpose()?;
        Ok(Self { path, when_none_in_sla, sources: sources.into() })
    }

    /// The target of a request, while paths are on these levels.
    pub(crate) fn target(&self, levels: Levels<'_>, draw: Draw<impl FnOnce() -> u64>) -> Result<u32, Reason> {
        let (candidate, level) = self.candidate(levels)?;
        let takes = |source: &&Source| source.candidate == candidate && source.level(levels) <= level;
        let sources = self.sources.iter().filter(takes).map(|source| (source.weight, source.target));
        draw.pick(sources).map(|(target, _)| target).ok_or(Reason::NoBackend)
    }

    /// The candidate that requests take while paths are on these levels, and the worst level of a path that they take then.
    pub(crate) fn candidate(&self, levels: Levels<'_>) -> Result<(u8, Level), Reason> {
        let own = self.sources.iter().find(|source| source.weight > 0).ok_or(Reason::NoBackend)?.candidate;
        let first = |level| {
            let on_level = |source: &&Source| source.weight > 0 && source.level(levels) <= level;
            self.sources.iter().find(on_level).map(|source| (source.candidate, level))
        };
        match (first(Level::In), self.when_none_in_sla) {
            (Some(found), _) => Ok(found),
            (None, wire::WhenNoneInSla::Refuse) => Err(Reason::NoTierInSla),
            (None, wire::WhenNoneInSla::Preferred) => Ok(first(Level::Out).unwrap_or((own, Level::Down))),
        }
    }

    /// The sources of each candidate, in the order of preference.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (u8, &[Source])> {
        let candidates = self.sources.chunk_by(|one, next| one.candidate == next.candidate);
        candidates.filter_map(|sources| Some((sources.first()?.candidate, sources)))
    }
}

impl Source {
    /// Place of its path in the configuration; none: it has none.
    pub(crate) fn path(&self) -> Option<usize> {
        self.path.map(usize::from)
    }

    /// Where its path is; this cluster is always In.
    pub(crate) fn level(&self, levels: Levels<'_>) -> Level {
        self.path().map_or(Level::In, |path| levels.of(path))
    }
}

/// `paths`: those of the candidates before, to which it adds its own.
fn check_sources(candidate: usize, sources: &[wire::Source], targets: usize, paths: &mut Vec<u32>) -> Result<(), Part> {
    Part::bound("sources of a candidate", sources.len(), limits::CANDIDATE_SOURCES)?;
    if sources.is_empty() {
        return Err(ChoiceError::NoSources(candidate).into());
    }
    if sources.iter().filter(|source| source.path.is_none()).count() > 1 {
        return Err(ChoiceError::OwnTwice(candidate).into());
    }
    for (index, wire::Source { target, weight: _, path }) in sources.iter().enumerate() {
        Part::target(*target, targets)?;
        if sources.iter().take(index).any(|other| other.target == *target) {
            return Err(ChoiceError::TargetTwice { candidate, target: *target }.into());
        }
        if let Some(path) = path.filter(|path| paths.contains(path)) {
            return Err(ChoiceError::PathTwice { candidate, path }.into());
        }
        paths.extend(path);
    }
    Ok(())
}

impl wire::Choose {
    /// The sources of all candidates.
    pub fn sources(&self) -> impl Iterator<Item = &wire::Source> {
        self.candidates.iter().flat_map(|candidate| &candidate.sources)
    }
}
