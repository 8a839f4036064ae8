//! A path that is probed and judged.

use std::time::Duration;

use mcwan_policy::sla::{Event, Judge, Level, Moment, Move, Promise, Safeguard};

use crate::random::Random;
use crate::weather::{Fate, Weather};

/// A path in virtual time.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) judge: Judge,
    pub(crate) weather: Weather,
    pub(crate) random: Random,
    promise: Promise,
    interval: Duration,
    timeout: Duration,
    /// When the next probe is sent.
    pub(crate) now: Moment,
    /// Probes under way, by when it is known what becomes of them.
    under_way: Vec<(Moment, Event)>,
    /// All moves, each with its time.
    pub(crate) moves: Vec<(Moment, Move)>,
}

impl Path {
    /// A path at half of its bounds that has been probed for a minute, or enough times.
    pub(crate) fn new(promise: Promise, interval: Duration, random: Random, lack: Option<Safeguard>) -> Self {
        let judge = Judge::new(promise, interval, Moment::START);
        let judge = match lack {
            Some(safeguard) => judge.without(safeguard),
            None => judge,
        };
        let timeout = promise.latency.unwrap_or(Duration::from_secs(1)) * 3;
        let timeout = timeout.max(Duration::from_millis(500));
        let mut path = Self {
            judge,
            weather: Weather::at(&promise, 0.5),
            random,
            promise,
            interval,
            timeout,
            now: Moment::START,
            under_way: Vec::new(),
            moves: Vec::new(),
        };
        path.run(Duration::from_mins(1).max(interval * 20));
        path
    }

    /// The weather of a path at a share of its bounds.
    pub(crate) fn at(&self, share: f64) -> Weather {
        Weather::at(&self.promise, share)
    }

    pub(crate) fn is_in(&self) -> bool {
        self.judge.level() == Level::In
    }

    /// Sends a probe, and goes on to the next.
    pub(crate) fn tick(&mut self) {
        let (taken, event) = match self.weather.fate(&mut self.random) {
            Fate::Answered(round_trip) => {
                let round_trip = Duration::from_micros(round_trip.into());
                (round_trip, Event::Answered(round_trip))
            }
            Fate::Missed => (Duration::MAX, Event::Missed),
        };
        let (taken, event) = if taken > self.timeout { (self.timeout, Event::Missed) } else { (taken, event) };
        let due = self.now + taken;
        self.now = self.now + self.interval;
        if due < self.now && self.under_way.is_empty() {
            return self.tell(due, event);
        }
        let place = self.under_way.partition_point(|(other, _)| *other <= due);
        self.under_way.insert(place, (due, event));
        let known = self.under_way.partition_point(|(due, _)| *due < self.now);
        for index in 0..known {
            let (due, event) = self.under_way[index];
            self.tell(due, event);
        }
        self.under_way.drain(..known);
    }

    fn tell(&mut self, now: Moment, event: Event) {
        if let Some(change) = self.judge.step(now, event) {
            self.moves.push((now, change));
        }
    }

    /// Goes on for so long.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.tick();
        }
    }

    /// Goes on until the path is in, or is not; for so long at most. Whether that was so.
    pub(crate) fn run_until(&mut self, is_in: bool, most: Duration) -> bool {
        let end = self.now + most;
        while self.is_in() != is_in && self.now < end {
            self.tick();
        }
        self.is_in() == is_in
    }

    /// When the path moved in or out last.
    pub(crate) fn moved(&self) -> Moment {
        self.moves.iter().rev().find(|(_, change)| is_of_requests(*change)).map_or(Moment::START, |(at, _)| *at)
    }

    /// How often the path got out or down from in.
    pub(crate) fn falls(&self) -> usize {
        self.moves.iter().filter(|(_, change)| change.from.level() == Level::In).count()
    }

    /// The most moves in an hour, of those that requests follow.
    pub(crate) fn most_moves_an_hour(&self) -> usize {
        let times: Vec<_> =
            self.moves.iter().filter(|(_, change)| is_of_requests(*change)).map(|(at, _)| *at).collect();
        let hour = Duration::from_hours(1);
        let within = |(index, start): (usize, &Moment)| times[index..].partition_point(|time| *time < *start + hour);
        times.iter().enumerate().map(within).max().unwrap_or(0)
    }
}

/// Whether requests take another path from now on.
fn is_of_requests(change: Move) -> bool {
    (change.from.level() == Level::In) != (change.to.level() == Level::In)
}
