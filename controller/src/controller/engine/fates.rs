//! What became of objects, and who must hear of it.

use std::time::Instant;

use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::observed::Live;
use mcwan_core::outcome::Outcome;
use serde_json::Value;

use super::super::outcomes;
use super::super::unit::{Part, Unit};
use super::Engine;

impl Engine {
    /// Takes note of what became of objects that were to be written.
    pub(super) fn note_outcomes(&mut self, outcomes: Vec<(ObjectId, Outcome)>) {
        let now = Instant::now();
        for (id, outcome) in outcomes {
            outcomes::note(&self.metrics, "not applied", id.kind.name(), &id.key, &outcome);
            if outcome == Outcome::Applied {
                self.metrics.applied(id.kind.name());
                if id.kind == self.settings.filter.kind() {
                    self.retirements.restart(&id.key.namespace, now);
                }
            }
            let Some(unit) = self.desired.unit_of(&id).cloned() else { continue };
            if let Some(after) = outcome.retry_after() {
                self.agenda.retry(unit.clone(), now + after);
            }
            self.keep_outcome(id, &unit, outcome, now);
        }
    }

    /// Keeps in mind what became of an object of a unit.
    fn keep_outcome(&mut self, id: ObjectId, unit: &Unit, outcome: Outcome, now: Instant) {
        if unit.is_shared() && self.failures.get(&id).is_some_and(Outcome::is_lasting) != outcome.is_lasting() {
            self.statuses.look_at_all(&self.world.snapshot);
        }
        if outcome.is_done() {
            self.unwritten.settled(&id);
            self.failures.remove(&id);
            return;
        }
        if id.kind == Kind::HttpRoute && matches!(unit.part, Part::Import(_)) {
            // Where gateways know no route of it, there is nothing that would stop to work.
            let is_known =
                |id: &ObjectId| id.kind == Kind::HttpRoute && self.world.observed.get(id).is_some_and(Live::is_ours);
            if is_known(&id) || self.desired.objects_of(unit).iter().any(is_known) {
                self.unwritten.failed(&id, unit, &outcome, now);
            } else {
                self.unwritten.settled(&id);
            }
        }
        self.failures.insert(id, outcome);
    }

    /// Reads an object of ours that is to be written otherwise, as what `unit` is to be depends on it.
    ///
    /// # Errors
    /// It cannot be read now, which is said in the statuses of what needs it.
    pub(super) async fn read(&mut self, id: &ObjectId, unit: &Unit) -> Result<Option<Value>, Outcome> {
        let read = self.applier.read(id).await;
        match &read {
            Ok(_) => drop(self.failures.remove(id)),
            Err(outcome) => {
                outcomes::note(&self.metrics, "not read", id.kind.name(), &id.key, outcome);
                self.keep_outcome(id.clone(), unit, outcome.clone(), Instant::now());
            }
        }
        read
    }
}
