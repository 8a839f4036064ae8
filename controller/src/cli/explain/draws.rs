//! The draws of choices by weight.

/// A sequence of numbers, uniform over all of `u64` (`SplitMix64`).
#[derive(Clone, Debug)]
pub(super) struct Draws(u64);

impl Draws {
    /// The sequence of a seed, or one that nobody foresees.
    pub(super) fn new(seed: Option<u64>) -> Result<Self, getrandom::Error> {
        seed.map_or_else(getrandom::u64, Ok).map(Self)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_draws_repeatable() {
        let draws = |seed| {
            let mut draws = Draws(seed);
            [draws.next(), draws.next(), draws.next()]
        };
        // The first outputs of the reference implementation.
        assert_eq!(draws(1_234_567), [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_ne!(draws(1), draws(2));
    }
}
