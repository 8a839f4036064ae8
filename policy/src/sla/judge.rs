//! The machine that judges a path.

use std::time::Duration;

use super::allowance::{Allowance, Floor, MARGIN};
use super::answers::{Answers, ENOUGH, LATE};
use super::hold::{Doubling, Hold, SHORTEST};
use super::jitter::Jitter;
use super::outcomes::{LONG, MOST, Outcomes};
use super::{Event, Figures, Judgement, Level, Loss, Moment, Move, Promise, Safeguard, Standing};

/// So many probes missed one after the other, and a path is down; so many that could not be sent, and it is unknown.
pub(super) const IN_A_ROW: u32 = 3;

/// Judges one path by what becomes of its probes.
#[derive(Clone, Debug)]
pub struct Judge {
    promise: Promise,
    allowance: Option<Allowance>,
    interval: Duration,

    answers: Answers,
    jitter: Jitter,
    outcomes: Outcomes,
    /// How many probes were missed one after the other.
    missed: u32,
    /// How many could not be sent, one after the other.
    unsent: u32,
    /// When a probe was last answered; at first, when the judge began.
    answered: Moment,
    measured: Option<Moment>,

    /// The reason for the level: the last judgement that was as bad as that.
    judgement: Judgement,
    since: Moment,
    hold: Hold,
    /// What there was since the path was last judged to be down.
    up: Quiet,
    /// What there was since it was last judged to be out, or worse.
    sound: Quiet,
    /// The reason for which it was last judged to be out, while it is down.
    excess: Judgement,

    /// None, but in the simulation.
    pub(super) lacks: Option<Safeguard>,
}

/// A time without something bad.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    since: Moment,
    /// How many answers came in it.
    answers: u32,
}

impl Judge {
    /// One who knows nothing yet of a path that promises this and is probed at this interval.
    pub fn new(promise: Promise, interval: Duration, now: Moment) -> Self {
        let standing = Standing { judgement: Judgement::FewAnswers, since: now, hold: SHORTEST };
        Self::taking_over(promise, interval, now, standing)
    }

    /// One who knows where the path stands, but not what was measured: it gets worse as soon as that shows, and better after
    /// the whole hold.
    pub fn taking_over(promise: Promise, interval: Duration, now: Moment, standing: Standing) -> Self {
        let Standing { judgement, since, hold } = standing;
        // Nobody tells whether it has answered since then: it is taken to be silent still.
        let (missed, answered) = if judgement == Judgement::NoAnswer { (IN_A_ROW, since.min(now)) } else { (0, now) };
        Self {
            promise,
            allowance: promise.loss.map(|loss| Allowance::new(loss, Floor::Three)),
            interval,
            answers: Answers::NONE,
            jitter: Jitter::NONE,
            outcomes: Outcomes::NONE,
            missed,
            unsent: 0,
            answered,
            measured: None,
            judgement,
            since,
            hold: Hold::told(hold, judgement.level(), since),
            up: Quiet::from(now),
            sound: Quiet::from(now),
            excess: judgement,
            lacks: None,
        }
    }

    /// Takes what has become of a probe. Gives the move, where the path's level changes.
    pub fn step(&mut self, now: Moment, event: Event) -> Option<Move> {
        match event {
            Event::Answered(round_trip) => self.answered(now, round_trip),
            Event::Missed => self.missed(now),
            Event::Voided => {}
            Event::Unsent => self.unsent(),
        }
        let judgement = self.judge();
        if judgement == Judgement::Jitter && self.has(Safeguard::Emptying) {
            // The same differences would say so again, for longer than a hold where probes are rare.
            self.jitter.restart();
        }
        self.remember(now, judgement);
        if judgement.level() > self.level() {
            self.hold.falls(now, self.level());
            return Some(self.move_to(now, judgement));
        }
        if judgement.level() == self.level() {
            self.judgement = judgement;
            return None;
        }
        let better = self.better(now, judgement)?;
        if better.level() == self.level() {
            self.judgement = better;
            return None;
        }
        self.hold.betters(now);
        if better.level() == Level::In && self.has(Safeguard::Emptying) {
            self.outcomes.keep(self.probes_of_hold());
        }
        Some(self.move_to(now, better))
    }

    /// The level of the path.
    pub const fn level(&self) -> Level {
        self.judgement.level()
    }

    /// When a probe was last answered; before the first, when the judge began, or before that where the path is known to be
    /// silent.
    pub const fn answered_at(&self) -> Moment {
        self.answered
    }

    /// Whether an answer is late that has not come for so long. While too little is known, that is one which the tier does not
    /// promise.
    pub fn is_overdue(&self, waited: Duration) -> bool {
        let micros = u32::try_from(waited.as_micros()).unwrap_or(u32::MAX);
        let is_promised = |bound: Duration| waited <= bound + Duration::from_micros(LATE.into());
        self.answers.is_late(micros).unwrap_or_else(|| !self.promise.latency.is_some_and(is_promised))
    }

    /// Where the path stands.
    pub fn standing(&self) -> Standing {
        Standing { judgement: self.judgement, since: self.since, hold: self.hold.time() }
    }

    /// What was measured.
    pub fn figures(&self) -> Figures {
        let duration = |micros: u32| Duration::from_micros(micros.into());
        let probes = self.outcomes.len(LONG);
        Figures {
            latency: self.answers.median().map(duration),
            jitter: self.jitter.shown().map(duration),
            loss: Loss::from_probes(self.outcomes.lost_of_long(), probes),
            probes,
            measured: self.measured,
        }
    }

