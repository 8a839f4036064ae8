//! What follows from the answer to a command.

use super::event::Answer;
use super::{Rollout, Step, Work};
use crate::moment::Moment;

impl Rollout {
    pub(super) fn answered(&mut self, answer: Answer, now: Moment, step: &mut Step) {
        match answer {
            Answer::Applied { id, desired, result } => {
                let (key, outcome) = self.objects.applied(&id, desired, result, now);
                if self.objects.desired.owner_of(&id).is_none() {
                    // Nobody wants any more what was on its way.
                    self.queue.add_unplanned(Work::Prune(id.clone()));
                }
                if let Some(key) = key {
                    self.queue.add(Work::Reconcile(key));
                }
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
                if self.objects.desired.owner_of(&id).is_none() {
                    // That it is to go may have waited for the answer.
                    self.queue.add_unplanned(Work::Prune(id.clone()));
                }
                if let (Some((key, _)), Some(found)) = (&key, found) {
                    self.was_read(key, &id, found.as_ref(), now);
                }
                step.outcomes.extend(outcome.map(|outcome| (id, outcome)));
                if let Some((key, true)) = key {
                    self.queue.add(Work::Reconcile(key));
                }
            }
            Answer::Asked { namespace, reports } => self.asked(&namespace, &reports, now, &mut step.commands),
            Answer::StatusWritten { patch, result } => self.status_written(patch, &result, now, &mut step.commands),
        }
    }
}
