//! What one who begins to lead finds: live routes and filters that another one wrote, which gateways may have.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::event::Command;
use super::filter::{FOUND, TakeOver};
use super::key::{Part, ReconcileKey};
use super::objects::WriteState;
use super::safeguard::Safeguard;
use super::stage::Stage;
use super::version::{Version, Versions};
use super::{Rollout, Work};
use crate::api::{DataPlane, TIER_NAMESPACE};
use crate::emit::kubernetes::{
    ImportObjects, ImportVersions, Places, Provenance, Recovered, Settings, filter_object, sealed_config, tier_services,
};
use crate::emit::object::{Kind, ObjectId};
use crate::emit::plugin::apart;
use crate::moment::Moment;
use crate::observed::Istiod;
use crate::snapshot::{Key, view};
use crate::translate::Import;

/// What is known of the live routes of an import.
#[derive(Debug, Default)]
pub(super) enum Found {
    /// They were not looked at.
    #[default]
    Unknown,
    /// These are still to be read; what those that were read say.
    Reading {
        /// The routes.
        left: BTreeSet<ObjectId>,
        /// What was found, and where it stands.
        found: Box<(Recovered, Places)>,
    },
    /// Everything.
    Known,
    /// Nothing: nobody wants the import. Should somebody again, they are looked at.
    Gone,
}

impl Rollout {
    /// Whether it is known what the live routes of an import say; sees to it that it will be. They are read once, where they
    /// are not in the wanted state.
    pub(super) fn look_at_live_routes(&mut self, import: &Key, now: Moment, out: &mut Vec<Command>) -> bool {
        let key = ReconcileKey::import(import);
        if !self.has(Safeguard::Recovery) {
            self.imports.entry(import).found = Found::Known;
        }
        if matches!(self.imports.entry(import).found, Found::Unknown | Found::Gone) {
            let left = self.differing_routes(import);
            let of_tiers = |kind| -> BTreeSet<String> {
                let live = self.objects.observed.of_import(kind, TIER_NAMESPACE, import).filter(|_| !left.is_empty());
                live.map(|id| id.key.name.to_string()).collect()
            };
            let [services, slices] = [Kind::Service, Kind::EndpointSlice].map(of_tiers);
            let are_as_wanted = left.is_empty()
                && self.objects.observed.of_import(Kind::HttpRoute, &import.namespace, import).next().is_some()
                && self.wanted_natively(import).is_none_or(|native| self.is_native_backing_there(native));
            let is_taken_over = self.is_taken_over(&import.namespace);
            let mut places = Places::new();
            let versions = &mut self.imports.entry(import).versions;
            versions.is_live = are_as_wanted && !is_taken_over && versions.list.is_empty();
            // Of an import that comes back, gateways may have a filter of before.
            let is_back = are_as_wanted && !versions.is_live;
            let wanted = self.model.translator.imports().get(&import.namespace, &import.name).filter(|_| is_back);
            let recovered = wanted.map(|wanted| routes_of(wanted, &self.model.settings, &mut places));
            let found = (recovered.unwrap_or(Recovered { rules: Vec::new(), services, slices }), places);
            self.imports.entry(import).found = Found::Reading { left, found: Box::new(found) };
        }
        let left = match &self.imports.entry(import).found {
            Found::Unknown | Found::Gone => return false,
            Found::Known => return true,
            Found::Reading { left, .. } => left.clone(),
        };
        if left.is_empty() {
            let is_native = self.wanted_natively(import).is_some();
            let state = self.imports.entry(import);
            if let Found::Reading { found, .. } = std::mem::replace(&mut state.found, Found::Known) {
                let (recovered, places) = *found;
                // Rules of a data plane that it has no more are the next one's to write over.
                if !recovered.rules.is_empty() && !is_native {
                    state.versions.list.insert(0, Version::told(None));
                    state.versions.recovered = Some(Box::new(recovered));
                    state.versions.places = places;
                }
            }
            return true;
        }
        let mut ids: Vec<_> = self.objects.desired.objects_of(&key).to_vec();
        ids.extend(left.iter().cloned());
        self.consists_of(&key, &ids, now);
        for id in left {
            if let WriteState::Failed(until) = self.objects.read(&key, &id, now, out) {
                self.queue.add_at(Work::Reconcile(key.clone()), until);
            }
        }
        false
    }

