//! What the registry says of clusters, and of which tiers they may use.

use std::sync::Arc;

use super::change::{Change, changed, put};
use super::{Key, Snapshot, Unreadable};
use crate::api::{ClusterConnection, ClusterConnectionPolicy, EgressGateway, WanCluster, WanClusterSpec};

impl Snapshot {
    /// Puts a cluster in.
    pub(super) fn put_cluster(&mut self, cluster: WanCluster) -> Vec<Change> {
        let WanCluster { spec: now, metadata } = cluster.clone();
        let Some(before) = self.wan_clusters.insert(cluster) else {
            return vec![Change::Everything];
        };
        // Since when it is there decides whose exports are the older.
        let is_moved = before.spec.network != now.network;
        let is_younger = before.metadata.creation_timestamp != metadata.creation_timestamp;
        if is_moved || before.spec.tiers != now.tiers || is_younger {
            return vec![Change::Everything];
        }
        let WanClusterSpec { network: _, tiers: _, egress_gateways, cable_drivers, admits, admitted } = before.spec;
        let name: Arc<str> = metadata.name.unwrap_or_default().into();
        let is_other = before.metadata.labels != metadata.labels || cable_drivers != now.cable_drivers;
        let differs = |gateways: &[EgressGateway], others: &[EgressGateway]| {
            let differing: Vec<_> = gateways.iter().filter(|gateway| !others.contains(gateway)).cloned().collect();
            differing.into_iter().map(|gateway| Change::RemoteEgress(gateway.namespace.into()))
        };
        differs(&egress_gateways, &now.egress_gateways)
            .chain(differs(&now.egress_gateways, &egress_gateways))
            .chain(is_other.then(|| Change::Cluster(Arc::clone(&name))))
            .chain((admits != now.admits).then(|| Change::Admission(Arc::clone(&name))))
            .chain((admitted != now.admitted).then(|| Change::Admitted(Arc::clone(&name))))
            .collect()
    }

    /// Puts a policy in.
    pub(super) fn put_connection_policy(&mut self, policy: ClusterConnectionPolicy) -> Vec<Change> {
        let was_unreadable = self.unreadable_policies.remove(&Key::of(&policy.metadata)).is_some();
        let same = |old: &ClusterConnectionPolicy, new: &ClusterConnectionPolicy| {
            // Of several the oldest may hold.
            let is_as_old = old.metadata.creation_timestamp == new.metadata.creation_timestamp;
            !was_unreadable && is_as_old && old.spec == new.spec
        };
        changed(put(&mut self.connection_policies, policy, same), |_| Change::ConnectionPolicies)
    }

    /// Puts a policy in that cannot be read.
    pub(super) fn put_unreadable_policy(&mut self, policy: Unreadable) -> Vec<Change> {
        let key = Key::of(&policy.metadata);
        self.connection_policies.remove(&key);
        self.unreadable_policies.insert(&key, policy);
        vec![Change::ConnectionPolicies]
    }

    /// Puts in what is told of the tiers to another cluster.
    pub(super) fn put_connection(&mut self, connection: ClusterConnection) -> Vec<Change> {
        let key = Key::of(&connection.metadata);
        self.cluster_connections.insert(&key, connection);
        vec![Change::ConnectionStatus(key.name)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::snapshot::change::InputKind;
    use crate::snapshot::input;

    fn mk(kind: &str, metadata: &Value, spec: &Value) -> Value {
        json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
    }

    fn named(name: &str, labels: &Value) -> Value {
        json!({"name": name, "namespace": "mc-wan-registry", "labels": labels})
    }

    #[test]
    fn what_a_cluster_says_concerns_no_more_than_it_must() {
        let (none, eu, east) =
            (named("c", &json!({})), named("c", &json!({"region": "eu"})), json!({"namespace": "a"}));
        let tier = json!([{"name": "high", "port": 1}]);
        let name = || Arc::<str>::from("c");
        let steps = [
            (&none, json!({"tiers": tier}), vec![Change::Everything], "it is new"),
            (&none, json!({"tiers": tier}), vec![], "nothing changed"),
            (&eu, json!({"tiers": tier}), vec![Change::Cluster(name())], "a label"),
            (&eu, json!({"tiers": tier, "cableDrivers": ["ipsec"]}), vec![Change::Cluster(name())], "a driver"),
            (
                &eu,
                json!({"tiers": tier, "cableDrivers": ["ipsec"], "admits": []}),
                vec![Change::Admission(name())],
                "nobody is admitted, where it was not told",
            ),
            (
                &eu,
                json!({"tiers": tier, "cableDrivers": ["ipsec"], "admitted": [{"cluster": "d", "egressGateways": "x"}]}),
                vec![Change::Admission(name()), Change::Admitted(name())],
                "whose gateways are admitted",
            ),
            (
                &eu,
                json!({"tiers": tier, "egressGateways": [east]}),
                vec![Change::RemoteEgress("a".into()), Change::Cluster(name()), Change::Admitted(name())],
                "several things",
            ),
            (&eu, json!({"egressGateways": [east]}), vec![Change::Everything], "its tiers"),
        ];
        let mut snapshot = Snapshot::default();
        for (metadata, spec, expected, message) in steps {
            let input = input::read(InputKind::WanCluster, &mk("WANCluster", metadata, &spec)).unwrap();
            assert_eq!(snapshot.put(input), expected, "{message}");
        }
    }

    #[test]
    fn a_policy_that_cannot_be_read_is_not_as_if_absent() {
        let key = Key::new("mc-wan-registry", "p");
        let sound = json!({"tiers": ["high"]});
        let steps = [
            (sound.clone(), 1, [1, 0], "a policy"),
            (sound.clone(), 0, [1, 0], "the same"),
            (json!({"tier": []}), 1, [0, 1], "an unknown field"),
            (sound, 1, [1, 0], "it can be read again"),
            (json!({"cableDriver": "IPsec"}), 1, [1, 0], "what is wrong with it is taken at its worst"),
        ];
        let mut snapshot = Snapshot::default();
        for (spec, changes, counts, message) in steps {
            let object = mk("ClusterConnectionPolicy", &named("p", &json!({})), &spec);
            let input = input::read(InputKind::ConnectionPolicy, &object).unwrap();
            assert_eq!(snapshot.put(input), vec![Change::ConnectionPolicies; changes], "{message}");
            let [read, unreadable] = [snapshot.connection_policies.iter().count(), snapshot.unreadable_policies.len()];
            assert_eq!([read, unreadable], counts, "{message}");
        }
        for (expected, message) in [(1, "it is gone"), (0, "it was")] {
            let changes = snapshot.remove(InputKind::ConnectionPolicy, &key);
            assert_eq!(changes, vec![Change::ConnectionPolicies; expected], "{message}");
        }
    }
}
