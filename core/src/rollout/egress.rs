//! What the imports of a namespace share: its gateways, and the filter, which carries each import's last ready version.
//!
//! So no import waits for another: any mixture of versions is one that would be there if the changes had been made one after
//! the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcwan_policy::listener_port;

use super::event::{Command, GatewayPod, GatewayReport};
use super::filter::{Filter, TakeOver};
use super::key::ReconcileKey;
use super::objects::WriteState;
use super::safeguard::Safeguard;
use super::stage::Stage;
use super::version::Versions;
use super::{Leadership, Rollout, Work, pods, quality};
use crate::api::DataPlane;
use crate::emit::kubernetes::{EgressImport, egress_gateways, names, native_objects, without_certificate};
use crate::emit::object::{Kind, Object, ObjectId};
use crate::moment::Moment;
use crate::observed::Istiod;
use crate::problem::Problem;
use crate::snapshot::Key;
use crate::translate::Import;

/// The egress of an importing namespace.
#[derive(Debug)]
pub(super) struct Egress {
    pub(super) filter: Filter,
    /// The listeners of its gateways; none: they were not looked at yet.
    listeners: Option<Listeners>,
    /// Of each Gateway that could not be written, from when on its pods know where to listen; none: it is not written yet.
    /// Versions do not wait for it for longer than the grace, and may be ready before.
    late: BTreeMap<Arc<str>, Option<Moment>>,
    /// Whether gateways were told of the wanted module, or are about to be. Most have it, then, whatever somebody tells them
    /// meanwhile: an agent keeps a module for a day after it was last told of it (Istio, `wasm.DefaultModuleExpiry`).
    pub(super) is_module_told: bool,
}

/// Listeners of gateways, by gateway and port.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listeners {
    wanted: BTreeSet<(Arc<str>, u16)>,
    /// Those of Gateways in the wanted state.
    there: BTreeSet<(Arc<str>, u16)>,
}

/// What the imports of a namespace share.
struct EgressObjects {
    gateways: Vec<Object>,
    /// The routes of native imports.
    native_routes: Vec<Object>,
    /// Those that stay as they are.
    kept_routes: Vec<ObjectId>,
    /// What is wrong with it.
    problems: Vec<Problem>,
}

impl Egress {
    pub(super) fn new(seed: u64) -> Self {
        Self { filter: Filter::new(seed), listeners: None, late: BTreeMap::new(), is_module_told: false }
    }

    /// Takes note of how far a Gateway is, whose pods will know where to listen by then if it is there.
    fn look(&mut self, gateway: Arc<str>, state: WriteState, known: Moment) {
        match state {
            WriteState::Failed(_) => drop(self.late.insert(gateway, None)),
            // Nothing of the namespace was looked at yet: who led before may not have been able to write it.
            WriteState::Sent if self.listeners.is_none() => drop(self.late.insert(gateway, None)),
            WriteState::Written => drop(self.late.get_mut(&gateway).map(|late| late.get_or_insert(known))),
            WriteState::Sent | WriteState::OnItsWay => {}
        }
    }

    /// From when on the pods of a Gateway know where to listen, if it could not be written at first and is there now.
    pub(super) fn late(&self, gateway: &str) -> Option<Moment> {
        *self.late.get(gateway)?
    }

    /// Whether a gateway listens for requests to a port, if it should.
    pub(super) fn listens(&self, gateway: &str, port: u16) -> bool {
        let listener = (gateway.into(), listener_port(port));
        let known = self.listeners.as_ref();
        known.is_none_or(|known| known.there.contains(&listener) || !known.wanted.contains(&listener))
    }

