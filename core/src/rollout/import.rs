//! An import: each of its versions comes in stages, and goes in stages.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::egress::Egress;
use super::event::Command;
use super::key::{Part, ReconcileKey};
use super::objects::WriteState;
use super::safeguard::Safeguard;
use super::stage::{Stage, StageProgress};
use super::take_over::Found;
use super::version::{MOST_VERSIONS, Version, Versions};
use super::{Rollout, Timing, Work};
use crate::api::TIER_NAMESPACE;
use crate::emit::kubernetes::{ImportObjects, ImportVersions, NO_ADDRESS, Places, Recovered, clusterset_object};
use crate::emit::object::{Kind, Object, ObjectId};
use crate::moment::Moment;
use crate::observed::Istiod;
use crate::outcome::WriteOutcome;
use crate::problem::Reason;
use crate::snapshot::Key;
use crate::status::address_taken;
use crate::translate::Import;

/// For how long an address is asked for that somebody else has: one that a Service gives back is free a moment after it.
const ADDRESS_WAIT: Duration = Duration::from_secs(5);

/// What is known of an import.
#[derive(Debug, Default)]
pub(super) struct ImportState {
    pub(super) versions: Versions,
    /// What its live routes say, for one who takes over.
    pub(super) found: Found,
    /// How far the routes of its newest ready version are, if it is native.
    pub(super) native: Option<StageProgress>,
    /// Since when its Service cannot be made again, as somebody else has the address that clients know.
    refused_address: Option<Moment>,
}

/// How far the objects of an import are.
#[derive(Clone, Copy, Debug)]
struct Written {
    backing: bool,
    routes: bool,
    client: bool,
}

impl Rollout {
    pub(super) fn reconcile_import(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        let Part::Import(name) = &key.part else { return };
        let import = Key { namespace: Arc::clone(&key.namespace), name: Arc::clone(name) };
        let wanted = self.model.translator.imports().get(&import.namespace, &import.name).cloned();
        let is_gone = |all: &crate::snapshot::Objects<_>| all.get("", &import.namespace).is_none();
        let is_gone = self.world.snapshot.namespaces.as_ref().is_some_and(is_gone);
        if is_gone {
            // Its gateways went with it, and nobody is left who could be steered anywhere.
            self.imports.remove(&import);
        } else if wanted.is_some() && !self.look_at_live_routes(&import, now, out) {
            return;
        }
        let wanted = wanted.filter(|_| !is_gone);
        // A stage may end as soon as it begins: then what comes of that is written at once. There are few stages.
        for _ in 0..MOST_VERSIONS {
            self.want(&import, wanted.as_ref(), now);
            let is_other = self.write_import(key, &import, now, out);
            let is_news = self.advance(key, &import, now) || self.close_native(key, &import, now);
            if !(is_news || self.withdraw(&import, now) || is_other) {
                break;
            }
        }
    }

