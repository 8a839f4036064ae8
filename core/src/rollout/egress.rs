//! What the imports of a namespace share: its gateways, and the filter, which carries each import's last ready version.
//!
//! So no import waits for another: any mixture of versions is one that would be there if the changes had been made one after
//! the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_policy::listener_port;

use super::event::{Command, GatewayPod, GatewayReport};
use super::filter::{Composed, Filter, TakeOver};
use super::gate::Gate;
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::safeguard::Safeguard;
use super::version::{Stage, Versions};
use super::{Leadership, Rollout, Work, pods};
use crate::api::DataPlane;
use crate::emit::kubernetes::{EgressImport, FilterObject, egress_gateways, filter_object, names, native_objects};
use crate::emit::object::{Kind, Object};
use crate::moment::Moment;
use crate::observed::{Comparison, Digest, Istiod};
use crate::problem::Reason;
use crate::snapshot::Key;
use crate::translate::Import;

/// The egress of an importing namespace.
#[derive(Debug)]
pub(super) struct Egress {
    pub(super) filter: Filter,
    /// The ports that its gateways are to listen on, and those that they do.
    listeners: [BTreeSet<u16>; 2],
    /// Since when the routes of native imports are written; none: they are not.
    pub(super) native_written: Option<Moment>,
    /// Whether the filter that is there has another module than it is to have, or it is not known.
    pub(super) has_other_module: bool,
}

impl Egress {
    pub(super) fn new(seed: u64) -> Self {
        Self { filter: Filter::new(seed), listeners: Default::default(), native_written: None, has_other_module: true }
    }

    /// Whether the gateways listen for requests to a port, as far as they are to.
    pub(super) fn listens(&self, port: u16) -> bool {
        let port = listener_port(port);
        let [wanted, there] = &self.listeners;
        there.contains(&port) || !wanted.contains(&port)
    }
}

impl Rollout {
    pub(super) fn reconcile_egress(&mut self, namespace: &Arc<str>, now: Moment, out: &mut Vec<Command>) {
        let key = ReconcileKey::egress(namespace);
        let imports = self.imports_of(namespace);
        if imports.is_empty() && self.is_reading(namespace) {
            // It is not known yet what there is.
            return;
        }
        if imports.is_empty() {
            self.keep_problems(&key, Vec::new());
            self.consists_of(&key, &[], now);
            self.egresses.remove(namespace);
            return;
        }
        let seed = self.seed;
        self.egresses.entry(Arc::clone(namespace)).or_insert_with(|| Egress::new(seed));
        self.take_over_filter(namespace, now, out);
        if self.is_being_taken_over(namespace) {
            // Gateways may serve more than is known yet.
            return;
        }
        let (gateways, native, mut problems) = self.gateways_of(namespace, &imports);
        let has_filter = gateways.iter().any(|object| is_gateway(object, names::EGRESS_GATEWAY));
        let filter_id = self.model.settings.filter.object_id(namespace);
        let mut ids: Vec<_> = has_filter.then_some(filter_id).into_iter().collect();
        ids.extend(gateways.iter().chain(&native).map(|object| object.id.clone()));
        self.consists_of(&key, &ids, now);
        if has_filter {
            problems.extend(self.send_filter(namespace, &key, &imports, now, out));
        }
        self.write_gateways(namespace, &key, gateways, now, out);
        self.write_native(namespace, &key, native, now, out);
        self.keep_problems(&key, problems);
        self.confirm(namespace, &imports, has_filter, now);
    }

    /// The imports of a namespace of which anything is there, the oldest first.
    fn imports_of(&self, namespace: &str) -> Vec<Key> {
        let mut imports: Vec<&Arc<Import>> =
            self.imports.in_namespace(namespace).filter_map(|state| state.versions.import()).collect();
        imports.sort_by(|left, right| left.precedence().cmp(&right.precedence()));
        imports.into_iter().map(|import| import.key()).collect()
    }

    fn versions_of(&self, import: &Key) -> Option<&Versions> {
        self.imports.get(&import.namespace, &import.name).map(|state| &state.versions)
    }

