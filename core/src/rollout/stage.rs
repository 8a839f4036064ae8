//! The stages in which a version of an import comes and goes.

use super::Timing;
use crate::moment::Moment;
use crate::observed::Istiod;

/// How far a version is. What is behind a filter comes before it and goes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// What its routes lead to is written, so are listeners, and the clusters there admit who calls.
    Backing(StageProgress),
    /// Its routes are written.
    Routed(StageProgress),
    /// Gateways know its routes: the filter may steer there.
    Ready,
    /// No gateway steers there any more: its ports go from what clients call, then its routes go.
    Closing,
    /// Its routes are gone: what they led to goes once gateways know.
    Draining(StageProgress),
}

impl Stage {
    /// What gateways must know before the version is ready.
    pub(super) fn awaited(&self) -> Option<&'static str> {
        match self {
            Self::Backing(_) => Some("gateways are being told where its routes will lead"),
            Self::Routed(_) => Some("gateways are being told of its routes"),
            Self::Ready | Self::Closing | Self::Draining(_) => None,
        }
    }
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StageProgress {
    /// When it began.
    pub(super) since: Moment,
    /// Since when everything is written.
    pub(super) written: Option<Moment>,
    /// Since when istiod has heard of it, too.
    pub(super) heard: Option<Moment>,
}

impl StageProgress {
    /// A stage that begins now.
    pub(super) fn begin(now: Moment) -> Self {
        Self { since: now, written: None, heard: None }
    }

    /// Takes note of whether everything is written, and what istiod says of it. Once it has heard, that holds: what is written
    /// later is for other versions, and keeps this. An object of which it says nothing was made anew.
    pub(super) fn look(&mut self, is_written: bool, istiod: Istiod, now: Moment) {
        if self.heard.is_some() && istiod != Istiod::Silent {
            return;
        }
        self.written = is_written.then(|| self.written.unwrap_or(now));
        self.heard = (is_written && istiod == Istiod::UpToDate).then(|| self.heard.unwrap_or(now));
    }

    /// From when on gateways know what is written: istiod has heard of it and had the lead to tell them, or has been silent
    /// for the grace. None: it is not written.
    pub(super) fn known(&self, timing: Timing) -> Option<Moment> {
        let written = self.written? + timing.grace;
        Some(self.heard.map_or(written, |heard| (heard + timing.lead).min(written.max(heard))))
    }

    /// Until when routes wait for what they lead to; none: for the next attempt, as nobody who gives no answer refuses anything.
    /// The grace begins then.
    pub(super) fn backed(&mut self, is_unanswered: bool, timing: Timing, now: Moment) -> Option<Moment> {
        if is_unanswered && self.written.is_none() {
            self.since = now;
            return None;
        }
        Some(self.written.map_or(self.since + timing.grace, |written| written + timing.lead))
    }
}
