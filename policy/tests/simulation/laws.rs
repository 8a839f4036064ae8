//! What must hold of judges, whatever the weather.

mod detection;
mod impaired;
mod moves;
mod outage;
mod quiet;
mod recovery;
mod shared;

use std::time::Duration;

use mcwan_policy::sla::{Promise, Safeguard};

use crate::path::Path;
use crate::random::Random;

/// What must hold.
#[derive(Clone, Copy)]
pub(crate) struct Law {
    pub(crate) name: &'static str,
    /// Gives why it does not hold.
    check: fn(&Scope) -> Result<(), String>,
}

/// Where a law must hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// How many hours all laws take, about.
    pub(crate) hours: u64,
    pub(crate) seed: u64,
    /// What the judges lack.
    pub(crate) lack: Option<Safeguard>,
}

pub(crate) const DETECTION: Law = Law { name: "what is impaired is found in time", check: detection::check };
pub(crate) const OUTAGE: Law =
    Law { name: "after an outage a path is left alone for as long as that was", check: outage::check };
pub(crate) const MOVES: Law = Law { name: "no path moves more than 32 times an hour", check: moves::check };
pub(crate) const SHARED: Law = Law { name: "nor do those of two clusters on a tier", check: shared::check };
pub(crate) const IMPAIRED: Law = Law { name: "what is impaired stays out", check: impaired::check };
pub(crate) const RECOVERY: Law =
    Law { name: "what is sound again is in within three holds, and stays in", check: recovery::check };
pub(crate) const QUIET: Law = Law { name: "what keeps its promise hardly ever falls", check: quiet::check };
pub(crate) const LITTLE_LOSS: Law =
    Law { name: "what may lose little does not fall for the first it loses", check: quiet::check_little_loss };

pub(crate) const LAWS: [Law; 8] = [DETECTION, OUTAGE, MOVES, SHARED, IMPAIRED, RECOVERY, QUIET, LITTLE_LOSS];

impl Law {
    pub(crate) fn check(&self, scope: &Scope) -> Result<(), String> {
        (self.check)(scope).map_err(|why| format!("{}: {why}", self.name))
    }
}

impl Scope {
    /// A path of its own random numbers.
    fn path(&self, promise: Promise, interval: Duration, number: u64) -> Path {
        Path::new(promise, interval, self.random(number), self.lack)
    }

    fn random(&self, number: u64) -> Random {
        Random::new(self.seed.wrapping_mul(1_000_003).wrapping_add(number))
    }

    /// So many hundredths of all hours.
    fn hours(&self, percent: u64) -> u64 {
        (self.hours * percent).div_ceil(100)
    }
}

const HOUR: Duration = Duration::from_hours(1);

/// Fails with a reason.
fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
