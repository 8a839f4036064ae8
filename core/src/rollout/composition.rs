//! The filter of a namespace as gateways are told of it: with each import's last ready version.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::event::Command;
use super::filter::{Composed, TakeOver};
use super::gate::Gate;
use super::key::ReconcileKey;
use super::moving_hosts::held;
use super::objects::WriteState;
use super::stage::Stage;
use super::version::Version;
use super::{Rollout, Work};
use crate::api::DataPlane;
use crate::emit::kubernetes::{FilterObject, filter_object};
use crate::emit::object::Object;
use crate::moment::Moment;
use crate::observed::{Comparison, Digest};
use crate::problem::Problem;
use crate::snapshot::Key;
use crate::translate::Import;

/// For how many graces a configuration without room for all waits at most: a version takes at most one to have its Services, and
/// one to have its routes; and another may follow it.
const ROOM_GRACES: u32 = 4;

/// What gateways are told.
#[derive(Debug, Default)]
struct Carried {
    imports: Vec<Arc<Import>>,
    /// The imports that go on with what they were told before.
    held: BTreeSet<Key>,
}

/// A filter that is ready to be sent.
#[derive(Debug)]
struct Composition {
    /// The object; none: it is as what is there.
    object: Option<Object>,
    digest: Digest,
    revision: u64,
    is_crowded: bool,
    problems: Vec<Problem>,
    held: BTreeSet<Key>,
}

impl Composed {
    /// Whether it is of these very imports.
    fn is_of(&self, imports: &[Arc<Import>]) -> bool {
        self.imports.len() == imports.len()
            && self.imports.iter().zip(imports).all(|(own, other)| Arc::ptr_eq(own, other))
    }
}

impl Rollout {
    /// Sends the filter with each import's last ready version, where it has another.
    pub(super) fn send_filter(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        imports: &[Key],
        now: Moment,
        out: &mut Vec<Command>,
    ) -> Vec<Problem> {
        let id = self.model.settings.filter.object_id(namespace);
        let live = self.objects.observed.get(&id).and_then(|live| live.revision);
        if let Some(egress) = self.egresses.get_mut(namespace) {
            egress.filter.server_has(live);
        }
        let Some(egress) = self.egresses.get(namespace) else { return Vec::new() };
        match egress.filter.take_over {
            TakeOver::Done => {}
            TakeOver::Unknown(until) if until <= now || self.are_ready(imports) => {}
            TakeOver::Unknown(until) => {
                self.queue.add_at(Work::Reconcile(key.clone()), until);
                return Vec::new();
            }
            TakeOver::Pending | TakeOver::Reading => return Vec::new(),
        }
        let (next, newest) = (egress.filter.next(), egress.filter.revision());
        let gate = self.gate(namespace);
        let carried = self.carried(imports);
        if let Some(known) = self.egresses.get(namespace).and_then(|egress| egress.filter.composed.as_ref()) {
            // Composing takes long where there are many: what would not be sent is not composed.
            let is_known = known.is_of(&carried.imports);
            let is_there = is_known && self.objects.observed.compare(&id, known.digest) == Comparison::Same;
            let is_early = !is_known && next > now;
            if is_early || self.objects.is_on_its_way(&id) || (is_known && !is_there && gate != Gate::Open) {
                let problems = known.problems.clone();
                if is_early {
                    self.queue.add_at(Work::Reconcile(key.clone()), next);
                }
                return problems;
            }
        }
        let composed = self.compose(namespace, &carried);
        let is_there = self.objects.observed.compare(&id, composed.digest) == Comparison::Same;
        let problems = composed.problems.clone();
        if is_there {
            self.was_sent(namespace, imports, &composed, now);
            self.filter_written(namespace, now);
            self.objects.forget(&id);
            if let Some(object) = composed.object {
                // Others may have added to it.
                self.write(key, object, now, out);
            }
            return problems;
        }
        let is_news = newest != Some(composed.revision);
        // What somebody took away, or changed, is written again at once.
        let may_wait = composed.is_crowded && is_news && self.is_there(&id);
        if gate != Gate::Open || may_wait && self.waits_for_room(namespace, key, imports, now) {
            return problems;
        }
        if next > now && is_news {
            self.queue.add_at(Work::Reconcile(key.clone()), next);
            return problems;
        }
        let Some(object) = composed.object.clone() else { return problems };
        if self.write(key, object, now, out) == WriteState::Sent {
            if let Some(egress) = self.egresses.get_mut(namespace) {
                egress.filter.send_again(composed.revision);
            }
            self.was_sent(namespace, imports, &composed, now);
        }
        problems
    }

