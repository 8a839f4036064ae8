//! How long it takes until what a path does shows.

use std::time::Duration;

use super::allowance::{Allowance, Floor};
use super::answers::ENOUGH;
use super::judge::IN_A_ROW;
use super::{Loss, Promise, jitter};

/// A probe waits at least so long: a lost packet is sent again after 200 ms and more, and is late, not lost.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(500);
/// It waits at most so long: a bound on how many are under way.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it waits where nothing is promised.
const USUAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The time that a loss takes to show is told for one of so many times what is allowed: a lesser excess is hardly told from
/// chance.
const EXCESS: u32 = 4;

/// How long it takes until a path is left, from when it begins to be bad. Measured times are in `docs/sla.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// Nothing comes through: at most.
    pub down: Duration,
    /// All round trips are above their bound: at most, but for the round trip itself.
    pub latency: Option<Duration>,
    /// They differ by more than the bound: as long as all that is counted is of that time.
    pub jitter: Option<Duration>,
    /// Four times as much is lost as may be: on average. None, too, where nothing may be lost: then the first lost probe shows.
    pub loss: Option<Duration>,
}

impl Promise {
    /// How long a probe waits for its answer.
    pub fn timeout(&self) -> Duration {
        match self.latency {
            Some(latency) => latency.saturating_mul(3).clamp(SHORTEST_TIMEOUT, LONGEST_TIMEOUT),
            None => USUAL_TIMEOUT,
        }
    }

    /// How long it takes to find out that it is not kept, by a probe at each interval.
    pub fn detection(&self, interval: Duration) -> Detection {
        // One worker probes. The others look at what it has found out as often as the shortest interval is.
        let probes = |count: u32| interval.saturating_mul(count.saturating_add(1));
        Detection {
            down: probes(IN_A_ROW) + self.timeout(),
            // The median is the fifth of ten: six have to be late.
            latency: self.latency.map(|_| probes(ENOUGH / 2 + 1)),
            jitter: self.jitter.map(|_| probes(jitter::ANSWERS)),
            loss: self.loss.and_then(|loss| loss_shows_after(loss, interval)),
        }
    }
}

/// How long it takes on average until it shows that more is lost than may be; none where that never does.
fn loss_shows_after(loss: Loss, interval: Duration) -> Option<Duration> {
    let excess = Loss::from_parts_per_million(loss.parts_per_million().saturating_mul(EXCESS)).unwrap_or(Loss::ALL);
    let probes = Allowance::new(loss, Floor::Three).probes_to_show(excess);
    Duration::try_from_secs_f64(probes * interval.as_secs_f64()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_probe_waits_three_times_the_bound() {
        for (latency, timeout, message) in [
            (Some(50), 500, "the shortest"),
            (Some(1_000), 3_000, "three times"),
            (Some(60_000), 30_000, "the longest"),
            (None, 2_000, "nothing is promised"),
        ] {
            let promise = Promise { latency: latency.map(ms), ..Promise::default() };
            assert_eq!(promise.timeout(), ms(timeout), "{message}");
        }
    }

    #[test]
    fn what_is_promised_is_found_out_in_time() {
        let promise =
            Promise { latency: Some(ms(50)), jitter: Some(ms(10)), loss: Loss::from_parts_per_million(5_000) };
        let found = promise.detection(ms(200));
        let want = Detection { down: ms(1_300), latency: Some(ms(1_400)), jitter: Some(ms(5_200)), loss: found.loss };
        assert_eq!(found, want);
        assert_eq!(found.loss.map(|loss| loss.as_secs()), Some(63));
        let nothing = Promise::default().detection(ms(1_000));
        assert_eq!(nothing, Detection { down: ms(6_000), latency: None, jitter: None, loss: None });
    }

    #[test]
    fn the_less_may_be_lost_the_longer_it_takes_to_show() {
        let shows_after = |parts| loss_shows_after(Loss::from_parts_per_million(parts).unwrap(), ms(1_000));
        let allowed = [0, 100, 1_000, 5_000, 20_000, 1_000_000];
        let seconds = allowed.map(|parts| shows_after(parts).map(|shows| shows.as_secs()));
        assert_eq!(seconds, [None, Some(164_173), Some(1_779), Some(318), Some(76), None], "{allowed:?}");
    }
}
