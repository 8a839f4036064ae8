//! Whether a path keeps what its tier promises.
//!
//! A path is a tier, a remote cluster and the import's namespace, whose ingress gateway answers probes. A [`Judge`] for each
//! path takes what became of every probe, and says at which [`Level`] the path is. It gets worse at once, and better only
//! after a hold, so that requests do not follow a path that flaps.
//!
//! Nothing here reads a clock: a [`Moment`] comes with every [`Event`].

mod allowance;
mod answers;
mod detection;
mod event;
mod figures;
mod gauge;
mod hold;
mod jitter;
mod judge;
mod judgement;
mod lease;
mod levels;
mod outcomes;
mod promise;
mod record;
mod ring;
mod safeguard;
mod standing;

pub use crate::moment::Moment;
pub use detection::Detection;
pub use event::{Event, Move};
pub use figures::Figures;
pub use gauge::{Gauge, PathName, Readings, Shown, moves_name};
pub use judge::Judge;
pub use judgement::{Judgement, Level};
pub use lease::{Claim, ConfigAge, Lease, VmId};
pub use levels::Levels;
pub use promise::{Loss, Promise};
pub use record::{PathId, RECORD_KEY, Record};
pub use standing::Standing;

#[doc(hidden)]
pub use safeguard::Safeguard;
