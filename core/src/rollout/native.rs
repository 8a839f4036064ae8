//! Native imports: their rules are routes of the gateway itself, and no filter tells what gateways have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::Command;
use super::import::ImportState;
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::safeguard::Safeguard;
use super::stage::{Stage, StageProgress};
use super::{Rollout, Timing, Work};
use crate::api::{DataPlane, TIER_NAMESPACE};
use crate::emit::kubernetes::{ImportVersions, Places, Recovered, names};
use crate::emit::object::{Kind, Object, ObjectId};
use crate::moment::Moment;
use crate::snapshot::Key;
use crate::status::GatewayState;
use crate::translate::Import;
use crate::translate::gateway_pods::{gateway_of, is_ready};

impl ImportState {
    /// Whether gateways know the routes of the newest ready version of a native import.
    pub(super) fn are_native_routes_known(&self, timing: Timing, now: Moment) -> bool {
        self.native.and_then(|routes| routes.known(timing)).is_some_and(|known| known <= now)
    }
}

impl Rollout {
    pub(super) fn is_native(&self, import: &Key) -> bool {
        let state = self.imports.get(&import.namespace, &import.name);
        let newest = state.and_then(|state| state.versions.import());
        newest.is_some_and(|newest| self.model.settings.data_plane(newest) == DataPlane::Native)
    }

    /// Whether the routes of an older version of a native import may be live: gateways do not know those of the newest yet.
    pub(super) fn may_have_older_routes(&self, import: &Key, state: &ImportState, now: Moment) -> bool {
        self.has(Safeguard::NativeInForce) && self.is_native(import) && !state.are_native_routes_known(self.timing, now)
    }

    /// What these may lead to: everything of the import that is there.
    pub(super) fn behind_native_routes(&self, import: &Key, state: &ImportState, now: Moment) -> Option<Recovered> {
        if !self.may_have_older_routes(import, state, now) {
            return None;
        }
        let [services, slices] = [Kind::Service, Kind::EndpointSlice].map(|kind| {
            let there = self.objects.observed.of_import(kind, TIER_NAMESPACE, import);
            there.map(|id| id.key.name.to_string()).collect()
        });
        Some(Recovered { rules: Vec::new(), services, slices })
    }

    /// An import as it is wanted, if that is native.
    pub(super) fn wanted_natively(&self, import: &Key) -> Option<&Import> {
        let wanted = self.model.translator.imports().get(&import.namespace, &import.name)?;
        Some(&**wanted).filter(|wanted| self.model.settings.data_plane(wanted) == DataPlane::Native)
    }

    /// Whether what a native import leads to is there, as it is wanted, and the clusters there admit who calls.
    pub(super) fn is_native_backing_there(&self, native: &Import) -> bool {
        let objects = ImportVersions::of(native).objects(&self.model.settings, &mut Places::new());
        objects.backing.iter().all(|object| self.objects.observed.is_same(object)) && self.are_callers_admitted(native)
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
        let mut write = |route: Object| (route.id.clone(), self.write(key, route, now, out) == WriteState::Written);
        let written: BTreeMap<ObjectId, bool> = routes.into_iter().map(&mut write).collect();
        let mut imports = self.imports_of(namespace);
        imports.retain(|import| self.is_native(import));
        for import in imports {
            let first = Key { namespace: Arc::clone(namespace), name: format!("{}.", import.name).into() };
            let first = ObjectId { kind: Kind::HttpRoute, key: first };
            let alike = written.range(&first..).take_while(|(id, _)| id.key.name.starts_with(&*first.key.name));
            let own = alike.filter(|(id, _)| names::is_route_of(&id.key.name, &import.name));
            let is_written = own.clone().all(|(_, is_written)| *is_written);
            let istiod = self.istiod_on(own.map(|(id, _)| id));
            let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { continue };
            if state.versions.ready().is_none() {
                continue;
            }
            let mut routes = state.native.unwrap_or(StageProgress::begin(now));
            routes.look(is_written, istiod, now);
            if state.native.replace(routes) != Some(routes) {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
            }
        }
    }

    /// Lets older versions go once gateways know the routes of the newest. Returns whether any goes.
    pub(super) fn close_native(&mut self, key: &ReconcileKey, import: &Key, now: Moment) -> bool {
        if !self.is_native(import) {
            return false;
        }
        let is_under_way = self.are_routes_on_their_way(&ReconcileKey::egress(&import.namespace));
        let waits = self.has(Safeguard::NativeInForce);
        let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { return false };
        let Some(ready) = state.versions.ready() else { return false };
        let is_news = match state.native.and_then(|routes| routes.known(self.timing)) {
            _ if !waits => state.versions.close_before(ready),
            Some(until) if until > now => {
                self.queue.add_at(Work::Reconcile(key.clone()), until);
                false
            }
            Some(_) => state.versions.close_before(ready),
            None if state.versions.is_at_limit() && is_under_way => {
                self.queue.add_at(Work::Reconcile(key.clone()), self.timing.look_again(now));
                false
            }
            // Its routes are not taken. What those lead to that are there stays.
            None => state.versions.is_at_limit() && state.versions.close_between(ready),
        };
        if is_news {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&import.namespace)));
        }
        is_news
    }

    /// Whether gateways do what the newest version of a native import says; else what is waited for.
    pub(super) fn native_gateways_state(&self, import: &Import, now: Moment) -> GatewayState {
        let Key { namespace, name } = &import.key;
        let waiting = |what: &str| GatewayState::Waiting(what.to_owned());
        let state = self.imports.get(namespace, name);
        let newest = state.and_then(|state| Some((state, state.versions.newest()?)));
        let Some((state, newest)) = newest else { return waiting("nothing was sent to the gateway yet") };
        if newest.import.as_deref() != Some(import) {
            return waiting("gateways are being told of what it was before");
        }
        if let Some(awaited) = newest.stage.awaited() {
            return waiting(awaited);
        }
        let gateway = names::NATIVE_EGRESS_GATEWAY;
        let mut pods = self.world.snapshot.gateway_pods.in_namespace(namespace);
        if !pods.any(|pod| gateway_of(pod) == Some(gateway) && is_ready(pod)) {
            return GatewayState::Waiting(format!("no pod of Gateway {namespace}/{gateway} is ready"));
        }
        if newest.stage == Stage::Ready && state.are_native_routes_known(self.timing, now) {
            GatewayState::InForce
        } else {
            waiting("gateways are being told of its routes")
        }
    }
}
