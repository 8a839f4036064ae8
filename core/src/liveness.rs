//! Which clusters are alive, and whether the registry can be reached, as far as this cluster can tell. Pure: the time
//! is passed in, and no clock is compared with another's.
//!
//! Each cluster renews its Lease in the registry. What counts is when a renewal is *seen here*. That a cluster does not
//! renew means something only while renewals would have been seen: our own come by the same watch, in the order in
//! which the registry took them, so that one of ours proves that nothing before it was missed.

mod judge;
mod lease;
mod registry_health;

pub use judge::Judge;
pub use lease::{Lease, REFUSED_ANNOTATION, STALE_ANNOTATION, renewed};
pub use registry_health::{RegistryHealth, RegistryState};

/// Whether a cluster shows that it is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Liveness {
    /// It renews its Lease, or it is not known that it does not.
    #[default]
    Live,
    /// It was not seen to renew its Lease for as long as a Lease lasts. It may well be there: unknown is not down.
    Stale,
}
