//! What is said of the user's objects, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use mcwan_core::api::{DataPlane, McsVersion, ServiceImportStatus, WanPolicyStatus};
use mcwan_core::emit::kubernetes::Settings;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::liveness::RegistryState;
use mcwan_core::outcome::{NAMESPACE_TERMINATING, Outcome};
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::change::Change;
use mcwan_core::snapshot::{Key, Snapshot};
use mcwan_core::status::{self, Delivery, GatewayState, ModuleState, StatusKind, StatusPatch, Subject};
use mcwan_core::translate::gateway_pods::{NATIVE_EGRESS_GATEWAY, gateway_of, is_ready};
use mcwan_core::translate::{Affected, Import, Translator};
use serde::Deserialize;

use super::agenda::Agenda;
use super::desired::Desired;
use super::outcomes;
use super::polling::Polling;
use super::unit::{Part, Unit};
use crate::admin::Metrics;
use crate::apply::{Applier, Status};
use crate::events::Events;
use crate::module::ModuleStatus;

/// How many statuses are written in one round.
const BATCH: usize = 256;

/// The objects whose status is to be looked at.
pub(super) struct Statuses {
    pub(super) mcs_version: McsVersion,
    pub(super) module: ModuleStatus,
    registry: RegistryState,
    events: Events,
    due: BTreeSet<Target>,
    /// Those that the API server refused.
    later: BTreeMap<Target, Instant>,
    /// Where the API server does not answer, none is written before then.
    not_before: Option<Instant>,
}

/// An object that has a status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Policy(Key),
    Import(Key),
    Export(Key),
}

/// What statuses are made of.
pub(super) struct Known<'k> {
    pub(super) translator: &'k Translator,
    pub(super) agenda: &'k Agenda,
    pub(super) desired: &'k Desired,
    pub(super) failures: &'k HashMap<ObjectId, Outcome>,
    pub(super) problems: &'k BTreeMap<Unit, Vec<Problem>>,
    pub(super) unseen: &'k BTreeSet<Unit>,
    pub(super) settings: &'k Settings,
    pub(super) polling: &'k Polling,
}

impl Statuses {
    pub(super) fn new(events: Events) -> Self {
        Self {
            mcs_version: McsVersion::default(),
            module: ModuleStatus::default(),
            registry: RegistryState::default(),
            events,
            due: BTreeSet::new(),
            later: BTreeMap::new(),
            not_before: None,
        }
    }

    /// Changes may have changed what is said.
    pub(super) fn concern(&mut self, changes: &[Change], affected: &Affected, snapshot: &Snapshot) {
        let touched = changes.iter().filter_map(|change| match change {
            Change::ImportStatus(key) => Some(Target::Import(key.clone())),
            _ => None,
        });
        self.due.extend(touched);
        self.due.extend(affected.exports.iter().cloned().map(Target::Export));
        if affected.tiers {
            self.due.extend(snapshot.wan_policies.iter().map(|policy| Target::Policy(Key::of(&policy.metadata))));
        }
    }

    /// A unit was looked at.
    pub(super) fn looked_at(&mut self, unit: &Unit, snapshot: &Snapshot) {
        let Unit { namespace, part } = unit;
        match part {
            Part::Common | Part::Cluster => {}
            Part::Import(name) => {
                self.due.insert(Target::Import(Key::new(Arc::clone(namespace), Arc::clone(name))));
            }
            Part::Export(name) => {
                self.due.insert(Target::Export(Key::new(Arc::clone(namespace), Arc::clone(name))));
            }
            Part::Egress => {
                let readable = snapshot.service_imports.in_namespace(namespace).map(|import| &import.metadata);
                let unreadable = snapshot.unreadable_imports.in_namespace(namespace).map(|import| &import.metadata);
                self.due.extend(readable.chain(unreadable).map(Key::of).map(Target::Import));
            }
            Part::Ingress => {
                let exports = snapshot.service_exports.in_namespace(namespace);
                self.due.extend(exports.map(|export| Target::Export(Key::of(&export.metadata))));
                self.due.extend(snapshot.wan_policies.iter().map(|policy| Target::Policy(Key::of(&policy.metadata))));
            }
        }
    }

