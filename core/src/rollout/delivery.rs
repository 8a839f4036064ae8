//! How far what an import or an export needs has come.

use super::Rollout;
use super::event::ModuleVerdict;
use super::gate::Gate;
use super::key::ReconcileKey;
use super::stage::Stage;
use super::version::{MOST_VERSIONS, Versions};
use crate::api::DataPlane;
use crate::emit::kubernetes::names;
use crate::emit::object::{Kind, ObjectId};
use crate::moment::Moment;
use crate::outcome::WriteOutcome;
use crate::problem::{Problem, Reason};
use crate::snapshot::Key;
use crate::status::{Delivery, GatewayState, ModuleState};
use crate::translate::Import;

impl Rollout {
    /// What is wrong with an import and with those that it shares a gateway with. Many may be: nobody copies them.
    pub(super) fn problems_of(&self, import: &Key) -> impl Iterator<Item = &Problem> {
        let keys = [ReconcileKey::import(import), ReconcileKey::egress(&import.namespace)];
        keys.into_iter().filter_map(|key| self.model.problems.get(&key)).flatten()
    }

    /// How far it is for the rules of an import.
    pub(super) fn delivery_of_import(&self, import: &Import, now: Moment) -> Delivery {
        self.delivery_by_gateways(import, self.needs_of(import), now)
    }

    /// How far it is for clients that know a service by its name in all clusters.
    pub(super) fn delivery_to_clients(&self, import: &Import, now: Moment) -> Delivery {
        self.delivery_by_gateways(import, self.needs_of_clients(import), now)
    }

    fn delivery_by_gateways(&self, import: &Import, needs: Vec<&ObjectId>, now: Moment) -> Delivery {
        let key = import.key.clone();
        let mut delivery = self.delivery(needs);
        let versions = self.imports.get(&key.namespace, &key.name).map(|state| &state.versions);
        let data_plane = self.model.settings.data_plane(import);
        if data_plane == DataPlane::Wasm {
            let module = &self.model.settings.module;
            delivery.module = match &self.model.module {
                ModuleVerdict::Unchecked => ModuleState::Unknown,
                ModuleVerdict::Sound => ModuleState::Fetchable,
                ModuleVerdict::NotFetched(why) | ModuleVerdict::Unsound(why) => {
                    ModuleState::NotFetched(format!("module {module}: {why}"))
                }
            };
        }
        delivery.gateways = match data_plane {
            _ if import.ports.is_empty() && !import.direct.is_empty() => GatewayState::InForce,
            _ if import.ports.is_empty() => GatewayState::Waiting("no gateway serves it, as it has no port".to_owned()),
            DataPlane::Wasm => self.gateways_state(import, versions),
            DataPlane::Native => self.native_gateways_state(import, now),
        };
        delivery
    }

    /// Whether gateways do what the newest version of an import says; else what is waited for.
    fn gateways_state(&self, import: &Import, versions: Option<&Versions>) -> GatewayState {
        let waiting = |what: &str| GatewayState::Waiting(what.to_owned());
        let namespace = &import.key.namespace;
        let gateway = format!("Gateway {namespace}/{}", names::EGRESS_GATEWAY);
        let Some(egress) = self.egresses.get(namespace) else { return waiting("nothing was sent to the gateway yet") };
        let Some(newest) = versions.and_then(Versions::newest) else {
            return waiting("nothing was sent to the gateway yet");
        };
        if newest.import.as_deref() != Some(import) && versions.is_some_and(Versions::is_at_limit) {
            let message = format!("a pod of {gateway} is {MOST_VERSIONS} changes behind: newer ones wait for it");
            return GatewayState::Failed(message);
        }
        if let Some(awaited) = newest.stage.awaited() {
            return waiting(awaited);
        }
        let filter = &egress.filter;
        match (&newest.stage, newest.first) {
            (Stage::Ready, _) if !newest.missing.is_empty() => {
                waiting("gateways are being told of routes that were late")
            }
            (Stage::Ready, None) => match self.gate(namespace) {
                Gate::Open => waiting("the filter is about to be told of it"),
                gate => GatewayState::Waiting(format!("the filter is not told of it: {gate}")),
            },
            _ if !filter.has_ready_pods() => GatewayState::Waiting(format!("no pod of {gateway} is ready")),
            (Stage::Ready, Some(first)) if filter.is_in_force(first) => GatewayState::InForce,
            _ => match filter.progress {
                None => GatewayState::Waiting(format!("{gateway} is being asked")),
                Some(progress) => {
                    let all = progress.in_force + progress.awaited + progress.failing + progress.unknown;
                    if progress.failing > 0 {
                        let failing = progress.failing;
                        GatewayState::Failed(format!("{failing} of {all} pods of {gateway} could not fetch the module"))
                    } else {
                        GatewayState::Waiting(format!(
                            "{} of {all} pods of {gateway} have the rules in force, {} cannot be asked",
                            progress.in_force, progress.unknown
                        ))
                    }
                }
            },
        }
    }