    /// The live routes of an import that are not as they would be if it had never been otherwise.
    fn differing_routes(&self, import: &Key) -> BTreeSet<ObjectId> {
        let Some(wanted) = self.model.translator.imports().get(&import.namespace, &import.name) else {
            return BTreeSet::new();
        };
        if self.wanted_natively(import).is_some() {
            return BTreeSet::new();
        }
        let objects = ImportVersions::of(wanted).objects(&self.model.settings, &mut Places::new());
        let is_same =
            |id: &ObjectId| objects.routes.iter().any(|route| route.id == *id && self.objects.observed.is_same(route));
        let live: BTreeSet<_> = self.objects.observed.of_import(Kind::HttpRoute, &import.namespace, import).collect();
        if live.iter().all(is_same) && (live.is_empty() || live.len() == objects.routes.len()) {
            return BTreeSet::new();
        }
        live
    }

    /// An object was read.
    pub(super) fn was_read(&mut self, key: &ReconcileKey, id: &ObjectId, found: Option<&Value>, now: Moment) {
        match &key.part {
            Part::Import(name) => {
                self.route_was_read(&Key { namespace: Arc::clone(&key.namespace), name: Arc::clone(name) }, id, found);
            }
            Part::Egress => self.filter_was_read(&key.namespace, found, now),
            Part::Common | Part::Cluster | Part::Connections | Part::Slices(_) | Part::Ingress | Part::Export(_) => {}
        }
    }

    fn route_was_read(&mut self, import: &Key, id: &ObjectId, route: Option<&Value>) {
        let steering_key = self.model.translator.steering_key().clone();
        let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { return };
        let Found::Reading { left, found } = &mut state.found else { return };
        left.remove(id);
        let (recovered, places) = &mut **found;
        let services = recovered.services.clone();
        let tiers: Vec<_> = self.model.translator.exports().tier_ports().collect();
        let provenance = Provenance {
            namespace: &import.namespace,
            name: &import.name,
            steering_key: &steering_key,
            services: &services,
            tiers: &tiers,
        };
        if let Some(route) = route {
            recovered.read(&import.name, route, places, |rule| provenance.is_own(rule));
        }
    }

    /// Finds out what gateways of a namespace may have of a filter that another one sent.
    pub(super) fn take_over_filter(&mut self, namespace: &Arc<str>, now: Moment, out: &mut Vec<Command>) {
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        if !matches!(egress.filter.take_over, TakeOver::Pending | TakeOver::Reading) {
            return;
        }
        egress.filter.serve(&super::pods::serving(namespace, &self.world.snapshot));
        if !self.has_seen(namespace) || self.is_reading(namespace) {
            return;
        }
        let key = ReconcileKey::egress(namespace);
        let id = self.model.settings.filter.object_id(namespace);
        if !self.has(Safeguard::Recovery) {
            self.taken_over(namespace, TakeOver::Done);
            return;
        }
        let newest = self.newest_of(namespace);
        let refs: Vec<&Import> = newest.iter().map(|import| &**import).collect();
        let steering_key = self.model.translator.steering_key();
        let filter =
            filter_object(namespace, &refs, &self.model.settings, steering_key, self.newest_revision(namespace));
        if filter.object.as_ref().is_some_and(|object| self.objects.observed.is_same(object))
            && newest.iter().all(|import| self.has_known_routes(import))
        {
            self.everything_is_in_force(namespace, filter.revision, now);
            return;
        }
        // One that is not there may have been written a moment ago: watches tell that later.
        if let Some(egress) = self.egresses.get_mut(namespace) {
            egress.filter.take_over = TakeOver::Reading;
        }
        if let WriteState::Failed(until) = self.objects.read(&key, &id, now, out) {
            self.queue.add_at(Work::Reconcile(key), until);
        }
    }

    /// Whether gateways know the routes of an import, as those are live, and istiod has heard of them: a filter does not tell for
    /// which ports it is.
    fn has_known_routes(&self, import: &Import) -> bool {
        let Key { namespace, name } = &import.key;
        let live: Vec<_> = self.objects.observed.of_import(Kind::HttpRoute, namespace, &import.key).collect();
        let state = self.imports.get(namespace, name);
        state.is_some_and(|state| state.versions.has_live_routes(import, &self.model.settings))
            && self.istiod_on(&live) == Istiod::UpToDate
    }