    fn data_plane_of(&self, versions: &Versions) -> Option<DataPlane> {
        versions.import().map(|import| self.model.settings.data_plane(import))
    }

    /// The gateways, the routes of native imports, and what is wrong.
    fn gateways_of(
        &self,
        namespace: &str,
        imports: &[Key],
    ) -> (Vec<Object>, Vec<Object>, Vec<crate::problem::Problem>) {
        let (mut wasm, mut native) = (Vec::new(), Vec::new());
        for versions in imports.iter().filter_map(|import| self.versions_of(import)) {
            let Some(newest) = versions.import() else { continue };
            match self.model.settings.data_plane(newest) {
                DataPlane::Wasm => {
                    let recovered = versions.found().map_or(&[][..], |(recovered, _)| &recovered.rules);
                    wasm.push(EgressImport { newest, versions: versions.backed(), recovered });
                }
                DataPlane::Native => {
                    let ready = versions.ready().and_then(|ready| versions.list.get(ready)?.import.as_deref());
                    native.extend(ready);
                }
            }
        }
        let (gateways, mut problems) = egress_gateways(namespace, &wasm, &native, &self.model.settings);
        let (routes, found) = native_objects(&native);
        problems.extend(found);
        (gateways, routes, problems)
    }

    fn write_gateways(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        gateways: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let (mut wanted, mut there) = (BTreeSet::new(), BTreeSet::new());
        for object in gateways {
            let ports: Vec<u16> =
                if object.id.kind == Kind::Gateway { names::listener_ports(&object.body) } else { Vec::new() };
            let state = self.write(key, object, now, out);
            wanted.extend(&ports);
            there.extend(ports.into_iter().filter(|_| state == WriteState::Written));
        }
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        let listeners = [wanted, there];
        if egress.listeners != listeners {
            egress.listeners = listeners;
            for import in self.imports_of(namespace) {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
            }
        }
    }

    fn write_native(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        routes: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let mut is_written = true;
        for route in routes {
            is_written &= self.write(key, route, now, out) == WriteState::Written;
        }
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        let since = is_written.then(|| egress.native_written.unwrap_or(now));
        if since != egress.native_written {
            egress.native_written = since;
            for import in self.imports_of(namespace) {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
            }
        }
    }

    /// Sends the filter with each import's last ready version, where it has another.
    fn send_filter(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        imports: &[Key],
        now: Moment,
        out: &mut Vec<Command>,
    ) -> Vec<crate::problem::Problem> {
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
        let carried = self.carried(imports);
        let composed = self.compose(namespace, &carried);
        let id = self.model.settings.filter.object_id(namespace);
        let is_there = self.objects.observed.compare(&id, composed.digest) == Comparison::Same;
        let problems = composed.problems.clone();
        if is_there && !self.objects.is_on_its_way(&id) {
            self.was_sent(namespace, imports, &composed, now);
            self.filter_written(namespace, now);
            self.objects.forget(&id);
            if let Some(object) = composed.object {
                // Others may have added to it.
                self.write(key, object, now, out);
            }
            return problems;
        }
        let gate = self.gate(namespace);
        let Some(egress) = self.egresses.get(namespace) else { return problems };
        if composed.is_too_large && !self.are_ready(imports) {
            // Between two states that fit there may be one that does not: it waits for the others.
            return problems;
        }
        if gate != Gate::Open {
            return problems;
        }
        let next = egress.filter.next();
        if next > now && egress.filter.revision() != Some(composed.revision) {
            self.queue.add_at(Work::Reconcile(key.clone()), next);
            return problems;
        }
        let Some(object) = composed.object.clone() else { return problems };
        if self.write(key, object, now, out) == WriteState::Sent {
            self.was_sent(namespace, imports, &composed, now);
        }
        problems
    }