    pub(super) fn objects_of_keys(&self, keys: &[ReconcileKey; 2]) -> Vec<&ObjectId> {
        keys.iter().flat_map(|key| self.objects.desired.objects_of(key)).collect()
    }

    /// What an import needs: its own, and of what the imports of its namespace share what is not for others.
    fn needs_of(&self, import: &Import) -> Vec<&ObjectId> {
        let key = import.key.clone();
        let settings = &self.model.settings;
        let gateway = settings.egress_gateway(import);
        let is_native = settings.data_plane(import) == DataPlane::Native;
        let mut objects = self.objects_of_keys(&[ReconcileKey::import(&key), ReconcileKey::egress(&key.namespace)]);
        objects.retain(|id| match id.kind {
            Kind::Gateway | Kind::ConfigMap => *id.key.name == *gateway,
            Kind::WasmPlugin | Kind::TrafficExtension => !is_native,
            // The routes of native imports are among what these share.
            Kind::HttpRoute => names::is_route_of(&id.key.name, &key.name),
            // Gateways do without it: but that somebody else has the name is told.
            Kind::McsServiceImport => self.objects.failure(id) == Some(&WriteOutcome::Conflict),
            _ => true,
        });
        objects
    }

    /// What an export needs, what of its pods other clusters are not told, and what shows its service to clients here where
    /// somebody else has the names: a `ServiceImport` of ours is then not there to tell it.
    pub(super) fn needs_of_export(&self, export: &Key) -> Vec<&ObjectId> {
        let keys = [ReconcileKey::export(export), ReconcileKey::ingress(&export.namespace)];
        let shown = self.objects_of_keys(&[ReconcileKey::import(export), ReconcileKey::slices(export)]);
        let shown = shown.into_iter().filter(|id| match id.kind {
            Kind::ExportedEndpoints => self.is_lost(id),
            Kind::Service | Kind::McsServiceImport | Kind::EndpointSlice => {
                id.key.namespace == export.namespace && self.objects.failure(id) == Some(&WriteOutcome::Conflict)
            }
            _ => false,
        });
        self.objects_of_keys(&keys).into_iter().chain(shown).collect()
    }

    /// What clients of a service need: what its import does, and of its pods' slices those that are not taken. These are
    /// written all the time, so that one is on its way is no news.
    fn needs_of_clients(&self, import: &Import) -> Vec<&ObjectId> {
        let slices = self.objects.desired.objects_of(&ReconcileKey::slices(&import.key)).iter();
        let lost = slices.filter(|id| id.kind == Kind::EndpointSlice && self.is_lost(id));
        self.needs_of(import).into_iter().chain(lost).collect()
    }

    /// Whether an object will not be there unless somebody does something.
    pub(super) fn is_lost(&self, id: &ObjectId) -> bool {
        self.objects.failure(id).is_some_and(WriteOutcome::is_lasting)
    }

    /// Whether something that an import needs is not as it should be.
    pub(super) fn has_failed(&self, import: &Key) -> bool {
        let import = self.model.translator.imports().get(&import.namespace, &import.name);
        !self.objects.is_sound()
            && import.is_some_and(|import| self.needs_of(import).iter().any(|id| self.objects.failure(id).is_some()))
    }

    /// How far objects have come. What the whole cluster shares counts only where it is not taken: it may be on its way
    /// to a registry that is away, and works as it was meanwhile.
    pub(super) fn delivery(&self, objects: Vec<&ObjectId>) -> Delivery {
        let registry = self.conditions.registry.clone();
        let mut delivery = Delivery { gateways: GatewayState::InForce, registry, ..Delivery::default() };
        let shared = self.objects_of_keys(&ReconcileKey::shared());
        for id in objects.into_iter().chain(shared.into_iter().filter(|id| self.is_lost(id))) {
            match self.objects.failure(id) {
                Some(WriteOutcome::Conflict) => delivery.conflicts.push(id.clone()),
                Some(WriteOutcome::Refused { message, .. }) => delivery.refused.push((id.clone(), message.clone())),
                // It may take long, as somebody's finalizer may keep the namespace.
                Some(WriteOutcome::Retry { reason, message, .. }) if *reason == Reason::NamespaceTerminating => {
                    delivery.refused.push((id.clone(), message.clone()));
                }
                Some(WriteOutcome::Retry { .. } | WriteOutcome::NotLeading) => delivery.pending.push(id.clone()),
                None if self.objects.is_on_its_way(id) => delivery.pending.push(id.clone()),
                Some(WriteOutcome::Applied | WriteOutcome::Deleted) | None => {}
            }
        }
        delivery
    }
}
