//! How long a path stays out once it is sound.

use std::time::Duration;

use super::{Level, Moment};

/// The first hold. A path that is left alone for so long has lost none of its first requests; without, its connections
/// still wait for packets to be sent again.
pub(super) const SHORTEST: Duration = Duration::from_secs(10);
/// The longest hold.
const LONGEST: Duration = Duration::from_mins(5);
/// Who falls within so long of getting better is held twice as long.
const RELAPSE: Duration = Duration::from_mins(5);
/// Who has been in for so long begins with the first hold again. With less, a path that flaps a few times, keeps still for
/// five minutes and flaps again would move more than 32 times an hour.
const RECOVERY: Duration = Duration::from_mins(20);
/// Connections through an outage go on after at most as long as it lasted (RFC 6298: each wait is twice the one before),
/// and two minutes at most.
const LONGEST_OUTAGE: Duration = Duration::from_mins(2);

/// The hold of a path.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    doubled: Duration,
    /// How long the path was down, since it was last in.
    outage: Duration,
    /// When the path got better, unless it has got worse since.
    better: Option<Moment>,
    doubling: Doubling,
}

/// What a relapse does, and how long it is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubling {
    factor: u32,
    memory: Duration,
}

impl Doubling {
    pub(super) const USUAL: Self = Self { factor: 2, memory: RECOVERY };
    /// The hold stays what it is.
    pub(super) const NONE: Self = Self { factor: 1, ..Self::USUAL };
    /// Forgotten as soon as a fall is none within five minutes.
    pub(super) const FORGOTTEN: Self = Self { memory: RELAPSE, ..Self::USUAL };
}

impl Hold {
    pub(super) const FIRST: Self =
        Self { doubled: SHORTEST, outage: Duration::ZERO, better: None, doubling: Doubling::USUAL };

    /// One that another has told of, of a path that is on its level since then.
    pub(super) fn told(hold: Duration, level: Level, since: Moment) -> Self {
        let doubled = hold.clamp(SHORTEST, LONGEST);
        // A path that has never been out has not got better either.
        let better = (level == Level::In && doubled > SHORTEST).then_some(since);
        Self { doubled, better, ..Self::FIRST }
    }

    pub(super) fn with(self, doubling: Doubling) -> Self {
        Self { doubling, ..self }
    }

    /// How long a path that is now no longer bad stays where it is.
    pub(super) fn time(&self) -> Duration {
        self.doubled.max(self.outage)
    }

    /// The path gets worse.
    pub(super) fn falls(&mut self, now: Moment, from: Level) {
        if let Some(better) = self.better.take() {
            let sound = now.since(better);
            if sound < RELAPSE {
                self.doubled = LONGEST.min(self.doubled.saturating_mul(self.doubling.factor));
            } else if from == Level::In && sound >= self.doubling.memory {
                self.doubled = SHORTEST;
            }
        }
        if from == Level::In {
            self.outage = Duration::ZERO;
        }
    }

    /// The path answers again after so long.
    pub(super) fn answers_after(&mut self, outage: Duration) {
        self.outage = self.outage.max(outage.min(LONGEST_OUTAGE));
    }

    /// The path gets better.
    pub(super) fn betters(&mut self, now: Moment) {
        self.better = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Hold, LONGEST, RECOVERY, RELAPSE};
    use crate::sla::{Level, Moment};

    /// The most falls until an hour is over, whatever a path does that falls now: each time it is in, it falls at once, or as
    /// soon as that doubles nothing, or as soon as all is forgotten.
    fn most_falls(mut hold: Hold, now: Moment) -> u32 {
        if now >= Moment::after_start(Duration::from_hours(1)) {
            return 0;
        }
        hold.falls(now, Level::In);
        let better = now + hold.time();
        hold.betters(better);
        let after = |sound: Duration| most_falls(hold.clone(), better + sound);
        1 + [Duration::ZERO, RELAPSE, RECOVERY].map(after).into_iter().max().unwrap_or_default()
    }

    #[test]
    fn a_path_moves_at_most_thirty_two_times_an_hour() {
        let mut doubled = super::SHORTEST;
        while doubled < LONGEST {
            for better in [None, Some(Moment::START)] {
                let falls = most_falls(Hold { doubled, better, ..Hold::FIRST }, Moment::START);
                assert!(2 * falls <= 32, "{falls} falls that begin with a hold of {doubled:?}, {better:?}");
            }
            doubled *= 2;
        }
    }
}
