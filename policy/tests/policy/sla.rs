//! The issue of measured quality, "Judge": a test for each of its sentences.

mod levels;
mod returns;
mod robust;

use std::time::Duration;

use mcwan_policy::sla::{Event, Judge, Judgement, Level, Loss, Moment, Promise};

/// A path that is probed each 200 ms, and its judge.
pub(crate) struct Probed {
    pub(crate) judge: Judge,
    pub(crate) now: Moment,
}

pub(crate) const INTERVAL: Duration = Duration::from_millis(200);

/// 50 ms, 10 ms, 0.5 %.
pub(crate) fn mk_promise() -> Promise {
    promising_loss(5_000)
}

/// The same with another bound on loss, in parts per million.
pub(crate) fn promising_loss(parts_per_million: u32) -> Promise {
    Promise {
        latency: Some(Duration::from_millis(50)),
        jitter: Some(Duration::from_millis(10)),
        loss: Loss::from_parts_per_million(parts_per_million),
    }
}

/// A path of which nothing is known.
pub(crate) fn mk_unknown(promise: Promise) -> Probed {
    Probed { judge: Judge::new(promise, INTERVAL, Moment::START), now: Moment::START }
}

/// A path that has long kept its promise, with round trips of 20 ms.
pub(crate) fn mk_path(promise: Promise) -> Probed {
    mk_unknown(promise).answers(600, 20)
}

/// The usual one.
pub(crate) fn mk_usual() -> Probed {
    mk_path(mk_promise())
}

impl Probed {
    /// So many events, one after the other.
    pub(crate) fn all(mut self, count: usize, event: Event) -> Self {
        for _ in 0..count {
            self.now = self.now + INTERVAL;
            self.judge.step(self.now, event);
        }
        self
    }

    /// So many answers, after so many milliseconds.
    pub(crate) fn answers(self, count: usize, round_trip: u64) -> Self {
        self.all(count, Event::Answered(Duration::from_millis(round_trip)))
    }

    /// So many probes of which a packet was lost and sent again: late, but not missed. Each is followed by answers in time, so
    /// that the median stays.
    pub(crate) fn late(self, count: usize) -> Self {
        (0..count).fold(self, |path, _| path.answers(1, 320).answers(2, 20))
    }

    pub(crate) fn missed(self, count: usize) -> Self {
        self.all(count, Event::Missed)
    }

    pub(crate) fn unsent(self, count: usize) -> Self {
        self.all(count, Event::Unsent)
    }

    /// Answers after 20 ms for so long.
    pub(crate) fn sound_for(self, seconds: u64) -> Self {
        self.answers_for(seconds, 20)
    }

    /// Answers after so many milliseconds for so many seconds.
    pub(crate) fn answers_for(self, seconds: u64, round_trip: u64) -> Self {
        self.answers(usize::try_from(seconds * 5).expect("a few"), round_trip)
    }

    /// Answers after 20 ms until the path is in. Gives how many seconds that took, rounded up.
    pub(crate) fn until_in(&mut self) -> u64 {
        let start = self.now;
        while self.level() != Level::In {
            self.now = self.now + INTERVAL;
            self.judge.step(self.now, Event::Answered(Duration::from_millis(20)));
        }
        self.now.since(start).as_millis().div_ceil(1_000).try_into().expect("a few seconds")
    }

    pub(crate) fn level(&self) -> Level {
        self.judge.level()
    }

    pub(crate) fn judgement(&self) -> Judgement {
        self.judge.standing().judgement
    }

    /// How many seconds the hold is.
    pub(crate) fn hold(&self) -> u64 {
        self.judge.standing().hold.as_secs()
    }
}