    /// A configuration is on its way to gateways: from now on, they may have it.
    fn was_sent(&mut self, namespace: &Arc<str>, imports: &[Key], composed: &Composition, now: Moment) {
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        egress.filter.take_over = TakeOver::Done;
        egress.has_other_module = false;
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

    /// Whether every import's newest version is one that gateways may be steered to.
    fn are_ready(&self, imports: &[Key]) -> bool {
        let mut versions = imports.iter().filter_map(|import| self.versions_of(import));
        versions.all(|versions| versions.newest().is_none_or(|newest| newest.stage == Stage::Ready))
    }

    /// What gateways are to be told of each import whose rules the filter applies, and the imports that go on with what
    /// they were told before: a host that moves is with the one that loses it until the one that gains it is ready.
    fn carried(&self, imports: &[Key]) -> Carried {
        let mut carried = Carried::default();
        let wasm = imports.iter().filter_map(|import| Some((import, self.versions_of(import)?)));
        let wasm: Vec<_> = wasm.filter(|(_, versions)| self.data_plane_of(versions) == Some(DataPlane::Wasm)).collect();
        let awaited: Vec<_> =
            wasm.iter().filter_map(|(import, versions)| Some((*import, versions.awaited_hosts()?))).collect();
        for (import, versions) in wasm {
            let Some(ready) = versions.ready() else { continue };
            let is_awaited =
                |host: &String| awaited.iter().any(|(other, hosts)| *other != import && hosts.contains(host));
            let told = versions.told_before(ready);
            let place = match told {
                Some(told) if versions.lost_hosts(told, ready).iter().any(is_awaited) => {
                    carried.held.insert(import.clone());
                    told
                }
                _ => ready,
            };
            carried.imports.extend(versions.list.get(place).and_then(super::version::Version::carried));
        }
        carried
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
                is_too_large: false,
                problems: known.problems.clone(),
                held: held.clone(),
            };
        }
        let refs: Vec<&Import> = imports.iter().map(|import| &**import).collect();
        let key = self.model.translator.steering_key();
        let FilterObject { object, revision, bytes, problems } =
            filter_object(namespace, &refs, &self.model.settings, key);
        let digest = object
            .as_ref()
            .map_or_else(|| Digest::of_desired(&serde_json::Value::Null), |object| Digest::of_desired(&object.body));
        let is_too_large = problems.iter().any(|problem| problem.reason == Reason::TooLarge);
        if let Some(egress) = self.egresses.get_mut(namespace) {
            let imports = imports.clone();
            egress.filter.composed = Some(Composed { imports, digest, revision, bytes, problems: problems.clone() });
        }
        Composition { object, digest, revision, is_too_large, problems, held: held.clone() }
    }

    /// Lets go what no gateway steers to any more.
    fn confirm(&mut self, namespace: &Arc<str>, imports: &[Key], has_filter: bool, now: Moment) {
        let grace = self.timing.grace;
        let is_behind = imports.iter().any(|import| self.is_istiod_behind(import));
        let Some(egress) = self.egresses.get(namespace) else { return };
        let filter = &egress.filter;
        let is_there = self.is_there(&self.model.settings.filter.object_id(namespace));
        let confirmed = if !self.has(Safeguard::InForce) {
            filter.number()
        } else if (!has_filter && filter.number() == 0) || (!is_there && !filter.has_pods()) {
            // There is no gateway that could have any, and none that comes can get any: a namespace that ends loses its
            // filter in any order, and takes no other.
            u64::MAX
        } else {
            // The grace stands still while istiod is behind: gateways cannot have what it has not told them.
            filter.confirmed(|written| !is_behind && written + grace <= now)
        };
        let look_again =
            if is_behind { Some(now + self.timing.lead) } else { filter.grace_ends(confirmed, grace, now) };
        if let Some(then) = look_again {
            self.queue.add_at(Work::Reconcile(ReconcileKey::egress(namespace)), then);
        }
        for import in imports {
            let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { continue };
            if !has_filter {
                state.versions.list.iter_mut().filter(|version| version.stage == Stage::Ready).for_each(|version| {
                    version.first.get_or_insert(1);
                });
            }
            if state.versions.confirm(confirmed) {
                self.queue.add(Work::Reconcile(ReconcileKey::import(import)));
            }
        }
    }

    fn is_istiod_behind(&self, import: &Key) -> bool {
        let routes = self.objects.desired.objects_of(&ReconcileKey::import(import)).iter();
        let routes = routes.filter(|id| id.kind == Kind::HttpRoute).filter_map(|id| self.objects.observed.get(id));
        routes.into_iter().any(|live| live.istiod == Istiod::Behind)
    }

    /// The pods of a namespace may be others.
    pub(super) fn pods_changed(&mut self, namespace: &Arc<str>, now: Moment) {
        let serving = pods::serving(namespace, &self.world.snapshot);
        if let Some(egress) = self.egresses.get_mut(namespace) {
            egress.filter.serve(&serving);
            self.queue.add(Work::Reconcile(ReconcileKey::egress(namespace)));
            self.queue.add_at(Work::Ask(Arc::clone(namespace)), now);
        }
    }

    /// Asks the pods of a namespace what they have.
    pub(super) fn ask(&mut self, namespace: &Arc<str>, _now: Moment, out: &mut Vec<Command>) {
        let pods = pods::serving(namespace, &self.world.snapshot);
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        egress.filter.serve(&pods);
        if !pods.is_empty() && egress.filter.is_written() {
            out.push(Command::Ask { namespace: Arc::clone(namespace), pods });
        }
    }

    /// Pods have said what they have.
    pub(super) fn asked(
        &mut self,
        namespace: &Arc<str>,
        reports: &[(GatewayPod, Option<GatewayReport>)],
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let (grace, module) = (self.timing.grace, self.model.module.clone());
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        let before = egress.filter.progress;
        let progress = egress.filter.heard(reports, now, grace);
        if egress.filter.reload.is_due(now, &module, progress) {
            tracing::info!(namespace = &**namespace, "a gateway could not fetch the module: it is told to try again");
            out.push(Command::Touch { id: self.model.settings.filter.object_id(namespace) });
        }
        self.queue.add_at(Work::Ask(Arc::clone(namespace)), now + progress.look_again_after());
        self.queue.add(Work::Reconcile(ReconcileKey::egress(namespace)));
        if before != Some(progress) || progress.look_again_after() < std::time::Duration::from_secs(5) {
            self.report_namespace(namespace);
        }
    }

    /// Whether it is known what gateways of a namespace have from before.
    pub(super) fn is_taken_over(&self, namespace: &str) -> bool {
        let egress = self.egresses.get(namespace);
        egress.is_some_and(|egress| matches!(egress.filter.take_over, TakeOver::Done | TakeOver::Unknown(_)))
    }

    /// Whether everything of a namespace has been looked at once.
    pub(super) fn has_seen(&self, namespace: &str) -> bool {
        match &self.leadership {
            Leadership::TakingOver(unseen) => {
                !unseen.iter().any(|key| *key.namespace == *namespace && matches!(key.part, super::Part::Import(_)))
            }
            Leadership::Following | Leadership::Leading => true,
        }
    }
}

/// What gateways are to be told.
#[derive(Debug, Default)]
struct Carried {
    imports: Vec<Arc<Import>>,
    /// The imports that go on with what they were told before.
    held: BTreeSet<Key>,
}

/// A filter as it is to be sent.
#[derive(Debug)]
struct Composition {
    /// The object; none: it is as what is there.
    object: Option<Object>,
    digest: Digest,
    revision: u64,
    is_too_large: bool,
    problems: Vec<crate::problem::Problem>,
    held: BTreeSet<Key>,
}

impl Composed {
    /// Whether it is of these very imports.
    fn is_of(&self, imports: &[Arc<Import>]) -> bool {
        self.imports.len() == imports.len()
            && self.imports.iter().zip(imports).all(|(own, other)| Arc::ptr_eq(own, other))
    }
}

fn is_gateway(object: &Object, name: &str) -> bool {
    object.id.kind == Kind::Gateway && *object.id.key.name == *name
}
