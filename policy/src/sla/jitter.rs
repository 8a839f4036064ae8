//! How much round trips differ from one to the next.

use super::ring::Ring;

/// Differences between twenty neighbours.
const DIFFERENCES: usize = 19;
/// Between ten, which is the least that a path is judged by.
const ENOUGH: usize = 9;

/// The differences between neighbours among the last twenty answers that were not late, in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    latest: Option<u32>,
    differences: Ring<DIFFERENCES>,
    sum: u64,
}

impl Jitter {
    pub(super) const NONE: Self = Self { latest: None, differences: Ring::EMPTY, sum: 0 };

    pub(super) fn push(&mut self, round_trip: u32) {
        if let Some(neighbour) = self.latest.replace(round_trip) {
            let difference = neighbour.abs_diff(round_trip);
            let oldest = self.differences.push(difference).unwrap_or(0);
            self.sum = (self.sum + u64::from(difference)).saturating_sub(u64::from(oldest));
        }
    }

    /// The mean difference, once there are enough.
    pub(super) fn mean(&self) -> Option<u32> {
        let count = self.differences.len();
        if count < ENOUGH {
            return None;
        }
        let mean = self.sum.checked_div(u64::try_from(count).ok()?)?;
        u32::try_from(mean).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Jitter;

    fn mean_of(round_trips: impl IntoIterator<Item = u32>) -> Option<u32> {
        let mut jitter = Jitter::NONE;
        for round_trip in round_trips {
            jitter.push(round_trip);
        }
        jitter.mean()
    }

    #[test]
    fn the_mean_difference_of_neighbours_in_the_last_twenty() {
        let saw = |count: usize| [20_000, 30_000].into_iter().cycle().take(count);
        assert_eq!(mean_of(saw(9)), None, "too few");
        assert_eq!(mean_of(saw(10)), Some(10_000), "enough");
        assert_eq!(mean_of(saw(20).chain([50_000; 19])), Some(20_000 / 19), "one difference is left");
        assert_eq!(mean_of(saw(20).chain([50_000; 20])), Some(0), "none is left");
        assert_eq!(mean_of((0..20).map(|step| step * 5_000)), Some(5_000), "a slope");
        assert_eq!(mean_of([0, u32::MAX].into_iter().cycle().take(40)), Some(u32::MAX), "the greatest");
    }
}
