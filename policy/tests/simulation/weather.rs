//! What a path does to probes.

use std::time::Duration;

use mcwan_policy::sla::Promise;

use crate::random::Random;

/// What a path does to each packet. Times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// The least round trip.
    pub(crate) delay: u32,
    /// How round trips spread above it.
    pub(crate) spread: Spread,
    /// The share of probes of which a packet is lost, in parts of 2^32.
    loss: u64,
    /// Whether nothing arrives.
    pub(crate) hole: bool,
}

/// How round trips spread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    /// Evenly, up to so much.
    Even(u32),
    /// As queues make them: most little, a few by much, with this mean.
    Exponential(u32),
}

/// What becomes of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Answered(u32),
    Missed,
}

impl Weather {
    /// A path that is at a share of its bounds, where that is one of round trips that spread evenly: two neighbours differ by
    /// a third of how far they spread.
    pub(crate) fn at(promise: &Promise, share: f64) -> Self {
        let micros = |bound: Option<Duration>| (bound.unwrap_or_default().as_secs_f64() * share * 1e6) as u32;
        let spread = 3 * micros(promise.jitter);
        let loss = f64::from(promise.loss.unwrap_or_default().parts_per_million()) / 1e6;
        let delay = micros(promise.latency).saturating_sub(spread / 2);
        Self { delay, spread: Spread::Even(spread), loss: 0, hole: false }.losing(loss * share)
    }

    /// The same with a loss each way.
    pub(crate) fn losing(self, each_way: f64) -> Self {
        let of_probes = 1.0 - (1.0 - each_way) * (1.0 - each_way);
        Self { loss: (of_probes * f64::from(u32::MAX)) as u64, ..self }
    }

    /// The same with a longer way.
    pub(crate) fn delayed(self, by: Duration) -> Self {
        Self { delay: self.delay + by.as_micros() as u32, ..self }
    }

    /// The same with another spread.
    pub(crate) fn spread(self, spread: Spread) -> Self {
        Self { spread, ..self }
    }

    /// The same with nothing that arrives.
    pub(crate) fn hole(self) -> Self {
        Self { hole: true, ..self }
    }

    /// What becomes of a probe that is sent now. Of one that is lost the kernel sends what is missing again after 200 to 550
    /// ms, and where that is lost, too, after twice as long.
    #[inline]
    pub(crate) fn fate(&self, random: &mut Random) -> Fate {
        if self.hole {
            return Fate::Missed;
        }
        let number = random.next();
        let mut round_trip = self.delay + self.spread.draw(number & 0xFFFF_FFFF);
        if (number >> 32) < self.loss {
            let mut again = 200_000 + random.between(0, 350_000) as u32;
            round_trip += again;
            while random.next() >> 32 < self.loss && round_trip < 10_000_000 {
                again *= 2;
                round_trip += again;
            }
        }
        Fate::Answered(round_trip)
    }
}

impl Spread {
    #[inline]
    fn draw(self, number: u64) -> u32 {
        match self {
            Self::Even(most) => ((number * u64::from(most)) >> 32) as u32,
            Self::Exponential(mean) => {
                let share = (number as f64 + 1.0) / 4_294_967_296.0;
                (-share.ln() * f64::from(mean)) as u32
            }
        }
    }
}
