//! Native imports: their rules are routes of the gateway itself, and no filter tells what gateways have.

use std::sync::Arc;

use super::event::Command;
use super::key::ReconcileKey;
use super::{Rollout, Work};
use crate::api::DataPlane;
use crate::emit::object::Object;
use crate::moment::Moment;
use crate::snapshot::Key;

impl Rollout {
    pub(super) fn is_native(&self, import: &Key) -> bool {
        let state = self.imports.get(&import.namespace, &import.name);
        let newest = state.and_then(|state| state.versions.import());
        newest.is_some_and(|newest| self.model.settings.data_plane(newest) == DataPlane::Native)
    }

    pub(super) fn write_native(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        routes: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let is_written = self.write_each(key, routes, now, out);
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        let since = is_written.then(|| egress.native_written.unwrap_or(now));
        if since != egress.native_written {
            egress.native_written = since;
            let mut imports = self.imports_of(namespace);
            imports.retain(|import| self.is_native(import));
            for import in imports {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
            }
        }
    }

    /// Lets older versions go once the routes of the newest were there for the lead. Returns whether any goes.
    pub(super) fn close_native(&mut self, key: &ReconcileKey, import: &Key, now: Moment) -> bool {
        if !self.is_native(import) {
            return false;
        }
        let written = self.egresses.get(&import.namespace).and_then(|egress| egress.native_written);
        let Some(until) = written.map(|written| written + self.timing.lead) else { return false };
        let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { return false };
        let Some(ready) = state.versions.ready().filter(|ready| *ready > 0) else { return false };
        if until > now {
            self.queue.add_at(Work::Reconcile(key.clone()), until);
            return false;
        }
        let is_news = state.versions.close_before(ready);
        if is_news {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&import.namespace)));
        }
        is_news
    }
}