    /// Whether gateways are not told yet of a configuration that has no room for all: between two states in which all have room
    /// there may be one in which some have none, and an import without room may take a host meanwhile.
    fn waits_for_room(&mut self, namespace: &Arc<str>, key: &ReconcileKey, imports: &[Key], now: Moment) -> bool {
        let are_ready = self.are_ready(imports);
        let Some(filter) = self.egresses.get_mut(namespace).map(|egress| &mut egress.filter) else { return false };
        let until = *filter.crowded_since.get_or_insert(now) + ROOM_GRACES * self.timing.grace;
        if are_ready || until <= now {
            return false;
        }
        self.queue.add_at(Work::Reconcile(key.clone()), until);
        true
    }

    /// A configuration is on its way to gateways: from now on, they may have it.
    fn was_sent(&mut self, namespace: &Arc<str>, imports: &[Key], composed: &Composition, now: Moment) {
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        egress.filter.take_over = TakeOver::Done;
        egress.is_module_told = true;
        egress.filter.crowded_since = None;
        let number = egress.filter.send(composed.revision, now);
        for import in imports {
            let held = composed.held.contains(import);
            let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { continue };
            state.versions.is_live = false;
            if held {
                continue;
            }
            let Some(version) = state.versions.ready().and_then(|ready| state.versions.list.get_mut(ready)) else {
                continue;
            };
            if version.first.is_none() {
                version.first = Some(number);
                // Its ports may be told to clients now.
                self.queue.add(Work::Reconcile(ReconcileKey::import(import)));
            }
        }
    }

    /// The API server has the newest configuration.
    fn filter_written(&mut self, namespace: &Arc<str>, now: Moment) {
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        if egress.filter.written(now) {
            self.queue.add(Work::Ask(Arc::clone(namespace)));
        }
    }

    /// Whether every import's newest version is one that gateways may be steered to.
    fn are_ready(&self, imports: &[Key]) -> bool {
        let mut versions = imports.iter().filter_map(|import| self.versions_of(import));
        versions.all(|versions| versions.newest().is_none_or(|newest| newest.stage == Stage::Ready))
    }

    /// What gateways are told of each import whose rules the filter applies, and the imports that go on with what
    /// they were told before: a host that moves is with the one that loses it until the one that gains it is ready.
    fn carried(&self, imports: &[Key]) -> Carried {
        let mut carried = Carried::default();
        let wasm = imports.iter().filter_map(|import| Some((import, self.versions_of(import)?)));
        let wasm: Vec<_> = wasm.filter(|(_, versions)| self.data_plane_of(versions) == Some(DataPlane::Wasm)).collect();
        let wanted = self.model.translator.imports();
        let held = held(&wasm, |import| wanted.get(&import.namespace, &import.name).map(|import| &**import));
        for (import, versions) in wasm {
            let Some(ready) = versions.ready() else { continue };
            let told = versions.told_before(ready).filter(|_| held.contains(import));
            if told.is_some() {
                carried.held.insert(import.clone());
            }
            carried.imports.extend(versions.list.get(told.unwrap_or(ready)).and_then(Version::carried));
        }
        carried
    }

    /// The revision of the configuration that the next one of a namespace follows: of what was sent last, or of what is there,
    /// as one who led before may have written it since. The greater one counts more changes.
    pub(super) fn newest_revision(&self, namespace: &Arc<str>) -> Option<u64> {
        let sent = self.egresses.get(namespace).and_then(|egress| egress.filter.revision());
        let live = self.objects.observed.get(&self.model.settings.filter.object_id(namespace));
        sent.max(live.and_then(|live| live.revision))
    }

    /// The filter with these imports. Composing takes long where there are many, so it is done once.
    fn compose(&mut self, namespace: &Arc<str>, carried: &Carried) -> Composition {
        let Carried { imports, held } = carried;
        let known = self.egresses.get(namespace).and_then(|egress| egress.filter.composed.as_ref());
        if let Some(known) = known.filter(|known| known.is_of(imports))
            && self.objects.observed.compare(&self.model.settings.filter.object_id(namespace), known.digest)
                == Comparison::Same
            && self.objects.observed.with_additions(&self.model.settings.filter.object_id(namespace)).is_none()
        {
            return Composition {
                object: None,
                digest: known.digest,
                revision: known.revision,
                is_crowded: known.is_crowded,
                problems: known.problems.clone(),
                held: held.clone(),
            };
        }
        let refs: Vec<&Import> = imports.iter().map(|import| &**import).collect();
        let key = self.model.translator.steering_key();
        let FilterObject { object, revision, bytes, is_crowded, problems } =
            filter_object(namespace, &refs, &self.model.settings, key, self.newest_revision(namespace));
        let digest = object
            .as_ref()
            .map_or_else(|| Digest::of_desired(&serde_json::Value::Null), |object| Digest::of_desired(&object.body));
        if let Some(egress) = self.egresses.get_mut(namespace) {
            let (imports, problems) = (imports.clone(), problems.clone());
            egress.filter.composed = Some(Composed { imports, digest, revision, bytes, is_crowded, problems });
        }
        Composition { object, digest, revision, is_crowded, problems, held: held.clone() }
    }
}
