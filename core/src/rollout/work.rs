//! What there is to do, and how much of it is done at once.

use std::sync::Arc;

use super::event::Command;
use super::key::{Part, ReconcileKey};
use super::queue::OfNamespace;
use super::{Leadership, Rollout, Step};
use crate::emit::object::ObjectId;
use crate::moment::Moment;

/// How much is done in one step: what happens meanwhile is looked at in between.
const STEP_WORK: usize = 256;
/// Of how much a step works out what is said: what gateways are to be told goes out when it ends, and a change of one import
/// concerns what is said of all of its namespace.
const STEP_REPORTS: usize = 16;
/// How many requests to this cluster's API server are under way at most: what is more waits here, where it may still become
/// something else. Those to the registry do not count, one for each object in it that is ours: slow as it may be, it holds
/// up nothing here.
const MOST_REQUESTS: usize = 512;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Bring a part of what is emitted into the wanted state.
    Reconcile(ReconcileKey),
    /// Ask the gateway pods of a namespace what they do.
    Ask(Arc<str>),
    /// Look which new gateway pods other clusters admit by now.
    Admit,
    /// Tell what gateways measure by now.
    Measure,
    /// Delete an object if it is ours and nobody wants it.
    Prune(ObjectId),
    /// Say that a cluster is stale and will be refused.
    Warn(Arc<str>),
}

impl OfNamespace for Work {
    fn namespace(&self) -> Arc<str> {
        match self {
            Self::Reconcile(key) => Arc::clone(&key.namespace),
            Self::Ask(namespace) => Arc::clone(namespace),
            Self::Prune(id) => Arc::clone(&id.key.namespace),
            Self::Admit | Self::Measure | Self::Warn(_) => Arc::default(),
        }
    }
}

impl Rollout {
    /// Does what is due, as far as it is not too much.
    pub(super) fn work(&mut self, now: Moment, step: &mut Step) {
        for _ in 0..STEP_WORK {
            if self.is_busy() {
                break;
            }
            let Some(work) = self.queue.take(now) else { break };
            match work {
                Work::Reconcile(key) => {
                    step.reconciled += 1;
                    self.reconcile(&key, now, &mut step.commands);
                }
                Work::Ask(namespace) => self.ask(&namespace, now, &mut step.commands),
                Work::Admit => self.look_at_admission(now),
                Work::Measure => self.measure(now),
                Work::Prune(id) => self.prune(id, now, &mut step.commands),
                Work::Warn(cluster) => self.warn_of_refusal(&cluster, &mut step.commands),
            }
        }
        for _ in 0..STEP_REPORTS {
            if self.conditions.is_busy() {
                break;
            }
            let Some(subject) = self.conditions.queue.take(now) else { break };
            self.report(&subject, now, &mut step.commands);
        }
        self.finish_take_over(now);
    }

    /// When work is due.
    pub(super) fn next_work(&self, now: Moment) -> Option<Moment> {
        let work = self.queue.next().filter(|_| !self.is_busy());
        let report = self.conditions.queue.next().filter(|_| !self.conditions.is_busy());
        let change = (!self.changes.is_empty()).then_some(now);
        [work, report, change].into_iter().flatten().min()
    }

    /// Whether enough is under way.
    fn is_busy(&self) -> bool {
        self.objects.local_requests() >= MOST_REQUESTS
    }

    fn reconcile(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        match &key.part {
            Part::Common | Part::Cluster => self.reconcile_shared(key, now, out),
            Part::Connections => self.reconcile_connections(key, now, out),
            Part::Import(_) => self.reconcile_import(key, now, out),
            Part::Slices(name) => self.reconcile_slices(key, name, now, out),
            Part::Egress => self.reconcile_egress(&key.namespace, now, out),
            Part::Ingress => self.reconcile_ingress(key, now, out),
            Part::Export(_) => self.reconcile_export(key, now, out),
        }
        let is_looked_at = self.has_looked_at(key);
        if let Leadership::TakingOver(unseen) = &mut self.leadership
            && is_looked_at
            && unseen.remove(key)
            && matches!(key.part, Part::Import(_))
        {
            // Its namespace's filter waits for all of them.
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&key.namespace)));
        }
        self.report_reconciled(key);
    }
}
