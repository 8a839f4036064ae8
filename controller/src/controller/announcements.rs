//! Exports that other clusters have not heard of.
//!
//! The registry and a gateway's routes are two channels that know nothing of each other. Where an export comes back, pods
//! of its gateway are ready already: they would answer 404 to a cluster that hears of the export before they have the
//! route.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::unit::Unit;

/// The exports that other clusters are about to hear of.
#[derive(Debug)]
pub(super) struct Announcements {
    /// How long gateways may take to know a route.
    lead: Duration,
    /// When gateways know the routes; none: these are not written.
    exports: BTreeMap<Unit, Option<Instant>>,
}

impl Announcements {
    /// There is none yet.
    pub(super) fn new(lead: Duration) -> Self {
        Self { lead, exports: BTreeMap::new() }
    }

    /// Whether an export that other clusters have not heard of has to wait. `is_routed`: its routes are as they are to be.
    /// Once gateways knew them, it does not wait again, whatever others do to the routes.
    pub(super) fn must_wait(&mut self, export: &Unit, is_routed: bool, now: Instant) -> bool {
        match self.exports.get(export) {
            None if is_routed => false,
            None => {
                self.exports.insert(export.clone(), None);
                true
            }
            Some(None) => true,
            Some(Some(known)) => now < *known,
        }
    }

    /// The routes of an export that waits are written. Gives when gateways know them.
    pub(super) fn routed(&mut self, export: &Unit, now: Instant) -> Instant {
        *self.exports.entry(export.clone()).or_default().get_or_insert(now + self.lead)
    }

    /// Other clusters have heard of an export, or are not to.
    pub(super) fn end(&mut self, export: &Unit) {
        self.exports.remove(export);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcwan_core::snapshot::Key;

    const LEAD: Duration = Duration::from_secs(1);

    fn mk_export() -> Unit {
        Unit::export(&Key::new("secure", "payment"))
    }

    #[test]
    fn an_export_waits_until_gateways_know_its_routes() {
        let (start, export) = (Instant::now(), mk_export());
        let mut announcements = Announcements::new(LEAD);
        assert!(announcements.must_wait(&export, false, start));
        assert!(announcements.must_wait(&export, true, start + LEAD * 9), "nobody knows since when they are there");
        assert_eq!(announcements.routed(&export, start + LEAD * 10), start + LEAD * 11);
        assert!(announcements.must_wait(&export, true, start + LEAD * 10));
        assert_eq!(
            announcements.routed(&export, start + LEAD * 10 + LEAD / 2),
            start + LEAD * 11,
            "since the first time"
        );
        assert!(!announcements.must_wait(&export, true, start + LEAD * 11));
        assert!(
            !announcements.must_wait(&export, false, start + LEAD * 12),
            "somebody changes the routes again and again"
        );
    }

    #[test]
    fn one_that_was_withdrawn_waits_anew() {
        let (start, export) = (Instant::now(), mk_export());
        let mut announcements = Announcements::new(LEAD);
        assert!(!announcements.must_wait(&export, true, start), "gateways have long known its routes");
        assert!(announcements.must_wait(&export, false, start));
        announcements.routed(&export, start);
        announcements.end(&export);
        assert!(announcements.must_wait(&export, false, start + LEAD * 2));
    }

    #[test]
    fn without_a_lead_it_waits_for_its_routes_only() {
        let (start, export) = (Instant::now(), mk_export());
        let mut announcements = Announcements::new(Duration::ZERO);
        assert!(announcements.must_wait(&export, false, start));
        assert_eq!(announcements.routed(&export, start), start);
        assert!(!announcements.must_wait(&export, true, start));
    }
}
