//! What is ours and nobody wants goes, once it is known what everybody wants.

use std::time::Duration;

use super::event::Command;
use super::key::ReconcileKey;
use super::safeguard::Safeguard;
use super::take_over::Found;
use super::world::Knowledge;
use super::{Leadership, Rollout, Work};
use crate::api::TIER_NAMESPACE;
use crate::emit::kubernetes::{guarded_by, names};
use crate::emit::object::{Kind, ObjectId};
use crate::moment::Moment;
use crate::snapshot::Key;

/// How soon it is looked again whether what an object guards is gone, or what takes its place is there.
const GUARD_WAIT: Duration = Duration::from_secs(1);

impl Rollout {
    /// Deletes an object if it is ours and nobody wants it.
    pub(super) fn prune(&mut self, id: ObjectId, now: Moment, out: &mut Vec<Command>) {
        if !matches!(self.leadership, Leadership::Leading) {
            // What takes over looks at everything in the end.
            return;
        }
        if self.objects.desired.owner_of(&id).is_some() {
            return;
        }
        match self.world.exports {
            Knowledge::Lost if names::is_of_exports(&id) => return,
            Knowledge::Back(since) if names::is_of_exports(&id) && now < since + self.timing.grace => {
                self.queue.add_at(Work::Prune(id), since + self.timing.grace);
                return;
            }
            Knowledge::Whole | Knowledge::Lost | Knowledge::Back(_) => {}
        }
        if self.is_held(&id, now) {
            self.queue.add_at(Work::Prune(id), now + self.timing.grace);
            return;
        }
        let is_guard = guarded_by(&id, self.model.settings.filter).is_some_and(|guarded| self.is_there(&guarded));
        if is_guard || self.is_to_be_replaced(&id) {
            self.queue.add_at(Work::Prune(id), now + GUARD_WAIT);
            return;
        }
        if let super::objects::WriteState::Failed(until) = self.objects.delete(&id, now, out) {
            self.queue.add_at(Work::Prune(id), until);
        }
    }

    /// Whether gateways may be steered to an object that one who took over has found, native routes may lead to it, or clients
    /// may call it.
    fn is_held(&self, id: &ObjectId, now: Moment) -> bool {
        if !self.has(Safeguard::Prune) {
            return false;
        }
        let Some(import) = self.objects.observed.get(id).and_then(|live| live.import.as_deref()) else { return false };
        let Some(state) = self.imports.get(&import.namespace, &import.name) else { return false };
        let is_called =
            matches!(id.kind, Kind::Service | Kind::McsServiceImport) && id.key.namespace == import.namespace;
        if is_called && (state.versions.keeps_clients() || !self.is_taken_over(&import.namespace)) {
            // It was seen after the import was looked at.
            return true;
        }
        let is_of_tier = *id.key.namespace == *TIER_NAMESPACE;
        if is_of_tier && self.may_have_older_routes(import, state, now) {
            // Of what goes on, only those stay that it is to have.
            let service = id.key.name.split('.').next().unwrap_or_default();
            let service = ObjectId { kind: Kind::Service, key: Key::new(TIER_NAMESPACE, service) };
            return id.kind != Kind::EndpointSlice || self.objects.desired.owner_of(&service).is_none();
        }
        if matches!(state.found, Found::Gone) && !state.versions.is_gone() {
            // Nobody wants it, and yet gateways may go on with it for as long as the API server refuses another filter.
            return is_behind_a_filter(id.kind);
        }
        let Some((recovered, _)) = state.versions.found() else { return false };
        let is_of = |service: &String| *id.key.name == **service || names::is_slice_of(&id.key.name, service);
        is_of_tier && recovered.services.iter().any(is_of)
    }

    /// Whether an object has endpoints of a tier service, and others that it is to have are not there yet: requests for one
    /// without any are lost.
    fn is_to_be_replaced(&self, id: &ObjectId) -> bool {
        let is_of_tier = id.kind == Kind::EndpointSlice && *id.key.namespace == *TIER_NAMESPACE;
        let live = self.objects.observed.get(id).filter(|_| is_of_tier);
        let Some(import) = live.and_then(|live| live.import.as_deref()) else { return false };
        let service = id.key.name.split('.').next().unwrap_or_default();
        let others = self.objects.desired.objects_of(&ReconcileKey::import(import)).iter();
        let mut others = others.filter(|other| other.kind == id.kind && names::is_slice_of(&other.key.name, service));
        others.any(|other| !self.is_there(other))
    }

    /// Everything has been looked at: what of ours nobody wants goes. What filters of before may steer to stays for as long
    /// as gateways may have these.
    pub(super) fn finish_take_over(&mut self, now: Moment) {
        let Leadership::TakingOver(unseen) = &self.leadership else { return };
        if !unseen.is_empty() {
            return;
        }
        self.leadership = Leadership::Leading;
        let grace = self.timing.grace;
        let unwanted: Vec<_> = Kind::ALL.into_iter().flat_map(|kind| self.objects.observed.ours(kind)).collect();
        for id in unwanted.into_iter().filter(|id| self.objects.desired.owner_of(id).is_none()) {
            let waits = is_behind_a_filter(id.kind) && self.has(Safeguard::Prune);
            let then = if waits { now + grace } else { now };
            self.queue.add_at(Work::Prune(id), then);
        }
    }
}

/// Whether a filter may steer to objects of a kind, or to what is behind them.
fn is_behind_a_filter(kind: Kind) -> bool {
    match kind {
        Kind::ReferenceGrant | Kind::DestinationRule | Kind::Service | Kind::EndpointSlice | Kind::HttpRoute => true,
        Kind::ConfigMap
        | Kind::AuthorizationPolicy
        | Kind::Telemetry
        | Kind::WasmPlugin
        | Kind::TrafficExtension
        | Kind::Gateway
        | Kind::McsServiceImport
        | Kind::ClusterConnection
        | Kind::WanCluster
        | Kind::ExportedEndpoints
        | Kind::ExportedService => false,
    }
}
