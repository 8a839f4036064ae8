//! The world of a VM that outlives it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::callout::Clusters;
use crate::{Fault, LogLevel, Metrics, SharedData, Trace};

/// Fuel that a callback may use unless the host is told otherwise: some seconds.
const FUEL: u64 = 10_000_000_000;

/// When the clock starts: 2026-01-01, since 1970.
const START: Duration = Duration::from_hours(24 * 20_454);

/// When the monotonic clock starts.
const MONOTONIC_START: Duration = Duration::from_hours(1);

/// The world of a VM that outlives it: settings, statistics, and the record of what happens.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) vm_configuration: Vec<u8>,
    /// By path, its parts separated by zero bytes.
    pub(crate) properties: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) has_clear_route_cache: bool,
    pub(crate) log_level: LogLevel,
    /// Since 1970. It stands still unless it is moved.
    pub(crate) now: Duration,
    /// Since some start. It stands still unless it is moved.
    pub(crate) monotonic: Duration,
    pub(crate) random: Random,
    pub(crate) faults: Vec<Fault>,
    pub(crate) fuel: u64,
    pub(crate) metrics: Metrics,
    pub(crate) shared_data: SharedData,
    pub(crate) clusters: Clusters,
    pub(crate) trace: Trace,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            vm_configuration: Vec::new(),
            properties: BTreeMap::new(),
            has_clear_route_cache: true,
            log_level: LogLevel::Info,
            now: START,
            monotonic: MONOTONIC_START,
            random: Random(0),
            faults: Vec::new(),
            fuel: FUEL,
            metrics: Metrics::default(),
            shared_data: SharedData::default(),
            clusters: Clusters::default(),
            trace: Trace::default(),
        }
    }
}

/// A repeatable source of random bytes: `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^= word >> 31;
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The form in which a property's path crosses the border.
pub(crate) fn property_key(path: &[&str]) -> Vec<u8> {
    path.join("\0").into_bytes()
}
