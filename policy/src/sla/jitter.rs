//! How much round trips differ from one to the next.

use super::ring::Ring;

/// Differences between 25 neighbours. With 20, a path at half of its bound whose round trips spread evenly would be above it
/// once in 400 hours; with 25, less than once in 5,000.
const DIFFERENCES: usize = 24;
/// So many neighbours have these differences.
pub(super) const ANSWERS: u32 = 25;
/// Between ten, which is the least that a path is judged by.
const ENOUGH: usize = 9;

/// The differences between neighbours among the last 25 answers that were not late, in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    latest: Option<u32>,
    differences: Ring<DIFFERENCES>,
    sum: u64,
    /// The last mean of enough differences.
    shown: Option<u32>,
}

impl Jitter {
    pub(super) const NONE: Self = Self { latest: None, differences: Ring::EMPTY, sum: 0, shown: None };

    pub(super) fn push(&mut self, round_trip: u32) {
        if let Some(neighbour) = self.latest.replace(round_trip) {
            let difference = neighbour.abs_diff(round_trip);
            let oldest = self.differences.push(difference).unwrap_or(0);
            self.sum = (self.sum + u64::from(difference)).saturating_sub(u64::from(oldest));
            if self.differences.len() >= ENOUGH {
                self.shown = mean(self.sum, self.differences.len());
            }
        }
    }

    /// Forgets all differences, but for what is shown of them.
    pub(super) fn restart(&mut self) {
        *self = Self { shown: self.shown, ..Self::NONE };
    }

    /// The least that the mean difference of 25 answers may be: those that have yet to come may be equal. A few by themselves
    /// are above their bound too often.
    pub(super) fn least(&self) -> u32 {
        mean(self.sum, DIFFERENCES).unwrap_or(u32::MAX)
    }

    /// The mean difference, for people: the last one that was known.
    pub(super) const fn shown(&self) -> Option<u32> {
        self.shown
    }
}

fn mean(sum: u64, count: usize) -> Option<u32> {
    u32::try_from(sum.checked_div(u64::try_from(count).ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::Jitter;

    fn after(round_trips: impl IntoIterator<Item = u32>) -> Jitter {
        let mut jitter = Jitter::NONE;
        for round_trip in round_trips {
            jitter.push(round_trip);
        }
        jitter
    }

    fn to_and_fro(count: usize) -> impl Iterator<Item = u32> {
        [20_000, 30_000].into_iter().cycle().take(count)
    }

    #[test]
    fn the_mean_difference_of_neighbours_in_the_last_twenty_five() {
        for (message, jitter, least, shown) in [
            ("one answer", after([20_000]), 0, None),
            ("too few to show", after(to_and_fro(9)), 80_000 / 24, None),
            ("others may be equal", after(to_and_fro(10)), 90_000 / 24, Some(10_000)),
            ("all", after(to_and_fro(25)), 10_000, Some(10_000)),
            ("one difference is left", after(to_and_fro(25).chain([50_000; 24])), 30_000 / 24, Some(30_000 / 24)),
            ("none is left", after(to_and_fro(25).chain([50_000; 25])), 0, Some(0)),
            ("a slope", after((0..25).map(|step| step * 5_000)), 5_000, Some(5_000)),
            ("the greatest", after([0, u32::MAX].into_iter().cycle().take(50)), u32::MAX, Some(u32::MAX)),
        ] {
            assert_eq!((jitter.least(), jitter.shown()), (least, shown), "{message}");
        }
    }

    #[test]
    fn what_is_shown_outlasts_a_restart() {
        let mut jitter = after(to_and_fro(25));
        jitter.restart();
        assert_eq!((jitter.least(), jitter.shown()), (0, Some(10_000)), "shown, not judged");
        (0..10).for_each(|_| jitter.push(20_000));
        assert_eq!((jitter.least(), jitter.shown()), (0, Some(0)), "what came since");
    }
}
