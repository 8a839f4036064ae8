//! The choice of a tier by measured quality, sentence by sentence.

use mcwan_policy::sla::Level;
use mcwan_policy::wire::{Choose, Source, WhenNoneInSla};

/// Why there is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    NoBackend,
    NoTierInSla,
}

impl Refused {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::NoBackend => "NoBackend",
            Self::NoTierInSla => "NoTierInSla",
        }
    }

    pub(super) fn status(self) -> u16 {
        match self {
            Self::NoBackend => 500,
            Self::NoTierInSla => 503,
        }
    }
}

/// The target of a request, given a uniform number.
pub(super) fn target(choose: &Choose, levels: &[Level], number: u64) -> Result<u32, Refused> {
    let (_, sources) = takes(choose, levels)?;
    let total: u128 = sources.iter().map(|source| u128::from(source.weight)).sum();
    let place = (u128::from(number) * total) >> 64;
    let mut end = 0;
    let found = sources.into_iter().find(|source| {
        end += u128::from(source.weight);
        place < end
    });
    Ok(found.expect("the number is below the total").target)
}

/// The candidate that requests take, and those of its sources that share them.
pub(crate) fn takes(choose: &Choose, levels: &[Level]) -> Result<(usize, Vec<Source>), Refused> {
    let level = |source: &Source| match source.path {
        // This cluster's own share is always In.
        None => Level::In,
        Some(path) => levels.get(usize::try_from(path).expect("paths are few")).copied().unwrap_or(Level::In),
    };
    let first = |is_fit: &dyn Fn(Level) -> bool| {
        let candidates = choose.candidates.iter().enumerate().map(|(index, candidate)| {
            let fit = candidate.sources.iter().filter(|source| source.weight > 0 && is_fit(level(source)));
            (index, fit.copied().collect::<Vec<_>>())
        });
        candidates.into_iter().find(|(_, sources)| !sources.is_empty())
    };
    let any = first(&|_| true).ok_or(Refused::NoBackend)?;
    if let Some(found) = first(&|level| level == Level::In) {
        return Ok(found);
    }
    match choose.when_none_in_sla {
        WhenNoneInSla::Refuse => Err(Refused::NoTierInSla),
        WhenNoneInSla::Preferred => Ok(first(&|level| level != Level::Down).unwrap_or(any)),
    }
}
