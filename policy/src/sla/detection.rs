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
    /// Four times as much is lost as may be: on average.
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
        let probes = |count: u32| interval.saturating_mul(count);
        Detection {
            down: probes(IN_A_ROW) + self.timeout(),
            // The median is the fifth of ten: six have to be late.
            latency: self.latency.map(|_| probes(ENOUGH / 2 + 1)),
            jitter: self.jitter.map(|_| probes(jitter::ANSWERS)),
            loss: self.loss.map(|loss| probes(probes_to_show(loss))),
        }
    }
}

/// How many probes it takes on average until as many are lost as are evidence.
fn probes_to_show(loss: Loss) -> u32 {
    let evidence = u64::from(Allowance::new(loss, Floor::Three).long);
    let excess = loss.parts_per_million().saturating_mul(EXCESS);
    let share = Loss::from_parts_per_million(excess).unwrap_or(Loss::ALL).of_probes();
    // Where nothing may be lost, the first that is lost shows.
    let probes = evidence.saturating_mul(Loss::PROBES).checked_div(share).unwrap_or(evidence);
    u32::try_from(probes).unwrap_or(u32::MAX)
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
        let want =
            Detection { down: ms(1_100), latency: Some(ms(1_200)), jitter: Some(ms(5_000)), loss: Some(ms(80_800)) };
        assert_eq!(found, want);
        let nothing = Promise::default().detection(ms(1_000));
        assert_eq!(nothing, Detection { down: ms(5_000), latency: None, jitter: None, loss: None });
    }

    #[test]
    fn the_less_may_be_lost_the_longer_it_takes_to_show() {
        for (parts, probes, message) in [
            (0, 1, "none: the first"),
            (1, 375_000, "hardly any"),
            (100, 5_001, "0.01 %"),
            (1_000, 876, "0.1 %"),
            (5_000, 404, "0.5 %, which finds 2 %"),
            (20_000, 253, "2 %"),
            (500_000, 411, "half: all of them"),
            (1_000_000, 501, "all: never"),
        ] {
            let loss = Loss::from_parts_per_million(parts).unwrap();
            assert_eq!(probes_to_show(loss), probes, "{message}");
        }
    }
}
