//! Filters that wait for routes, and how long already.
//!
//! A filter must not steer to a target before gateways know its route, so it waits a little after each new one. Where new
//! ones never end, it would wait for ever: then it is the others' turn to wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many times as long as for one target a filter waits for ever new ones.
const MOST_LEADS: u32 = 5;

/// So many times as long nothing new is heard then, so that it gets its turn.
const TURN_LEADS: u32 = 2;

/// The filters that wait for routes.
#[derive(Debug)]
pub(super) struct Leads {
    /// How long one waits after a new target.
    lead: Duration,
    /// Their namespaces, and since when.
    since: BTreeMap<Arc<str>, Instant>,
}

impl Leads {
    /// None waits yet.
    pub(super) fn new(lead: Duration) -> Self {
        Self { lead, since: BTreeMap::new() }
    }

    /// The routes of a namespace got new targets: its filter waits. Gives until when.
    pub(super) fn wait(&mut self, namespace: &Arc<str>, now: Instant) -> Instant {
        self.since.entry(Arc::clone(namespace)).or_insert(now);
        now + self.lead
    }

    /// The filter of a namespace waits no more.
    pub(super) fn end(&mut self, namespace: &str) {
        self.since.remove(namespace);
    }

    /// Whether one has waited for so long that nothing new must be heard until it has had its turn. Where it does not
    /// take it, as its API server refuses it, the others go on.
    pub(super) fn are_long(&self, now: Instant) -> bool {
        let (most, turn) = (self.lead * MOST_LEADS, self.lead * TURN_LEADS);
        self.since
            .values()
            .map(|since| now.saturating_duration_since(*since))
            .any(|waited| waited > most && waited < most + turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD: Duration = Duration::from_secs(1);

    #[test]
    fn a_filter_waits_after_each_new_target_but_not_for_ever() {
        let (start, namespace) = (Instant::now(), Arc::from("secure"));
        let mut leads = Leads::new(LEAD);
        for tenths in (0..=50).step_by(5) {
            let now = start + LEAD * tenths / 10;
            assert_eq!(leads.wait(&namespace, now), now + LEAD);
            assert!(!leads.are_long(now), "after {tenths} tenths");
        }
        assert!(leads.are_long(start + LEAD * 51 / 10));
        leads.end("secure");
        assert!(!leads.are_long(start + LEAD * 51 / 10), "it has had its turn");
    }

    #[test]
    fn one_that_does_not_take_its_turn_stops_nobody() {
        let start = Instant::now();
        let mut leads = Leads::new(LEAD);
        leads.wait(&"secure".into(), start);
        assert!(leads.are_long(start + LEAD * 6));
        assert!(!leads.are_long(start + LEAD * 7));
    }

    #[test]
    fn without_a_lead_nobody_waits() {
        let start = Instant::now();
        let mut leads = Leads::new(Duration::ZERO);
        assert_eq!(leads.wait(&"secure".into(), start), start);
        assert!(!leads.are_long(start + LEAD));
    }
}
