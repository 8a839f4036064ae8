//! Tells the host which configuration is in force, and how many it has refused.

use std::cell::Cell;

use crate::host::{self, HostResult};

thread_local! {
    /// The gauge's number at the host, the same for every configuration of the VM.
    static GAUGE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Publishes the revision in force.
pub(crate) fn publish(revision: u64) -> HostResult<()> {
    let gauge = match GAUGE.get() {
        Some(gauge) => gauge,
        None => host::define_gauge("mcwan.config.revision")?,
    };
    GAUGE.set(Some(gauge));
    host::set_gauge(gauge, revision)
}

/// Counts a configuration that is refused, at once: the VM that tried it may not live to the next tick.
pub(crate) fn count_rejected() -> HostResult<()> {
    host::increment_counter(host::define_counter("mcwan.config.rejected")?, 1)
}
