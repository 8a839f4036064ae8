//! What a cluster has once, and what the exports of a namespace share.

use std::collections::BTreeSet;

use super::event::Command;
use super::key::{Part, ReconcileKey};
use super::objects::WriteState;
use super::{Rollout, Work};
use crate::emit::kubernetes::{cluster_object, common_objects, guard_of, ingress_objects};
use crate::emit::object::{Object, ObjectId};
use crate::moment::Moment;
use crate::outcome::WriteOutcome;
use crate::problem::Problem;
use crate::snapshot::Key;
use crate::translate::LocalExport;

impl Rollout {
    pub(super) fn reconcile_shared(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        let objects = match key.part {
            Part::Common => common_objects(),
            _ => cluster_object(&self.cluster_to_tell(key, now), &self.model.settings).into_iter().collect(),
        };
        if matches!(key.part, Part::Cluster) {
            self.keep_cluster_problems(key);
        }
        self.write_all(key, objects, now, out);
        let shared = self.objects_of_keys(&ReconcileKey::shared()).into_iter();
        let is_lasting = |id: &&ObjectId| self.objects.failure(id).is_some_and(WriteOutcome::is_lasting);
        let refused: BTreeSet<ObjectId> = shared.filter(is_lasting).cloned().collect();
        if refused != self.conditions.refused {
            self.conditions.refused = refused;
            self.report_all();
        }
        self.own_cluster();
    }

    /// What the registry is not told of this cluster, as it is too much. No object of a user's has a status for it.
    fn keep_cluster_problems(&mut self, key: &ReconcileKey) {
        let problems = self.model.translator.cluster_problems(&self.world.snapshot, &self.callers());
        if self.model.problems.get(key).map_or(&[][..], Vec::as_slice) != problems {
            for Problem { object, message, .. } in &problems {
                tracing::warn!(%object, "the other clusters refuse requests of egress gateways: {message}");
            }
        }
        self.keep_problems(key, problems);
    }

    /// What we tell the registry of exports belongs to what we tell it of the cluster.
    fn own_cluster(&mut self) {
        let cluster = self.model.settings.cluster.as_deref();
        let owner = cluster.and_then(|cluster| self.objects.observed.wan_cluster(cluster));
        if owner != self.model.settings.wan_cluster {
            self.model.settings.wan_cluster = owner;
            let exports: Vec<Key> = self.model.translator.local_exports().iter().map(|(key, _)| key).collect();
            for export in &exports {
                self.queue.add(Work::Reconcile(ReconcileKey::export(export)));
                self.queue.add(Work::Reconcile(ReconcileKey::slices(export)));
            }
        }
    }

    pub(super) fn reconcile_ingress(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        let translator = &self.model.translator;
        let (objects, problems) =
            if translator.local_exports().in_namespace(&key.namespace).any(LocalExport::is_exported) {
                let admitted = translator.admitted(&self.world.snapshot, &key.namespace);
                ingress_objects(&key.namespace, translator.exports().tier_ports(), &admitted, &self.model.settings)
            } else {
                (Vec::new(), Vec::<Problem>::new())
            };
        self.keep_problems(key, problems);
        self.write_ingress(key, objects, now, out);
    }

    /// Makes a part consist of these objects. What must be there before one of them is waited for.
    pub(super) fn write_all(&mut self, key: &ReconcileKey, objects: Vec<Object>, now: Moment, out: &mut Vec<Command>) {
        let ids: Vec<_> = objects.iter().map(|object| object.id.clone()).collect();
        self.consists_of(key, &ids, now);
        self.write_each(key, objects, now, out);
    }

    /// Writes objects of a part. Returns whether all are there already.
    pub(super) fn write_each(
        &mut self,
        key: &ReconcileKey,
        objects: Vec<Object>,
        now: Moment,
        out: &mut Vec<Command>,
    ) -> bool {
        let states: Vec<_> = objects.into_iter().map(|object| self.write(key, object, now, out)).collect();
        states.into_iter().all(|state| state == WriteState::Written)
    }

    /// A part consists of these objects by now: what it had and nobody wants goes.
    pub(super) fn consists_of(&mut self, key: &ReconcileKey, ids: &[ObjectId], now: Moment) {
        let replaced = self.objects.desired.replace(key, ids);
        for heir in replaced.heirs {
            self.queue.add(Work::Reconcile(heir));
        }
        for id in replaced.gone {
            self.objects.forget(&id);
            self.queue.add_at(Work::Prune(id), now);
        }
    }

    /// Writes an object of a part, and looks at it again where that does not work.
    pub(super) fn write(
        &mut self,
        key: &ReconcileKey,
        object: Object,
        now: Moment,
        out: &mut Vec<Command>,
    ) -> WriteState {
        if self.objects.desired.owner_of(&object.id) != Some(key) {
            // Another part has it, which is told of as what stands in the way.
            return self.objects.taken(&object, now);
        }
        if let Some(guard) = guard_of(&object.id, self.model.settings.filter)
            && !self.is_there(&object.id)
            && !self.is_there(&guard)
        {
            // What guards it has to be there first; its answer brings us here again.
            return WriteState::OnItsWay;
        }
        let id = object.id.clone();
        let state = self.objects.write(key, object, now, out);
        let look_again = match state {
            WriteState::Failed(until) => Some(until),
            WriteState::Written => self.objects.tolerated_until(&id),
            WriteState::Sent | WriteState::OnItsWay => None,
        };
        if let Some(then) = look_again {
            self.queue.add_at(Work::Reconcile(key.clone()), then);
        }
        state
    }

    pub(super) fn is_there(&self, id: &ObjectId) -> bool {
        self.objects.observed.get(id).is_some_and(|live| live.is_ours() && !live.deleting)
    }
}
