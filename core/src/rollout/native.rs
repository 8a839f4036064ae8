//! Native imports: their rules are routes of the gateway itself, and no filter tells what gateways have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::Command;
use super::import::ImportState;
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::{Rollout, Timing, Work};
use crate::api::DataPlane;
use crate::emit::kubernetes::names;
use crate::emit::object::Object;
use crate::moment::Moment;
use crate::snapshot::Key;

impl ImportState {
    /// Whether gateways have had the routes of the newest version of a native import for the lead.
    pub(super) fn are_routes_known(&self, now: Moment, timing: Timing) -> bool {
        self.native_written.is_some_and(|written| written + timing.lead <= now)
    }
}

impl Rollout {
    pub(super) fn is_native(&self, import: &Key) -> bool {
        let state = self.imports.get(&import.namespace, &import.name);
        let newest = state.and_then(|state| state.versions.import());
        newest.is_some_and(|newest| self.model.settings.data_plane(newest) == DataPlane::Native)
    }

    /// Writes the routes of a namespace's native imports.
    pub(super) fn write_native(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        routes: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let mut write = |route: Object| {
            let name = Arc::clone(&route.id.key.name);
            (name, self.write(key, route, now, out) == WriteState::Written)
        };
        let written: BTreeMap<_, _> = routes.into_iter().map(&mut write).collect();
        let mut imports = self.imports_of(namespace);
        imports.retain(|import| self.is_native(import));
        for import in imports {
            let prefix: Arc<str> = format!("{}.", import.name).into();
            let own = written.range(Arc::clone(&prefix)..).take_while(|(route, _)| route.starts_with(&*prefix));
            let mut own = own.filter(|(route, _)| names::import_route_place(route, &import.name).is_some());
            let is_written = own.all(|(_, is_written)| *is_written);
            let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { continue };
            let since = is_written.then(|| state.native_written.unwrap_or(now));
            if std::mem::replace(&mut state.native_written, since) != since {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
            }
        }
    }

    /// Lets older versions go once the routes of the newest were there for the lead. Returns whether any goes.
    pub(super) fn close_native(&mut self, key: &ReconcileKey, import: &Key, now: Moment) -> bool {
        if !self.is_native(import) {
            return false;
        }
        let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { return false };
        let Some(ready) = state.versions.ready().filter(|ready| *ready > 0) else { return false };
        let is_news = match state.native_written.map(|written| written + self.timing.lead) {
            Some(until) if until > now => {
                self.queue.add_at(Work::Reconcile(key.clone()), until);
                false
            }
            Some(_) => state.versions.close_before(ready),
            // Its routes are not taken. What those lead to that are there is not pruned.
            None => state.versions.is_at_limit() && state.versions.close_between(ready),
        };
        if is_news {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&import.namespace)));
        }
        is_news
    }
}
