//! What is not to be any more, and when it goes.

use std::time::{Duration, Instant};

use mcwan_core::emit::kubernetes::{guarded_by, names};
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::outcome::Outcome;

use super::super::outcomes;
use super::super::unit::{Part, Unit};
use super::{Engine, module};

/// How soon it is looked again whether what an object guards is gone.
const GUARD_WAIT: Duration = Duration::from_secs(1);

impl Engine {
    /// Objects of a unit are not to be any more; these are. Of an import that is left, what gateways may still send
    /// requests to stays for a while. Addresses do not where their Service stays and has others: requests would go on to
    /// them.
    pub(super) fn let_go(&mut self, unit: &Unit, gone: Vec<ObjectId>, objects: &[Object]) {
        if !matches!(unit.part, Part::Import(_)) || objects.is_empty() {
            self.strays.extend(gone);
            return;
        }
        let has_slices = |service: &ObjectId| objects.iter().any(|object| is_slice_of(&object.id, service));
        let is_replaced =
            |id: &ObjectId| objects.iter().any(|service| is_slice_of(id, &service.id) && has_slices(&service.id));
        let (replaced, gone): (Vec<_>, Vec<_>) = gone.into_iter().partition(is_replaced);
        self.strays.extend(replaced);
        self.strays.extend(self.retirements.take(unit, is_replaced));
        self.strays.extend(self.retirements.keep(unit, gone, Instant::now()));
    }

    /// Deletes what is ours and not to be, in the reverse order of its creation.
    pub(super) async fn delete_strays(&mut self) {
        let is_to_go = |id: &ObjectId| {
            let is_ours = self.world.observed.get(id).is_some_and(|live| live.is_ours() && !live.deleting);
            let is_kept = self.retirements.keeps(id) || module::is_filter_of(&self.withheld, id);
            is_ours && self.desired.unit_of(id).is_none() && !is_kept
        };
        let strays: Vec<_> = self.strays.take(Instant::now()).into_iter().filter(is_to_go).collect();
        for kind in Kind::ALL.into_iter().rev() {
            let of_kind = strays.iter().filter(|id| id.kind == kind).cloned();
            let (guards, ids): (Vec<_>, Vec<_>) = of_kind.partition(|id| self.guards_something(id));
            for id in guards {
                self.strays.retry(id, Instant::now() + GUARD_WAIT);
            }
            for (id, outcome) in self.applier.delete_all(&mut self.world.observed, ids).await {
                outcomes::note(&self.metrics, "not deleted", kind.name(), &id.key, &outcome);
                if outcome == Outcome::Deleted {
                    self.metrics.pruned(kind.name());
                } else if let Some(after) = outcome.retry_after() {
                    self.strays.retry(id, Instant::now() + after);
                }
            }
        }
    }

    /// Whether what an object guards is still there, and has not been asked to go.
    fn guards_something(&self, id: &ObjectId) -> bool {
        let guarded = guarded_by(id).and_then(|guarded| self.world.observed.get(&guarded));
        guarded.is_some_and(|guarded| guarded.is_ours() && !guarded.deleting)
    }
}

/// Whether an object is an `EndpointSlice` behind another one that is a Service.
fn is_slice_of(slice: &ObjectId, service: &ObjectId) -> bool {
    let are_of_kind = (slice.kind, service.kind) == (Kind::EndpointSlice, Kind::Service);
    are_of_kind
        && slice.key.namespace == service.key.namespace
        && names::is_slice_of(&slice.key.name, &service.key.name)
}
