//! Repeatable chance.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The environment variable that changes the seed.
const VARIABLE: &str = "MCWAN_SEED";

/// The seed where the environment says none, so that every run plays the same cases.
const DEFAULT: u64 = 3;

/// What everything that is drawn depends on.
pub(crate) fn seed() -> u64 {
    match std::env::var(VARIABLE) {
        Ok(seed) => seed.parse().unwrap_or_else(|error| panic!("{VARIABLE}={seed}: {error}")),
        Err(_) => DEFAULT,
    }
}

/// Draws values of strategies, the same ones for the same seed.
pub(crate) struct Draws(TestRunner);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self(TestRunner::new_with_rng(Config::default(), random))
    }

    pub(crate) fn draw<T>(&mut self, strategy: &impl Strategy<Value = T>) -> T {
        strategy.new_tree(&mut self.0).expect("no strategy here rejects").current()
    }
}
