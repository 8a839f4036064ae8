//! From what watches saw to work.

use std::sync::Arc;

use super::event::WatchEvent;
use super::key::ReconcileKey;
use super::{Leadership, Rollout, Work};
use crate::emit::kubernetes::FilterKind;
use crate::emit::object::ObjectId;
use crate::moment::Moment;
use crate::snapshot::change::Change;

impl Rollout {
    /// Takes in what a watch saw, and queues what it concerns.
    pub(super) fn watched(&mut self, event: WatchEvent, now: Moment) {
        if let WatchEvent::Deleted { kind, key, version: Some(version) } = &event
            && let Some(kind) = kind.emitted()
        {
            self.objects.saw_deletion(&ObjectId { kind, key: key.clone() }, *version);
        }
        let news = self.world.update(event, &mut self.objects.observed, now);
        if let Some(version) = news.mcs_version {
            self.conditions.mcs_version = version;
            self.model.translator.serve_mcs(version);
        }
        if let Some(has_them) = news.has_mcs_imports.filter(|has_them| *has_them != self.model.settings.has_mcs_imports)
        {
            self.model.settings.has_mcs_imports = has_them;
            let imports: Vec<_> = self.model.translator.imports().iter().map(|(key, _)| key).collect();
            for import in imports {
                self.queue.add(Work::Reconcile(ReconcileKey::import(&import)));
            }
        }
        if let Some(has_them) = news.has_connections.filter(|has_them| *has_them != self.model.settings.has_connections)
        {
            self.model.settings.has_connections = has_them;
            self.queue.add(Work::Reconcile(ReconcileKey::connections()));
        }
        if matches!(self.leadership, Leadership::Following) {
            return;
        }
        for id in news.touched {
            self.look_at(id);
        }
        self.changes.extend(news.changes);
    }

    /// Works out what watches have seen to change since it last did: once, however much that is.
    pub(super) fn take_in(&mut self, now: Moment) {
        let changes: Vec<_> = std::mem::take(&mut self.changes).into_iter().collect();
        self.update(&changes, now);
    }

    /// Looks at an object again: for whom it belongs to, or whether nobody wants it by now.
    pub(super) fn look_at(&mut self, id: ObjectId) {
        if let Some(key) = self.objects.desired.owner_of(&id) {
            return self.queue.add(Work::Reconcile(key.clone()));
        }
        if FilterKind::rival(&id) == Some(self.model.settings.filter.object_id(&id.key.namespace)) {
            // The filter that takes its place may have waited for it to go.
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&id.key.namespace)));
        }
        self.queue.add_unplanned(Work::Prune(id));
    }

    /// Works out what changes concern, and gives it.
    pub(super) fn update(&mut self, changes: &[Change], now: Moment) -> Vec<ReconcileKey> {
        if changes.is_empty() {
            return Vec::new();
        }
        let affected = self.model.translator.update(&self.world.snapshot, changes);
        self.report_affected(changes, &affected);
        self.admit_anew(&affected, now);
        for change in changes {
            match change {
                Change::GatewayPods(namespace) => {
                    self.pods_changed(namespace, now);
                    self.await_admission(namespace, now);
                }
                // A `ServiceImport` shows them, and slices belong to it.
                Change::Addresses(import) => {
                    self.queue.add(Work::Reconcile(ReconcileKey::import(import)));
                    self.queue.add(Work::Reconcile(ReconcileKey::slices(import)));
                }
                // The registry may have an export that is not known here yet.
                Change::McsImportStatus(service) | Change::RemoteEndpoints(service) | Change::Endpoints(service) => {
                    self.queue.add(Work::Reconcile(ReconcileKey::slices(service)));
                }
                Change::Liveness(cluster) => self.queue.add(Work::Warn(Arc::clone(cluster))),
                Change::Cluster(_) | Change::ConnectionPolicies => {
                    self.queue.add(Work::Reconcile(ReconcileKey::connections()));
                }
                _ => {}
            }
        }
        if !self.readiness.pods.is_empty() && !affected.egress.is_empty() {
            self.queue.add(Work::Admit);
        }
        self.callers_changed(changes);
        let keys = ReconcileKey::affected(&affected);
        for key in &keys {
            self.queue.add(Work::Reconcile(key.clone()));
        }
        keys
    }
}