    /// Whether everything is known of what one who takes over finds of a part.
    pub(super) fn has_looked_at(&self, key: &ReconcileKey) -> bool {
        match &key.part {
            Part::Import(name) => {
                self.imports.get(&key.namespace, name).is_none_or(|state| !matches!(state.found, Found::Reading { .. }))
            }
            Part::Egress => !self.is_reading(&key.namespace) && !self.is_being_taken_over(&key.namespace),
            Part::Common | Part::Cluster | Part::Connections | Part::Slices(_) | Part::Ingress | Part::Export(_) => {
                true
            }
        }
    }

    /// Whether it is not known yet what gateways of a namespace have from before.
    pub(super) fn is_being_taken_over(&self, namespace: &str) -> bool {
        let egress = self.egresses.get(namespace);
        egress.is_some_and(|egress| matches!(egress.filter.take_over, TakeOver::Pending | TakeOver::Reading))
    }

    /// Whether live routes of imports of a namespace are being read.
    pub(super) fn is_reading(&self, namespace: &str) -> bool {
        self.imports.in_namespace(namespace).any(|state| !matches!(state.found, Found::Known | Found::Gone))
    }

    /// What is wanted of the imports of a namespace whose rules the filter applies, the oldest first.
    fn newest_of(&self, namespace: &str) -> Vec<Arc<Import>> {
        let wanted = self.model.translator.imports_of(namespace).into_iter().cloned();
        wanted.filter(|import| self.model.settings.data_plane(import) == DataPlane::Wasm).collect()
    }

    /// The live filter is what is wanted: nothing is left to tell gateways.
    fn everything_is_in_force(&mut self, namespace: &Arc<str>, revision: u64, now: Moment) {
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        egress.filter.found(revision, now);
        egress.is_module_told = true;
        for import in self.newest_of(namespace) {
            let state = self.imports.entry(&import.key);
            if let Some(newest) = state.versions.list.last_mut() {
                newest.stage = Stage::Ready;
                newest.first = Some(FOUND);
            }
        }
        self.taken_over(namespace, TakeOver::Done);
    }

    fn filter_was_read(&mut self, namespace: &Arc<str>, live: Option<&Value>, now: Moment) {
        if self.egresses.get(namespace).is_none_or(|egress| egress.filter.take_over != TakeOver::Reading) {
            // Meanwhile it has become what is wanted.
            return;
        }
        let Some(live) = live else {
            self.taken_over(namespace, TakeOver::Done);
            return;
        };
        let kind = self.model.settings.filter;
        let is_module_told = kind.module_of(live).as_ref() == Some(&self.model.settings.module);
        let config = sealed_config(kind, live, self.model.translator.steering_key());
        if let Some(egress) = self.egresses.get_mut(namespace) {
            egress.is_module_told = is_module_told;
        }
        let Some(config) = config else {
            self.taken_over(namespace, TakeOver::Unknown(now + self.timing.grace));
            return;
        };
        if let Some(egress) = self.egresses.get_mut(namespace) {
            egress.filter.found(config.revision.unwrap_or_default(), now);
        }
        for wire in &config.imports {
            let (wire, paths) = apart(wire, &config.paths);
            let key = view(namespace, &Key::new(wire.namespace.as_str(), wire.name.as_str()));
            let Some(state) = self.imports.get_mut(namespace, &key.name) else {
                // Gateways go on with it until those that get its hosts are ready.
                let state = self.imports.entry(&key);
                state.found = Found::Gone;
                state.versions.list.push(Version::told(Some(Arc::new(Import::gone(&key, wire, paths)))));
                continue;
            };
            let versions = &mut state.versions;
            let Some(import) = versions.import().cloned() else {
                // It came back meanwhile, and its routes are still to be read.
                versions.list.insert(0, Version::told(Some(Arc::new(Import::gone(&key, wire, paths)))));
                continue;
            };
            let has_routes = import.wire == wire && self.has_known_routes(&import);
            let versions = &mut self.imports.entry(&key).versions;
            let Some(newest) = versions.list.last_mut() else { continue };
            if has_routes {
                // What is wanted is what gateways have: so they have its routes.
                newest.stage = Stage::Ready;
                newest.first = Some(FOUND);
                continue;
            }
            let is_known = |version: &Version| version.import.as_ref().is_some_and(|known| known.wire == wire);
            if versions.list.iter().any(|version| version.first == Some(0) && is_known(version)) {
                continue;
            }
            let told = Arc::new(import.told(wire, paths));
            if versions.is_live {
                // It steers to live routes, which are those of what is wanted.
                versions.recovered = Some(Box::new(routes_of(&import, &self.model.settings, &mut versions.places)));
            }
            match versions.list.first_mut().filter(|oldest| oldest.first == Some(0) && oldest.import.is_none()) {
                Some(oldest) => oldest.import = Some(told),
                None => versions.list.insert(0, Version::told(Some(told))),
            }
        }
        self.taken_over(namespace, TakeOver::Done);
    }