    /// Whether the module can be fetched has changed.
    pub(super) fn module_changed(&mut self, module: ModuleStatus, snapshot: &Snapshot) {
        self.module = module;
        self.look_at_imports(snapshot);
    }

    /// Whether the registry can be reached has changed.
    pub(super) fn registry_changed(&mut self, registry: RegistryState, snapshot: &Snapshot) {
        self.registry = registry;
        self.look_at_all(snapshot);
    }

    /// What is said of every import and export may have changed.
    pub(super) fn look_at_all(&mut self, snapshot: &Snapshot) {
        self.look_at_imports(snapshot);
        self.due.extend(snapshot.service_exports.iter().map(|export| Target::Export(Key::of(&export.metadata))));
    }

    fn look_at_imports(&mut self, snapshot: &Snapshot) {
        let readable = snapshot.service_imports.iter().map(|import| &import.metadata);
        let unreadable = snapshot.unreadable_imports.values().map(|import| &import.metadata);
        self.due.extend(readable.chain(unreadable).map(Key::of).map(Target::Import));
    }

    /// When statuses are to be written that wait.
    pub(super) fn next(&self) -> Option<Instant> {
        let all = self.not_before.filter(|_| !self.due.is_empty());
        self.later.values().copied().chain(all).min()
    }

    /// Whether statuses are to be written at once.
    pub(super) fn is_due(&self) -> bool {
        let now = Instant::now();
        let can_be = self.not_before.is_none_or(|then| then <= now);
        can_be && (!self.due.is_empty() || self.later.values().any(|then| *then <= now))
    }

    /// Writes the statuses that are to be, but those of objects that will be looked at soon.
    pub(super) async fn report(
        &mut self,
        known: &Known<'_>,
        snapshot: &mut Snapshot,
        applier: &Applier,
        metrics: &Metrics,
    ) {
        if !self.is_due() {
            return;
        }
        self.not_before = None;
        let moment = Instant::now();
        self.due.extend(self.later.extract_if(.., |_, then| *then <= moment).map(|(target, _)| target));
        let now = Time(Timestamp::now());
        // Once what they wait for has been looked at, they are due again.
        let waits = |target: &Target| known.awaits(target, &self.module);
        let due = std::mem::take(&mut self.due).into_iter().filter(|target| !waits(target)).collect::<Vec<_>>();
        let mut patches: [BTreeMap<Key, (Target, StatusPatch)>; 3] = Default::default();
        for target in due {
            if patches.iter().map(BTreeMap::len).sum::<usize>() >= BATCH {
                self.due.insert(target);
            } else if let Some(patch) = self.patch(&target, known, snapshot, &now) {
                let [policies, imports, exports] = &mut patches;
                let of_kind = match target {
                    Target::Policy(_) => policies,
                    Target::Import(_) => imports,
                    Target::Export(_) => exports,
                };
                of_kind.insert(patch.key.clone(), (target, patch));
            }
        }
        for patches in patches {
            self.write(patches, snapshot, applier, metrics).await;
        }
    }

    /// Writes the statuses of objects of one kind.
    async fn write(
        &mut self,
        mut patches: BTreeMap<Key, (Target, StatusPatch)>,
        snapshot: &mut Snapshot,
        applier: &Applier,
        metrics: &Metrics,
    ) {
        let statuses = patches.values().map(|(_, patch)| status_of(patch)).collect();
        for (key, outcome) in applier.apply_statuses(statuses).await {
            let Some((target, patch)) = patches.remove(&key) else { continue };
            outcomes::note(metrics, "status not written", patch.kind.name(), &key, &outcome);
            match outcome {
                Outcome::Applied => {
                    remember(snapshot, &patch);
                    self.events.publish(&patch);
                }
                Outcome::Retry { .. } | Outcome::NotLeading => {
                    self.due.insert(target);
                    self.not_before = Some(Instant::now() + outcome.retry_after().unwrap_or_default());
                }
                Outcome::Refused { .. } | Outcome::Conflict => {
                    self.later.insert(target, Instant::now() + outcome.retry_after().unwrap_or_default());
                }
                Outcome::Same | Outcome::Deleted => {}
            }
        }
    }

