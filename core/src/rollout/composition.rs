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
    crowded_out: BTreeSet<Key>,
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
        let next = egress.filter.next();
        let gate = self.gate(namespace);
        let id = self.model.settings.filter.object_id(namespace);
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
        let Some(egress) = self.egresses.get(namespace) else { return problems };
        let loses = |import: &&Key| !egress.filter.crowded_out.contains(*import) && self.is_told(import);
        if composed.crowded_out.iter().any(|import| loses(&import)) && !self.are_ready(imports) {
            // Between two states that fit there may be one that does not: it waits for the others.
            return problems;
        }
        if gate != Gate::Open {
            return problems;
        }
        if next > now && egress.filter.revision() != Some(composed.revision) {
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

    /// A configuration is on its way to gateways: from now on, they may have it.
    fn was_sent(&mut self, namespace: &Arc<str>, imports: &[Key], composed: &Composition, now: Moment) {
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        egress.filter.take_over = TakeOver::Done;
        egress.has_other_module = false;
        egress.filter.crowded_out.clone_from(&composed.crowded_out);
        let number = egress.filter.send(composed.revision, now);
        for import in imports {
            let held = composed.held.contains(import);
            let Some(state) = self.imports.get_mut(&import.namespace, &import.name).filter(|_| !held) else { continue };
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

    /// Whether gateways were told of an import.
    fn is_told(&self, import: &Key) -> bool {
        let is_told = |version: &Version| version.stage == Stage::Ready && version.first.is_some();
        self.versions_of(import).is_some_and(|versions| versions.list.iter().any(is_told))
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
        let held = held(&wasm);
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
                crowded_out: known.crowded_out.clone(),
                problems: known.problems.clone(),
                held: held.clone(),
            };
        }
        let refs: Vec<&Import> = imports.iter().map(|import| &**import).collect();
        let key = self.model.translator.steering_key();
        let FilterObject { object, revision, bytes, crowded_out, problems } =
            filter_object(namespace, &refs, &self.model.settings, key, self.newest_revision(namespace));
        let digest = object
            .as_ref()
            .map_or_else(|| Digest::of_desired(&serde_json::Value::Null), |object| Digest::of_desired(&object.body));
        if let Some(egress) = self.egresses.get_mut(namespace) {
            let (imports, crowded_out, problems) = (imports.clone(), crowded_out.clone(), problems.clone());
            egress.filter.composed = Some(Composed { imports, digest, revision, bytes, crowded_out, problems });
        }
        Composition { object, digest, revision, crowded_out, problems, held: held.clone() }
    }
}