    fn taken_over(&mut self, namespace: &Arc<str>, take_over: TakeOver) {
        if let Some(egress) = self.egresses.get_mut(namespace) {
            egress.filter.take_over = take_over;
        }
        let imports: Vec<_> = self
            .imports
            .in_namespace(namespace)
            .filter_map(|state| state.versions.import())
            .map(|import| import.key.clone())
            .collect();
        for import in imports {
            let is_native = self.is_native(&import);
            let versions = &mut self.imports.entry(&import).versions;
            // What gateways have of a filter that could not be read is not known before they are told of another.
            let is_known = is_native || take_over == TakeOver::Done;
            let was_live = is_known && std::mem::take(&mut versions.is_live);
            if was_live
                && is_native
                && let Some(newest) = versions.list.last_mut()
            {
                // What its routes lead to is there, and no filter has to be told of them.
                newest.stage = Stage::Ready;
            }
            self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
        }
        self.queue.add(Work::Ask(Arc::clone(namespace)));
        self.queue.add(Work::Reconcile(ReconcileKey::egress(namespace)));
    }
}

impl Versions {
    /// Where live routes are as wanted until now, and something else is wanted before it is known what gateways have, they stay
    /// as what was found: gateways may be steered there, and may not know them. Native ones have no filter, so they hold.
    pub(super) fn keep_live(&mut self, wanted: Option<&Arc<Import>>, settings: &Settings) {
        let Some(newest) = self.newest().filter(|newest| self.is_live && newest.import.as_ref() != wanted) else {
            return;
        };
        let routed = newest.import.clone();
        let recovered = routed.as_ref().map(|import| routes_of(import, settings, &mut self.places));
        self.recovered = recovered.map(Box::new);
        self.list = vec![Version::told(routed.filter(|import| settings.data_plane(import) == DataPlane::Native))];
        self.is_live = false;
    }

    /// Whether the live routes have every rule of an import, and lead to what it leads to: a filter tells neither for which
    /// ports it is nor what is behind a target. Before there are any, what they will lead to is written.
    fn has_live_routes(&self, import: &Import, settings: &Settings) -> bool {
        let nothing = Recovered::default();
        let found = self.recovered.as_deref().unwrap_or(&nothing);
        let is_backed = |newest: &Version| match newest.stage {
            Stage::Backing(progress) => progress.written.is_some(),
            _ => true,
        };
        self.is_live
            || self.newest().is_none_or(is_backed) && routes_of(import, settings, &mut Places::new()).is_within(found)
    }
}

/// What the routes of an import say if it has never been otherwise, and where that stands.
fn routes_of(import: &Import, settings: &Settings, places: &mut Places) -> Recovered {
    let ImportObjects { backing, routes, .. } = ImportVersions::of(import).objects(settings, &mut Places::new());
    let slices = backing.into_iter().filter(|object| object.id.kind == Kind::EndpointSlice);
    let slices = slices.map(|slice| slice.id.key.name.to_string()).collect();
    let mut all = Recovered { rules: Vec::new(), services: tier_services(import), slices };
    for route in routes {
        all.read(&import.key.name, &route.body, places, |_| true);
    }
    all
}