    fn patch(&self, target: &Target, known: &Known<'_>, snapshot: &Snapshot, now: &Time) -> Option<StatusPatch> {
        let exports = known.translator.exports();
        match target {
            Target::Policy(key) => {
                let policy = snapshot.wan_policies.get(&key.namespace, &key.name)?;
                let emitted: Vec<_> = known.problems.values().flatten().cloned().collect();
                status::wan_policy(Subject::wan_policy(policy), exports, &emitted, now)
            }
            Target::Import(key) => {
                let unreadable = snapshot.unreadable_imports.get(&key.namespace, &key.name);
                let readable = snapshot.service_imports.get(&key.namespace, &key.name);
                let subject = match (readable, unreadable) {
                    (Some(import), _) => Subject::service_import(import),
                    (None, Some(unreadable)) => {
                        Subject { metadata: &unreadable.metadata, conditions: &unreadable.conditions }
                    }
                    (None, None) => return None,
                };
                let import = known.translator.imports().get(&key.namespace, &key.name)?;
                let mut delivery = known.delivery_of_import(import, &self.module, snapshot);
                delivery.registry = self.registry.clone();
                status::service_import(subject, import, exports, &known.problems_of_import(key), &delivery, now)
            }
            Target::Export(key) => {
                let export = snapshot.service_exports.get(&key.namespace, &key.name)?;
                let outgoing = known.translator.outgoing().get(&key.namespace, &key.name)?;
                let mut delivery =
                    known.delivery(&known.objects_of_units(&[Unit::export(key), Unit::ingress(&key.namespace)]));
                delivery.registry = self.registry.clone();
                status::service_export(
                    Subject::service_export(export),
                    self.mcs_version,
                    outgoing,
                    exports,
                    &delivery,
                    now,
                )
            }
        }
    }
}

