//! Exports: other clusters hear of one when its gateways know the route.
//!
//! The registry and a gateway's routes are two channels that know nothing of each other. Where an export comes back, pods
//! of its gateway are ready already: they would answer 404 to a cluster that hears of the export before they have the
//! route.

use super::event::Command;
use super::key::{Part, ReconcileKey};
use super::safeguard::Safeguard;
use super::stage::StageProgress;
use super::{Rollout, Work};
use crate::api::REGISTRY_NAMESPACE;
use crate::emit::kubernetes::export_objects;
use crate::emit::object::Kind;
use crate::moment::Moment;
use crate::status::{Subject, refusal_ahead};

impl Rollout {
    pub(super) fn reconcile_export(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        let Part::Export(name) = &key.part else { return };
        let outgoing = self.model.translator.outgoing().get(&key.namespace, name);
        let exported = outgoing.filter(|outgoing| outgoing.is_exported());
        let objects = exported.map(|outgoing| export_objects(outgoing, &self.model.settings)).unwrap_or_default();
        let ids: Vec<_> = objects.iter().map(|object| object.id.clone()).collect();
        self.consists_of(key, &ids, now);
        let (told, routes): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|object| object.id.kind == Kind::ExportedService);
        let is_known = told.iter().all(|object| self.is_there(&object.id));
        let is_written = self.write_each(key, routes, now, out);
        if is_known || !self.has(Safeguard::Announcement) || self.is_routed(key, is_written, now) {
            self.announcements.remove(key);
            self.write_each(key, told, now, out);
        }
    }

    /// Whether gateways know the routes of an export that is to be announced.
    fn is_routed(&mut self, key: &ReconcileKey, is_written: bool, now: Moment) -> bool {
        let istiod = self.istiod_on(self.objects.desired.objects_of(key));
        let progress = self.announcements.entry(key.clone()).or_insert_with(|| StageProgress::begin(now));
        if !is_written {
            // These may be others than gateways have heard of.
            *progress = StageProgress::begin(now);
        }
        progress.look(is_written, istiod, now);
        let Some(until) = progress.known(self.timing) else { return false };
        self.queue.add_at(Work::Reconcile(key.clone()), until.max(now));
        until <= now
    }

    /// Tells those whose exports a stale cluster calls that its gateways will be refused.
    pub(super) fn warn_of_refusal(&self, cluster: &str, out: &mut Vec<Command>) {
        let snapshot = &self.world.snapshot;
        let Some(after) = self.model.translator.stale_gateways() else { return };
        let is_ahead = snapshot.stale_clusters.contains(cluster) && !snapshot.refused_clusters.contains(cluster);
        let Some(known) = snapshot.wan_clusters.get(REGISTRY_NAMESPACE, cluster).filter(|_| is_ahead) else { return };
        for gateway in &known.spec.egress_gateways {
            for export in snapshot.service_exports.in_namespace(&gateway.namespace) {
                let subject = Subject::service_export(export);
                let patch = refusal_ahead(subject, self.conditions.mcs_version, cluster, after);
                out.push(Command::Tell { patch });
            }
        }
    }
}
