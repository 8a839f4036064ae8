//! Exports: other clusters hear of a port of one when its gateways know the route.
//!
//! The registry and a gateway's routes are two channels that know nothing of each other. Where an export comes back, or has
//! one more port, pods of its gateway are ready already: they would answer 404 to a cluster that hears of it before they
//! have the route.

use super::event::Command;
use super::key::{Part, ReconcileKey};
use super::safeguard::Safeguard;
use super::stage::StageProgress;
use super::{Rollout, Work};
use crate::api::{ExportedPort, REGISTRY_NAMESPACE};
use crate::emit::kubernetes::{export_objects, published_object};
use crate::emit::object::{Kind, ObjectId};
use crate::moment::Moment;
use crate::snapshot::Key;
use crate::status::{Subject, refusal_ahead};

/// What other clusters are told of an export.
#[derive(Debug, Default)]
pub(super) struct Announcement {
    /// The ports that they know, or are being told.
    ports: Vec<ExportedPort>,
    /// How far the routes are of ports that they are to know.
    pub(super) routes: Option<StageProgress>,
}

impl Rollout {
    pub(super) fn reconcile_export(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        let Part::Export(name) = &key.part else { return };
        let exported = self.model.translator.local_exports().get(&key.namespace, name).cloned();
        let objects = exported.iter().flat_map(|exported| export_objects(exported, &self.model.settings));
        let (told, routes): (Vec<_>, Vec<_>) = objects.partition(|object| object.id.kind == Kind::ExportedService);
        let ids: Vec<_> = routes.iter().chain(&told).map(|object| object.id.clone()).collect();
        self.consists_of(key, &ids, now);
        let is_written = self.write_each(key, routes, now, out);
        let (Some(mut exported), [published]) = (exported, &*told) else {
            self.announcements.remove(key);
            return;
        };
        let known = self.announced_ports(key, &published.id);
        // A port that is not HTTP's has no route, but an export that is new is told with all its ports.
        let is_known = |port: &ExportedPort| {
            let is_it = |known: &ExportedPort| known.number() == port.number() && known.is_http();
            if port.is_http() { known.iter().any(is_it) } else { !known.is_empty() }
        };
        if exported.ports.iter().all(is_known) {
            self.announcements.entry(key.clone()).or_default().routes = None;
        } else if self.has(Safeguard::Announcement) && !self.is_routed(key, is_written, now) {
            // What else there is to tell of it does not wait for ports that are new; where all are, those of before are told.
            exported.ports.retain(is_known);
            if exported.ports.is_empty() {
                exported.ports = known;
            }
        }
        self.announcements.entry(key.clone()).or_default().ports.clone_from(&exported.ports);
        self.write_each(key, published_object(&exported, &self.model.settings).into_iter().collect(), now, out);
    }

    /// The ports of an export that other clusters know, or are being told.
    fn announced_ports(&self, key: &ReconcileKey, published: &ObjectId) -> Vec<ExportedPort> {
        if !self.is_there(published) && !self.objects.is_on_its_way(published) {
            return Vec::new();
        }
        if let Some(announcement) = self.announcements.get(key) {
            return announcement.ports.clone();
        }
        // Who takes over goes by what the registry has.
        let Key { namespace, name } = &published.key;
        let known = self.world.snapshot.exported_services.get(namespace, name);
        known.map(|known| known.spec.ports.clone()).unwrap_or_default()
    }

    /// Whether gateways know the routes of an export whose ports are to be announced.
    fn is_routed(&mut self, key: &ReconcileKey, is_written: bool, now: Moment) -> bool {
        let istiod = self.istiod_on(self.objects.desired.objects_of(key));
        let routes = &mut self.announcements.entry(key.clone()).or_default().routes;
        // Routes that are being written may be others than gateways have heard of.
        let progress = routes.take().filter(|_| is_written);
        let progress = routes.insert(progress.unwrap_or_else(|| StageProgress::begin(now)));
        progress.look(is_written, istiod, now);
        let Some(until) = progress.known(self.timing) else { return false };
        if until > now {
            self.queue.add_at(Work::Reconcile(key.clone()), until);
        }
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