impl Known<'_> {
    /// Whether what an object causes has still to be looked at, the module and the gateways for the first time
    /// included: after a restart, what was said before holds until they are. The filter may wait for a route for as long
    /// as that cannot be written, which must be said meanwhile.
    fn awaits(&self, target: &Target, module: &ModuleStatus) -> bool {
        match target {
            Target::Policy(_) => false,
            Target::Import(key) => {
                let import = self.translator.imports().get(&key.namespace, &key.name);
                let has_failed = || import.is_some_and(|import| self.has_failed(import));
                let unit = Unit::import(key);
                self.agenda.awaits(&unit)
                    || self.unseen.contains(&unit)
                    || (self.agenda.awaits(&Unit::egress(&key.namespace)) && !has_failed())
                    || *module == ModuleStatus::Unknown
                    || self.polling.awaits(&key.namespace)
            }
            Target::Export(key) => {
                self.agenda.awaits(&Unit::export(key)) || self.agenda.awaits(&Unit::ingress(&key.namespace))
            }
        }
    }

    fn problems_of_import(&self, key: &Key) -> Vec<Problem> {
        let units = [Unit::import(key), Unit::egress(&key.namespace)];
        units.iter().filter_map(|unit| self.problems.get(unit)).flatten().cloned().collect()
    }

    fn delivery_of_import(&self, import: &Import, module: &ModuleStatus, snapshot: &Snapshot) -> Delivery {
        let key = import.key();
        let mut delivery = self.delivery(&self.objects_of(import));
        match self.settings.data_plane(import) {
            DataPlane::Wasm => {
                delivery.module = match module {
                    ModuleStatus::Unknown => ModuleState::Unknown,
                    ModuleStatus::Ok => ModuleState::Fetchable,
                    ModuleStatus::Failed(error) => {
                        let (module, reason) = (&self.settings.module, error.reason());
                        ModuleState::NotFetched(format!("module {module}: {reason}: {error}"))
                    }
                };
                delivery.gateways = self.polling.state(&key.namespace);
            }
            DataPlane::Native => {
                let namespace = &key.namespace;
                let mut pods = snapshot.gateway_pods.in_namespace(namespace);
                if !pods.any(|pod| gateway_of(pod) == Some(NATIVE_EGRESS_GATEWAY) && is_ready(pod)) {
                    let message = format!("no pod of Gateway {namespace}/{NATIVE_EGRESS_GATEWAY} is ready");
                    delivery.gateways = GatewayState::Waiting(message);
                }
            }
        }
        delivery
    }

    fn objects_of_units(&self, units: &[Unit; 2]) -> Vec<&ObjectId> {
        units.iter().flat_map(|unit| self.desired.objects_of(unit)).collect()
    }

    /// What an import needs: its own, and of what the imports of its namespace share what is not for others.
    fn objects_of(&self, import: &Import) -> Vec<&ObjectId> {
        let key = import.key();
        let gateway = self.settings.egress_gateway(import);
        let is_needed = |id: &&ObjectId| match id.kind {
            Kind::Gateway | Kind::ConfigMap => *id.key.name == *gateway,
            Kind::WasmPlugin | Kind::TrafficExtension => self.settings.data_plane(import) == DataPlane::Wasm,
            _ => self.desired.may_be_for(id, &key.name),
        };
        let mut objects = self.objects_of_units(&[Unit::import(&key), Unit::egress(&key.namespace)]);
        objects.retain(is_needed);
        objects
    }

    /// Whether something that an import needs is not as it should be.
    fn has_failed(&self, import: &Import) -> bool {
        !self.failures.is_empty() && self.objects_of(import).into_iter().any(|id| self.failures.contains_key(id))
    }

    /// How far objects have come. What the whole cluster shares counts only where it is not taken: it may be on its way
    /// to a registry that is away, and works as it was meanwhile.
    fn delivery(&self, objects: &[&ObjectId]) -> Delivery {
        let mut delivery = Delivery { gateways: GatewayState::InForce, ..Delivery::default() };
        if self.failures.is_empty() {
            return delivery;
        }
        let shared = self.objects_of_units(&Unit::shared());
        let shared = shared.into_iter().filter(|id| self.failures.get(id).is_some_and(Outcome::is_lasting));
        for id in objects.iter().copied().chain(shared) {
            match self.failures.get(id) {
                Some(Outcome::Conflict) => delivery.conflicts.push(id.clone()),
                Some(Outcome::Refused { message, .. }) => delivery.refused.push((id.clone(), message.clone())),
                // It may take long, as somebody's finalizer may keep the namespace.
                Some(Outcome::Retry { reason, message, .. }) if *reason == NAMESPACE_TERMINATING => {
                    delivery.refused.push((id.clone(), message.clone()));
                }
                Some(Outcome::Retry { .. } | Outcome::NotLeading) => delivery.pending.push(id.clone()),
                Some(Outcome::Same | Outcome::Applied | Outcome::Deleted) | None => {}
            }
        }
        delivery
    }
}

fn status_of(patch: &StatusPatch) -> Status {
    Status { resource: patch.kind.api_resource(), key: patch.key.clone(), status: patch.body["status"].clone() }
}

/// Takes note of conditions that were written: their echo may be long in coming.
fn remember(snapshot: &mut Snapshot, patch: &StatusPatch) {
    let Ok(written) = Vec::<Condition>::deserialize(&patch.body["status"]["conditions"]) else { return };
    let Key { namespace, name } = &patch.key;
    match patch.kind {
        StatusKind::ServiceImport => {
            if let Some(import) = snapshot.service_imports.get_mut(namespace, name) {
                import.status = Some(ServiceImportStatus { conditions: written });
            } else if let Some(unreadable) = snapshot.unreadable_imports.get_mut(namespace, name) {
                unreadable.conditions = written;
            }
        }
        StatusKind::WanPolicy => {
            if let Some(policy) = snapshot.wan_policies.get_mut(namespace, name) {
                policy.status = Some(WanPolicyStatus { conditions: written });
            }
        }
        StatusKind::ServiceExport(_) => {
            if let Some(export) = snapshot.service_exports.get_mut(namespace, name) {
                let conditions = &mut export.status.conditions;
                conditions.retain(|known| !written.iter().any(|new| new.type_ == known.type_));
                conditions.extend(written);
            }
        }
    }
}
