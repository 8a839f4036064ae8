//! The pods of a service of several clusters.

use std::sync::Arc;
use std::time::Duration;

use super::event::Command;
use super::key::ReconcileKey;
use super::{Rollout, Work};
use crate::emit::kubernetes::slice_objects;
use crate::moment::Moment;
use crate::snapshot::Key;

/// How soon after a write the endpoints of a service are written again: pods that are replaced one after the other change
/// them many times a second.
const SLICE_WAIT: Duration = Duration::from_secs(1);

impl Rollout {
    pub(super) fn reconcile_slices(
        &mut self,
        key: &ReconcileKey,
        name: &Arc<str>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let service = Key { namespace: Arc::clone(&key.namespace), name: Arc::clone(name) };
        let next = self.slices.get(&service.namespace, &service.name).map(|last| *last + SLICE_WAIT);
        if let Some(next) = next.filter(|next| *next > now) {
            self.queue.add_at(Work::Reconcile(key.clone()), next);
            return;
        }
        let slices = slice_objects(&service, &self.model.translator, &self.world.snapshot, &self.model.settings);
        let commands = out.len();
        self.write_all(key, slices, now, out);
        if out.len() > commands {
            *self.slices.entry(&service) = now;
        } else {
            self.slices.remove(&service);
        }
    }
}
