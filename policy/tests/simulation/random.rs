//! Random numbers that are the same for the same seed (`SplitMix64`).

use std::time::Duration;

/// A source of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Numbers that follow one another would begin at neighbouring places of one sequence.
        Self(Self(seed).next())
    }

    /// Any number.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 on, below 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of a range.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// A time of a range; short ones are as likely as long ones, by their order of magnitude.
    pub(crate) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        let ratio = most.as_secs_f64() / least.as_secs_f64();
        least.mul_f64(ratio.powf(self.share()))
    }

    /// One of several.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }
}
