//! What is told of which tiers this cluster and each other one may use, and of what is wrong with the policies.

use super::Rollout;
use super::event::Command;
use super::key::ReconcileKey;
use super::statuses::StatusKey;
use crate::api::TIER_NAMESPACE;
use crate::connection;
use crate::emit::kubernetes::connection_objects;
use crate::moment::Moment;
use crate::problem::Problem;
use crate::snapshot::Key;

impl StatusKey {
    /// What is told of the tiers to a cluster.
    pub(super) fn connection(cluster: &str) -> Self {
        Self::Connection(Key::new(TIER_NAMESPACE, cluster))
    }
}

impl Rollout {
    pub(super) fn reconcile_connections(&mut self, key: &ReconcileKey, now: Moment, out: &mut Vec<Command>) {
        let objects = connection_objects(self.model.translator.exports(), &self.model.settings);
        self.write_all(key, objects, now, out);
        // Policies have no status. Whoever writes one may look here, in any cluster.
        let problems = connection::all_problems(&self.world.snapshot);
        let known = self.model.problems.get(key).map_or(&[][..], Vec::as_slice);
        for Problem { object, field, reason, message, .. } in problems.iter().filter(|found| !known.contains(found)) {
            tracing::warn!(%object, %field, %reason, "{message}");
        }
        self.keep_problems(key, problems);
    }

    /// What is said of the tiers to every cluster may have changed.
    pub(super) fn report_connections(&mut self) {
        for (cluster, _) in self.model.translator.exports().connections() {
            self.conditions.queue.add(StatusKey::connection(cluster));
        }
    }
}
