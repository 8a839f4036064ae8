//! Counts decisions in the VM, so that no request pays for a call to count it; the tick tells the host.

use std::cell::RefCell;
use std::collections::BTreeMap;

use mcwan_policy::{Decision, Reason};

use crate::host;

/// How many targets have a counter of their own in a VM's life; the others share one. A proxy never
/// forgets a counter.
const TARGETS: usize = 1_024;

/// The counter that targets share once there are too many.
const OTHER_TARGETS: &str = "other";

thread_local! {
    /// The VM's, not a plugin's: a new configuration goes on counting where the old one was.
    static COUNTERS: RefCell<Counters> = RefCell::default();
}

#[derive(Default)]
struct Counters {
    decisions: BTreeMap<CounterKind, Counter>,
    targets: BTreeMap<Box<str>, Counter>,
}

/// What kind of decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CounterKind {
    Pass,
    Route,
    Redirect,
    Refuse(Reason),
}

/// A counter of the host and what it has not been told yet.
#[derive(Default)]
pub(crate) struct Counter {
    id: Option<u32>,
    pending: u32,
}

/// Counts a decision.
pub(crate) fn count(decision: &Decision<'_>) {
    COUNTERS.with_borrow_mut(|counters| {
        let kind = match decision {
            Decision::Pass => CounterKind::Pass,
            Decision::Route(route) => {
                counters.count_target(route.target.name());
                CounterKind::Route
            }
            Decision::Reply(reply) => reply.reason.map_or(CounterKind::Redirect, CounterKind::Refuse),
        };
        counters.decisions.entry(kind).or_default().add_one();
    });
}

/// Tells the host what was counted since the last time.
pub(crate) fn flush() {
    COUNTERS.with_borrow_mut(|Counters { decisions, targets }| {
        for (kind, counter) in decisions {
            counter.flush(|| match kind {
                CounterKind::Pass => "mcwan.decision.pass".to_owned(),
                CounterKind::Route => "mcwan.decision.route".to_owned(),
                CounterKind::Redirect => "mcwan.decision.redirect".to_owned(),
                CounterKind::Refuse(reason) => format!("mcwan.decision.refuse.{reason}"),
            });
        }
        for (name, counter) in targets {
            counter.flush(|| format!("mcwan.target.{name}"));
        }
    });
}

impl Counters {
    fn count_target(&mut self, name: &str) {
        if let Some(counter) = self.targets.get_mut(name) {
            return counter.add_one();
        }
        let name = if self.targets.len() < TARGETS { name } else { OTHER_TARGETS };
        self.targets.entry(name.into()).or_default().add_one();
    }
}

impl Counter {
    pub(crate) fn add_one(&mut self) {
        self.pending = self.pending.saturating_add(1);
    }

    /// Tells the host. What it does not take stays for the next time.
    pub(crate) fn flush(&mut self, name: impl FnOnce() -> String) {
        if self.pending == 0 {
            return;
        }
        if self.id.is_none() {
            self.id = host::define_counter(&name()).ok();
        }
        if self.id.is_some_and(|id| host::increment_counter(id, self.pending).is_ok()) {
            self.pending = 0;
        }
    }
}
