//! The median of the last round trips.

use super::ring::Ring;

/// How many answers a path is judged by: with fewer it is unknown.
pub(super) const ENOUGH: u32 = 10;

/// A packet that is lost is an answer that is late: the kernel sends it again after at least 200 ms (tail-loss probe, RTO).
/// In microseconds, and less than that for timers that are early.
pub(super) const LATE: u32 = 150_000;

/// The round trips of the last answers, in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    last: Ring<10>,
    median: Option<u32>,
    /// The last two, the newest last.
    newest: [u32; 2],
}

impl Answers {
    pub(super) const NONE: Self = Self { last: Ring::EMPTY, median: None, newest: [0; 2] };

    pub(super) fn push(&mut self, round_trip: u32) {
        self.last.push(round_trip);
        self.newest = [self.newest[1], round_trip];
        self.median = self.last.full().map(|mut all| {
            all.sort_unstable();
            let [_, _, _, _, fifth, _, _, _, _, _] = all;
            fifth
        });
    }

    /// The median, once there are enough answers: of ten the fifth, as by chance five are late of a path that loses little.
    pub(super) const fn median(&self) -> Option<u32> {
        self.median
    }

    /// Whether an answer that comes now has taken so long that a packet may have been lost; unknown while there is no median.
    pub(super) fn is_late(&self, round_trip: u32) -> Option<bool> {
        self.median.map(|median| round_trip > median.saturating_add(LATE))
    }

    /// Whether the last two took as long: then the way has become longer, as the median will say, and nothing was lost.
    pub(super) fn are_as_late(&self, round_trip: u32) -> bool {
        self.newest.iter().all(|before| round_trip <= before.saturating_add(LATE))
    }
}
