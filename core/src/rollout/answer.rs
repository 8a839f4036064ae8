//! What follows from the answer to a command.

use super::event::Answer;
use super::key::ReconcileKey;
use super::{Rollout, Step, Work};
use crate::emit::object::ObjectId;
use crate::moment::Moment;

impl Rollout {
    pub(super) fn answered(&mut self, answer: Answer, now: Moment, step: &mut Step) {
        match answer {
            Answer::Applied { id, desired, result } => {
                let (key, outcome) = self.objects.applied(&id, desired, result, now);
                self.go_on(&id, key);
                step.outcomes.push((id, outcome));
            }
            Answer::Deleted { id, result } => {
                let (key, outcome) = self.objects.deleted(&id, result, now);
                // Somebody may want one of that name by now, or have waited for it to go.
                self.look_at(id.clone());
                if let Some(key) = key {
                    self.queue.add(Work::Reconcile(key));
                }
                step.outcomes.push((id, outcome));
            }
            Answer::Read { id, result } => {
                let (found, error) = match result {
                    Ok(found) => (Some(found), None),
                    Err(error) => (None, Some(error)),
                };
                let (key, outcome) = self.objects.was_read(&id, error, now);
                if let (Some((key, _)), Some(found)) = (&key, found) {
                    self.was_read(key, &id, found.as_ref(), now);
                }
                self.go_on(&id, key);
                step.outcomes.extend(outcome.map(|outcome| (id, outcome)));
            }
            Answer::Asked { namespace, reports } => self.asked(&namespace, &reports, now, &mut step.commands),
            Answer::StatusWritten { patch, result } => self.status_written(patch, &result, now, &mut step.commands),
        }
    }

    /// Goes on with what has waited for the answer about an object: the part that has asked, once that was the last that it
    /// has asked for; the part that the object has come to belong to meanwhile, as that of another data plane; or, where
    /// nobody wants it any more, that it goes.
    fn go_on(&mut self, id: &ObjectId, asked: Option<(ReconcileKey, bool)>) {
        match self.objects.desired.owner_of(id) {
            None => self.queue.add_unplanned(Work::Prune(id.clone())),
            Some(owner) if asked.as_ref().is_none_or(|(key, _)| key != owner) => {
                self.queue.add(Work::Reconcile(owner.clone()));
            }
            Some(_) => {}
        }
        if let Some((key, true)) = asked {
            self.queue.add(Work::Reconcile(key));
        }
    }
}