    /// Takes note of what is wanted of an import now.
    fn want(&mut self, import: &Key, wanted: Option<&Arc<Import>>, now: Moment) {
        let is_unanswered = self.is_unanswered(&ReconcileKey::import(import), is_backing);
        let settings = &self.model.settings;
        let versions = &mut self.imports.entry(import).versions;
        let planes = [versions.import(), wanted].map(|import| Some(settings.data_plane(import?)));
        if let [Some(before), Some(after)] = planes
            && before != after
        {
            // Clients are led to another gateway, which has nothing of this one: it is a break.
            *versions = Versions::default();
        }
        versions.keep_live(wanted, settings);
        if versions.want(wanted, is_unanswered, self.timing, now) {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&import.namespace)));
        }
    }

    /// Writes what the versions of an import need. Returns whether they need something else now that it is there.
    fn write_import(&mut self, key: &ReconcileKey, import: &Key, now: Moment, out: &mut Vec<Command>) -> bool {
        let Some(state) = self.imports.get(&import.namespace, &import.name).filter(|state| !state.versions.is_gone())
        else {
            self.imports.remove(import);
            // The other clusters admit its gateways for as long as they may call.
            self.queue.add(Work::Reconcile(ReconcileKey::cluster()));
            self.queue.add(Work::Admit);
            self.keep_problems(key, Vec::new());
            self.consists_of(key, &[], now);
            return false;
        };
        let is_taken_over = self.is_taken_over(&import.namespace);
        let mut places = state.versions.places.clone();
        let objects = self.objects_of(import, state, &mut places, now);
        let newest = state.versions.newest().and_then(|newest| newest.import.clone());
        let ImportObjects { backing, routes, client, problems } = objects;
        let client = client.filter(|_| is_taken_over);
        // Without a Service, nobody answers at its address.
        let shown = newest.as_ref().filter(|_| client.is_some());
        let clusterset = shown.and_then(|newest| clusterset_object(newest, &self.model.settings));
        let objects = backing.iter().chain(&routes).chain(&client).chain(&clusterset);
        let mut ids: Vec<ObjectId> = objects.map(|object| object.id.clone()).collect();
        let is_to_be_shown = clusterset.is_none() && shown.is_some_and(|newest| newest.clusterset.is_some());
        if !is_taken_over || is_to_be_shown || state.versions.keeps_clients() {
            // What there is for clients stays as it is until it is known what gateways have and which address to show, and
            // until gateways have something newer.
            let there = |kind| self.objects.observed.of_import(kind, &import.namespace, import);
            let kept = [Kind::Service, Kind::McsServiceImport].into_iter().flat_map(there);
            let kept: Vec<_> = kept.filter(|id| !ids.contains(id)).collect();
            ids.extend(kept);
        }
        self.keep_problems(key, problems);
        self.consists_of(key, &ids, now);
        // As long as nobody exports it, it stays of the type that it was of.
        let is_typed = newest.as_ref().is_some_and(|newest| newest.clusterset.is_some());
        let is_anew = client.as_ref().is_some_and(|client| is_typed && self.is_made_anew(client, key, now, out));
        let client = client.filter(|_| !is_anew).map(|client| self.with_free_address(client, import, now, out));
        let client_id = client.as_ref().map(|client| client.id.clone());
        let written = Written {
            backing: self.write_each(key, backing, now, out)
                && self.has_listeners(import)
                && self.imports.get(&import.namespace, &import.name).is_none_or(|state| {
                    state.versions.backing().is_none_or(|backing| self.are_callers_admitted(backing))
                }),
            client: self.write_each(key, client.into_iter().collect(), now, out) && !is_anew
                || client_id.is_some_and(|id| self.leads_nobody(&id)),
            routes: self.write_each(key, routes, now, out),
        };
        self.write_each(key, clusterset.into_iter().collect(), now, out);
        let istiod = self.istiod_on(self.objects.desired.objects_of(key));
        let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { return false };
        state.versions.places = places;
        state.versions.look(written, istiod, now)
    }

    /// Whether the Service that clients call cannot be made, so that none of ours leads them anywhere.
    fn leads_nobody(&self, client: &ObjectId) -> bool {
        self.is_lost(client) && !self.is_there(client)
    }

    /// Whether the Service that clients call must go first: one with an address cannot become one without, nor the other way
    /// round (Kubernetes, `ServiceSpec.clusterIP`).
    fn is_made_anew(&mut self, client: &Object, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) -> bool {
        let is_headless = client.body.pointer("/spec/clusterIP").is_some_and(|address| *address == NO_ADDRESS);
        let known = self.world.snapshot.client_services.get(&client.id.key.namespace, &client.id.key.name);
        if known.is_none_or(|known| known.addresses.is_empty() == is_headless) {
            return false;
        }
        if let WriteState::Failed(until) = self.objects.delete(&client.id, now, out) {
            self.queue.add_at(Work::Reconcile(key.clone()), until);
        }
        true
    }

    /// The Service that clients call. One that is made again asks for the address that they know; where somebody else has it
    /// for long, it gets another one.
    fn with_free_address(&mut self, mut client: Object, import: &Key, now: Moment, out: &mut Vec<Command>) -> Object {
        let Key { namespace, name } = &client.id.key;
        let has_address = self.world.snapshot.client_services.get(namespace, name).is_some();
        let refused = self.objects.failure(&client.id).filter(|_| !self.objects.is_on_its_way(&client.id));
        let is_refused = matches!(refused, Some(WriteOutcome::Retry { reason: Reason::AddressTaken, .. }));
        let state = self.imports.entry(import);
        let known = state.refused_address.filter(|_| !has_address);
        state.refused_address = known.or(is_refused.then_some(now));
        if state.refused_address.is_none_or(|since| now < since + ADDRESS_WAIT) {
            return client;
        }
        let asked =
            client.body.get_mut("spec").and_then(Value::as_object_mut).and_then(|spec| spec.remove("clusterIP"));
        let address = asked.as_ref().and_then(|address| address.as_str()?.parse().ok()).filter(|_| is_refused);
        let told = self.world.snapshot.mcs_service_imports.get(&import.namespace, &import.name);
        if let (Some(address), Some(told)) = (address, told) {
            out.push(Command::Tell { patch: address_taken(told, self.conditions.mcs_version, address) });
        }
        client
    }

    /// The objects of an import, and where its rules stand.
    fn objects_of(&self, import: &Key, state: &ImportState, places: &mut Places, now: Moment) -> ImportObjects {
        let versions = &state.versions;
        // Of what was found, the rules go first.
        let found = versions.found().map(|(recovered, is_routed)| {
            let rules = if is_routed { recovered.rules.clone() } else { Vec::new() };
            Recovered { rules, services: recovered.services.clone(), slices: recovered.slices.clone() }
        });
        let found = found.or_else(|| self.behind_native_routes(import, state, now));
        let (backing, routed, client_ports) = (versions.backed(), versions.routed(), versions.client_ports());
        let versions = ImportVersions { backing, routed, recovered: found.as_ref(), client_ports };
        versions.objects(&self.model.settings, places)
    }

    /// Goes on to the next stage of a version, if one is due; else sees to it that it is looked at then.
    fn advance(&mut self, key: &ReconcileKey, import: &Key, now: Moment) -> bool {
        let timing = self.timing;
        let waits_for_backing = self.has(Safeguard::Backing);
        let is_native = self.is_native(import);
        let is_taken_over = self.is_taken_over(&import.namespace);
        let are_services_unanswered = self.is_unanswered(key, is_backing);
        let are_routes_unanswered = self.is_unanswered(key, |id| id.kind == Kind::HttpRoute);
        let are_routes_on_their_way = self.are_routes_on_their_way(key);
        let knows_listeners = self.egresses.get(&import.namespace).is_some_and(Egress::knows_listeners);
        let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { return false };
        let versions = &mut state.versions;
        let mut due: Option<Moment> = None;
        let mut wait = |then: Moment| due = Some(due.map_or(then, |due| due.min(then)));
        let mut is_news = false;
        let mut is_ready = false;

        let (needs_backing, needs_routes) = (versions.needs_backing(), versions.needs_routes());
        let known = versions.routed_values();
        let is_full = versions.is_full(timing, now);
        let mut is_complete = false;
        if let Some(newest) = versions.list.last_mut() {
            match &mut newest.stage {
                Stage::Backing(progress) => {
                    let is_free = newest.import.is_none() || !needs_backing || !waits_for_backing;
                    let until = if is_free {
                        Some(now)
                    } else if knows_listeners {
                        progress.backed(are_services_unanswered, timing, now)
                    } else {
                        // Until the filter of before was read, nobody refuses listeners: the grace begins then.
                        progress.since = now;
                        None
                    };
                    if until.is_some_and(|until| until <= now) {
                        newest.stage = Stage::Routed(StageProgress::begin(now));
                        is_news = true;
                    } else if let Some(until) = until {
                        wait(until);
                    }
                }
                Stage::Routed(progress) => {
                    // What is on its way was not refused yet.
                    let least = if are_routes_on_their_way { timing.look_again(now) } else { now };
                    let refused = (progress.since + timing.grace).max(least);
                    let until = match progress.known(timing) {
                        _ if newest.import.is_none() || is_native || !needs_routes => Some(now),
                        known => known,
                    };
                    if until.is_some_and(|until| until <= now) && is_taken_over {
                        newest.stage = Stage::Ready;
                        (is_news, is_ready) = (true, true);
                    } else if until.is_none() && are_routes_unanswered {
                        // Nobody refuses anything: the next attempt brings it here again, and the grace begins then.
                        progress.since = now;
                    } else if until.is_none() && refused <= now && is_taken_over {
                        let values = newest.import.as_ref().map(|import| import.steering_values()).unwrap_or_default();
                        newest.lack(values.difference(&known).cloned().collect());
                        versions.late = Some(StageProgress::begin(now));
                        newest.stage = Stage::Ready;
                        (is_news, is_ready) = (true, true);
                    } else if is_taken_over {
                        wait(until.unwrap_or(refused));
                    }
                }
                Stage::Ready if !newest.missing.is_empty() => {
                    // Its routes may be taken after all.
                    let progress = versions.late.get_or_insert(StageProgress::begin(now));
                    match progress.known(timing) {
                        Some(until) if until > now => wait(until),
                        Some(_) => is_complete = !is_full,
                        None => {}
                    }
                }
                Stage::Ready | Stage::Closing | Stage::Draining(_) => {}
            }
        }
        if is_complete {
            // Gateways go on with what they were told until they have this.
            let import = versions.import().cloned();
            versions.make_room(timing, now);
            versions.list.push(Version::ready(import, now));
            versions.late = None;
            (is_news, is_ready) = (true, true);
        }
        for version in &mut versions.list {
            if let Stage::Draining(progress) = version.stage
                && let Some(until) = progress.known(timing)
                && until > now
            {
                wait(until);
            }
        }
        is_news |= versions.drop_drained(now, timing);
        if let Some(due) = due {
            self.queue.add_at(Work::Reconcile(key.clone()), due);
        }
        if is_ready {
            versions.close_untold();
            // What is written leads to what the version before has.
            state.native = None;
        }
        if is_news {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&import.namespace)));
        }
        is_news
    }

    /// What istiod has heard of the routes among objects: of that which it knows least of. Where nobody says anything, nobody
    /// is waited for.
    pub(super) fn istiod_on<'o>(&self, objects: impl IntoIterator<Item = &'o ObjectId>) -> Istiod {
        let routes = objects.into_iter().filter(|id| id.kind == Kind::HttpRoute);
        let states = routes.map(|id| self.objects.observed.get(id).map_or(Istiod::Silent, |live| live.istiod));
        states.filter(|istiod| self.world.has_istiod || *istiod != Istiod::Silent).min().unwrap_or(Istiod::UpToDate)
    }

    /// Whether the API server has not answered writes of such objects of a part.
    fn is_unanswered(&self, key: &ReconcileKey, is_such: impl Fn(&ObjectId) -> bool) -> bool {
        if self.objects.is_sound() {
            return false;
        }
        let such = self.objects.desired.objects_of(key).iter().filter(|id| is_such(id));
        let mut failures = such.filter_map(|id| self.objects.failure(id));
        let is_silent = |reason: &Reason| matches!(reason, Reason::Unreachable | Reason::Timeout);
        failures.any(|failure| matches!(failure, WriteOutcome::Retry { reason, .. } if is_silent(reason)))
    }

    /// Whether routes of a part are about to be written for the first time. What was refused is tried again and again.
    pub(super) fn are_routes_on_their_way(&self, key: &ReconcileKey) -> bool {
        let routes = self.objects.desired.objects_of(key).iter().filter(|id| id.kind == Kind::HttpRoute);
        routes.into_iter().any(|id| self.objects.is_on_its_way(id) && self.objects.failure(id).is_none())
    }

    /// Whether the gateway listens on every port of an import that it should.
    fn has_listeners(&self, import: &Key) -> bool {
        let Some(state) = self.imports.get(&import.namespace, &import.name) else { return true };
        let Some(newest) = state.versions.newest().and_then(|newest| newest.import.as_ref()) else { return true };
        let Some(egress) = self.egresses.get(&import.namespace) else { return newest.ports.is_empty() };
        let gateway = self.model.settings.egress_gateway(newest);
        newest.ports.iter().all(|port| egress.listens(gateway, *port))
    }
}