    fn answered(&mut self, now: Moment, round_trip: Duration) {
        if self.missed >= self.misses() && self.has(Safeguard::Outage) {
            self.hold.answers_after(now.since(self.answered));
        }
        self.missed = 0;
        self.unsent = 0;
        self.answered = now;
        self.measured = Some(now);
        let round_trip = u32::try_from(round_trip.as_micros()).unwrap_or(u32::MAX);
        let is_late = self.answers.is_late(round_trip);
        let is_lost = is_late == Some(true) && !self.answers.are_as_late(round_trip);
        self.outcomes.push(is_lost && self.has(Safeguard::Lateness));
        self.answers.push(round_trip);
        if is_late == Some(false) || !self.has(Safeguard::LateIsNoJitter) {
            self.jitter.push(round_trip);
        }
        self.up.answers = self.up.answers.saturating_add(1);
        self.sound.answers = self.sound.answers.saturating_add(1);
    }

    fn missed(&mut self, now: Moment) {
        self.missed = self.missed.saturating_add(1);
        self.unsent = 0;
        self.measured = Some(now);
        self.outcomes.push(true);
    }

    fn unsent(&mut self) {
        self.unsent = self.unsent.saturating_add(1);
        if self.unsent >= IN_A_ROW {
            // What was known is of a path that may be another one when it is there again.
            self.answers = Answers::NONE;
            self.jitter = Jitter::NONE;
            self.outcomes = Outcomes::NONE;
            self.missed = 0;
        }
    }

    /// What the last probes say. Of a path that is not in, latency and jitter are held against less than their bounds, and
    /// loss against the time of the hold ([`better`](Self::better)).
    fn judge(&self) -> Judgement {
        if self.missed >= self.misses() {
            return Judgement::NoAnswer;
        }
        if self.unsent >= IN_A_ROW {
            return Judgement::ProbeFailed;
        }
        let Some(median) = self.answers.median() else {
            return Judgement::FewAnswers;
        };
        let is_in = self.level() == Level::In;
        let percent = if is_in || !self.has(Safeguard::Margin) { 100 } else { MARGIN };
        let exceeds = |measured: u32, bound: Option<Duration>| {
            bound.is_some_and(|bound| u128::from(measured) * 100 > bound.as_micros().saturating_mul(percent.into()))
        };
        if exceeds(median, self.promise.latency) {
            return Judgement::Latency;
        }
        if exceeds(self.jitter.least(), self.promise.jitter) {
            return Judgement::Jitter;
        }
        let (short, long) = (self.outcomes.lost_of_short(), self.outcomes.lost_of_long());
        if is_in && self.allowance.is_some_and(|allowance| short >= allowance.short || long >= allowance.long) {
            return Judgement::Loss;
        }
        Judgement::InSla
    }

    /// Begins the time anew in which there was nothing as bad.
    fn remember(&mut self, now: Moment, judgement: Judgement) {
        match judgement.level() {
            Level::In => {}
            Level::Out => {
                self.sound = Quiet::from(now);
                self.excess = judgement;
            }
            Level::Down => {
                self.sound = Quiet::from(now);
                self.up = Quiet::from(now);
                self.excess = judgement;
            }
        }
    }

    /// The worst that there was for the time of the hold, where that is over.
    fn better(&self, now: Moment, judgement: Judgement) -> Option<Judgement> {
        let hold = if self.has(Safeguard::Hold) { self.hold.time() } else { Duration::ZERO };
        let is_over = |quiet: Quiet| {
            let is_known = quiet.answers >= ENOUGH || judgement == Judgement::ProbeFailed;
            now.since(quiet.since) >= hold && (is_known || !self.has(Safeguard::Answers))
        };
        if !is_over(self.sound) {
            // Down, and since then out.
            return (self.level() == Level::Down && is_over(self.up)).then_some(self.excess);
        }
        let probes = self.outcomes.len(self.probes_of_hold());
        let lost = self.outcomes.lost_of(probes);
        let is_clean = self.allowance.is_none_or(|allowance| allowance.has_margin(lost, probes));
        Some(if is_clean || !self.has(Safeguard::Clean) { judgement } else { Judgement::Loss })
    }

    /// How many probes a hold has.
    fn probes_of_hold(&self) -> u32 {
        let probes = self.hold.time().as_micros().checked_div(self.interval.as_micros());
        probes.and_then(|probes| u32::try_from(probes).ok()).unwrap_or(MOST).clamp(ENOUGH, MOST)
    }

    fn move_to(&mut self, now: Moment, to: Judgement) -> Move {
        let from = std::mem::replace(&mut self.judgement, to);
        self.since = now;
        Move { from, to }
    }

    fn misses(&self) -> u32 {
        if self.has(Safeguard::Misses) { IN_A_ROW } else { 1 }
    }

    /// The same with what its safeguards make of the allowance and the hold.
    pub(super) fn adjusted(mut self) -> Self {
        self.allowance = self.promise.loss.map(|loss| {
            if !self.has(Safeguard::Evidence) {
                return Allowance::fixed(loss);
            }
            Allowance::new(loss, if self.has(Safeguard::Floor) { Floor::Three } else { Floor::One })
        });
        let doubling = match self.lacks {
            Some(Safeguard::Doubling) => Doubling::NONE,
            Some(Safeguard::Memory) => Doubling::FORGOTTEN,
            _ => Doubling::USUAL,
        };
        self.hold = self.hold.with(doubling);
        self
    }
}

impl Quiet {
    const fn from(now: Moment) -> Self {
        Self { since: now, answers: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Judge;

    #[test]
    fn two_hundred_and_fifty_six_paths_take_little_memory() {
        assert!(size_of::<Judge>() <= 1_024, "{} bytes", size_of::<Judge>());
    }
}
