//! Uniform numbers for weighted choices.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    /// Seeded by the host's `random_get`, once in a VM.
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(()));
}

/// The next number (`SplitMix64`; Steele, Lea and Flood, 2014).
pub(crate) fn draw() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