/// Whether an object is behind routes.
fn is_backing(id: &ObjectId) -> bool {
    *id.key.namespace == *TIER_NAMESPACE
}

impl Versions {
    /// Takes in how far the objects are. Returns whether other ones are wanted now.
    fn look(&mut self, written: Written, istiod: Istiod, now: Moment) -> bool {
        let Written { backing, routes, client } = written;
        let mut is_other = false;
        let is_backing = self.backing().is_some();
        for version in &mut self.list {
            match &mut version.stage {
                // Nobody says of these whether gateways know them.
                Stage::Backing(progress) => progress.look(backing, Istiod::Silent, now),
                // Where one drains, other routes may have been on the way to the same Services: gateways must know that
                // they are not any more.
                Stage::Routed(progress) | Stage::Draining(progress) => progress.look(routes, istiod, now),
                // What has replaced it, before any filter was told of it, may want the same routes.
                Stage::Closing if client && !(is_backing && version.first.is_none()) => {
                    version.stage = Stage::Draining(StageProgress::begin(now));
                    is_other = true;
                }
                Stage::Ready | Stage::Closing => {}
            }
        }
        if let Some(late) = &mut self.late {
            late.look(routes, istiod, now);
        }
        is_other
    }

    /// Forgets versions of which nothing is left.
    fn drop_drained(&mut self, now: Moment, timing: Timing) -> bool {
        let before = self.list.len();
        self.list.retain(|version| match version.stage {
            Stage::Draining(progress) => {
                let has_services = version.import.is_some() || version.first == Some(0);
                has_services && progress.known(timing).is_none_or(|until| until > now)
            }
            Stage::Closing => version.import.is_some() || version.first == Some(0),
            Stage::Backing(_) | Stage::Routed(_) | Stage::Ready => true,
        });
        self.forget_found();
        self.list.len() < before
    }
}