    /// Whether it is known on which ports its gateways listen.
    pub(super) fn knows_listeners(&self) -> bool {
        self.listeners.is_some()
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
            self.nobody_measures(namespace, now);
            return;
        }
        let seed = self.seed;
        self.egresses.entry(Arc::clone(namespace)).or_insert_with(|| Egress::new(seed));
        self.take_over_filter(namespace, now, out);
        if self.is_being_taken_over(namespace) {
            // Gateways may serve more than is known yet.
            return;
        }
        let EgressObjects { gateways, native_routes, kept_routes, mut problems } =
            self.objects_of_egress(namespace, &imports);
        let has_filter = gateways.iter().any(|object| is_gateway(object, names::EGRESS_GATEWAY));
        let filter_id = self.model.settings.filter.object_id(namespace);
        let mut ids: Vec<_> = has_filter.then_some(filter_id).into_iter().collect();
        ids.extend(gateways.iter().chain(&native_routes).map(|object| object.id.clone()));
        ids.extend(kept_routes);
        self.consists_of(&key, &ids, now);
        if has_filter {
            problems.extend(self.send_filter(namespace, &key, &imports, now, out));
        }
        self.write_gateways(namespace, &key, gateways, now, out);
        self.write_native(namespace, &key, native_routes, now, out);
        problems.extend(self.without_certificate(namespace, &imports));
        self.keep_problems(&key, problems);
        self.confirm(namespace, &imports, has_filter, now);
    }

    /// The imports of a namespace of which anything is there, the oldest first.
    pub(super) fn imports_of(&self, namespace: &str) -> Vec<Key> {
        let mut imports: Vec<&Arc<Import>> =
            self.imports.in_namespace(namespace).filter_map(|state| state.versions.import()).collect();
        imports.sort_by(|left, right| left.precedence().cmp(&right.precedence()));
        imports.into_iter().map(|import| import.key.clone()).collect()
    }

    /// An import as it is wanted, which may not have a version yet.
    fn wanted(&self, import: &Key) -> Option<&Import> {
        self.model.translator.imports().get(&import.namespace, &import.name).map(|import| &**import)
    }

    pub(super) fn versions_of(&self, import: &Key) -> Option<&Versions> {
        self.imports.get(&import.namespace, &import.name).map(|state| &state.versions)
    }

    pub(super) fn data_plane_of(&self, versions: &Versions) -> Option<DataPlane> {
        versions.import().map(|import| self.model.settings.data_plane(import))
    }

    fn objects_of_egress(&self, namespace: &str, imports: &[Key]) -> EgressObjects {
        let (mut wasm, mut native) = (Vec::new(), Vec::new());
        // Of each native import the newest version whose routes may be written; one that has none keeps those that are there.
        let (mut rules, mut unready) = (Vec::new(), BTreeSet::new());
        for import in imports {
            let Some(versions) = self.versions_of(import) else { continue };
            let Some(newest) = versions.import() else { continue };
            let recovered = versions.found().map_or(&[][..], |(recovered, _)| &recovered.rules);
            let wanted = self.wanted(import).unwrap_or(newest);
            let of_gateway = EgressImport { wanted, versions: versions.backed(), recovered };
            match self.model.settings.data_plane(newest) {
                DataPlane::Wasm => wasm.push(of_gateway),
                DataPlane::Native => {
                    native.push(of_gateway);
                    if let Some(ready) = versions.ready() {
                        rules.extend(versions.list.get(ready).and_then(|version| version.import.as_deref()));
                    } else {
                        // It has its hosts.
                        rules.push(newest);
                        unready.insert(import);
                    }
                }
            }
        }
        let (gateways, mut problems) = egress_gateways(namespace, &wasm, &native, &self.model.settings);
        let (native_routes, found) = native_objects(&rules, |import| !unready.contains(&import.key));
        problems.extend(found);
        let there = |import| self.objects.observed.of_import(Kind::HttpRoute, namespace, import);
        let kept_routes = unready.into_iter().flat_map(there).collect();
        EgressObjects { gateways, native_routes, kept_routes, problems }
    }

    /// The hosts whose certificate istiod does not have, as it says of the gateway that is there.
    fn without_certificate(&self, namespace: &Arc<str>, imports: &[Key]) -> Vec<Problem> {
        let gateway = ObjectId { kind: Kind::Gateway, key: Key::new(Arc::clone(namespace), names::EGRESS_GATEWAY) };
        let live = self.objects.observed.get(&gateway);
        let Some(live) = live.filter(|live| !live.unresolved.is_empty()) else { return Vec::new() };
        let wanted = imports.iter().filter_map(|import| self.wanted(import));
        wanted.flat_map(|import| without_certificate(import, &live.unresolved)).collect()
    }

    fn write_gateways(
        &mut self,
        namespace: &Arc<str>,
        key: &ReconcileKey,
        gateways: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let known = now + self.timing.lead;
        let mut listeners = Listeners::default();
        for object in gateways {
            let ports = (object.id.kind == Kind::Gateway).then(|| names::listener_ports(&object.body));
            let gateway = Arc::clone(&object.id.key.name);
            let state = self.write(key, object, now, out);
            let Some(ports) = ports else { continue };
            let own = ports.into_iter().map(|port| (Arc::clone(&gateway), port)).collect::<Vec<_>>();
            if state == WriteState::Written {
                listeners.there.extend(own.iter().cloned());
            }
            listeners.wanted.extend(own);
            if let Some(egress) = self.egresses.get_mut(namespace) {
                egress.look(gateway, state, known);
            }
        }
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        if egress.listeners.as_ref() != Some(&listeners) {
            egress.listeners = Some(listeners);
            for import in self.imports.in_namespace(namespace).filter_map(|state| state.versions.backing()) {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import.key)));
            }
        }
    }

    /// Lets go what no gateway steers to any more.
    fn confirm(&mut self, namespace: &Arc<str>, imports: &[Key], has_filter: bool, now: Moment) {
        let grace = self.timing.grace;
        let is_behind = imports.iter().any(|import| self.is_istiod_behind(import));
        let is_there = self.is_there(&self.model.settings.filter.object_id(namespace));
        let waits = self.has(Safeguard::InForce);
        let Some(Egress { filter, .. }) = self.egresses.get_mut(namespace) else { return };
        if is_behind {
            filter.istiod_is_behind(now);
        }
        let confirmed = if !waits {
            filter.number()
        } else if (!has_filter && filter.number() == 0) || (!is_there && !filter.has_pods()) {
            // There is no gateway that could have any, and none that comes can get any: a namespace that ends loses its
            // filter in any order, and takes no other.
            u64::MAX
        } else {
            filter.confirmed(grace, now)
        };
        let look_again =
            if is_behind { Some(self.timing.look_again(now)) } else { filter.grace_ends(confirmed, grace, now) };
        if let Some(then) = look_again {
            self.queue.add_at(Work::Reconcile(ReconcileKey::egress(namespace)), then);
        }
        for import in imports {
            // Of native imports no filter tells: their routes do, once they are written.
            let is_native = self.is_native(import);
            let Some(state) = self.imports.get_mut(&import.namespace, &import.name) else { continue };
            if is_native || !has_filter {
                state.versions.list.iter_mut().filter(|version| version.stage == Stage::Ready).for_each(|version| {
                    version.first.get_or_insert(1);
                });
            }
            if !is_native && state.versions.confirm(confirmed) {
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
    pub(super) fn ask(&mut self, namespace: &Arc<str>, now: Moment, out: &mut Vec<Command>) {
        let pods = pods::serving(namespace, &self.world.snapshot);
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        egress.filter.serve(&pods);
        if pods.is_empty() {
            self.nobody_measures(namespace, now);
        } else if egress.filter.is_written() && egress.filter.asking.begin() {
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
        // Only istiod makes gateways do anything.
        self.world.has_istiod |= reports.iter().any(|(_, report)| report.is_some());
        let module = self.model.module.clone();
        let Some(egress) = self.egresses.get_mut(namespace) else { return };
        let is_due = egress.filter.asking.end();
        let before = egress.filter.progress;
        let progress = egress.filter.heard(reports);
        if egress.filter.reload.is_due(now, &module, progress) {
            tracing::info!(namespace = &**namespace, "a gateway could not fetch the module: it is told to try again");
            out.push(Command::Touch { id: self.model.settings.filter.object_id(namespace) });
        }
        let look_again = progress.look_again_after();
        let look_again = if self.measures(namespace) { look_again.min(quality::LOOK) } else { look_again };
        self.queue.add_at(Work::Ask(Arc::clone(namespace)), if is_due { now } else { now + look_again });
        self.record_measures(namespace, reports, now);
        // Also where pods say the same: istiod may be behind since, and what stood in the way may be gone.
        self.queue.add(Work::Reconcile(ReconcileKey::egress(namespace)));
        // While pods are waited for, a status may wait for nothing but time.
        if before != Some(progress) || progress.is_awaited() {
            self.report_imports(Some(namespace));
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
                let first = ReconcileKey::import(&Key::new(namespace, ""));
                let next = unseen.range(first..).next();
                !next.is_some_and(|key| *key.namespace == *namespace && matches!(key.part, super::Part::Import(_)))
            }
            Leadership::Following | Leadership::Leading => true,
        }
    }
}

fn is_gateway(object: &Object, name: &str) -> bool {
    object.id.kind == Kind::Gateway && *object.id.key.name == *name
}
