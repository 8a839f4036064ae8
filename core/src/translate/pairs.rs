//! Which tiers this cluster and each other one may use between them, as this cluster sees it.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{Admission, ClusterTier, REGISTRY_NAMESPACE, WanCluster, WanPolicy};
use crate::connection::{self, Connection, Connections, Member, Policies};
use crate::problem::{NotPermitted, Problem};
use crate::snapshot::Snapshot;

/// This cluster's connections with the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// This cluster; empty where it has no name.
    own: String,
    /// The cable drivers that it supports; none: as the registry has it.
    cable_drivers: Option<Vec<String>>,
    /// The tiers that it has, whatever the registry has heard of it.
    tiers: Vec<ClusterTier>,
    connections: Connections,
    /// By the name of the other cluster.
    others: BTreeMap<String, Pair>,
    /// What is wrong with policies that none of them shows by itself.
    problems: Vec<Problem>,
}

/// This cluster and another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pair {
    connection: Connection,
    /// The tiers on which the other one's gateways admit this cluster by now; none: all.
    admitted: Option<BTreeSet<String>>,
}

impl Pairs {
    /// Knows of no cluster yet.
    pub(super) fn none(own: Option<&str>, cable_drivers: Option<&[String]>) -> Self {
        let cable_drivers = cable_drivers.map(<[String]>::to_vec);
        Self { own: own.unwrap_or_default().to_owned(), cable_drivers, ..Self::default() }
    }

    /// Looks at everything anew. This cluster has these tiers.
    pub(super) fn look(&mut self, snapshot: &Snapshot, tiers: &[&WanPolicy]) {
        self.connections = Connections::new(snapshot);
        let tiers = tiers.iter().filter_map(|policy| {
            let (name, port) = (policy.metadata.name.clone()?, policy.spec.port);
            Some(ClusterTier { name, port, cable_driver: policy.spec.cable_driver.clone() })
        });
        self.tiers = tiers.collect();
        self.connections.put(self.own_member(snapshot));
        self.problems = connection::problems(snapshot);
        self.connect(snapshot);
    }

    /// This cluster. Where it has no tiers, and its drivers are as the registry has them, its tiers are, too: files may hold a
    /// registry's objects alone.
    fn own_member(&self, snapshot: &Snapshot) -> Member {
        let known = known(snapshot, &self.own);
        let told = known.filter(|_| self.tiers.is_empty() && self.cable_drivers.is_none());
        let tiers = told.map_or(&*self.tiers, |known| &*known.spec.tiers);
        let labels = known.and_then(|cluster| cluster.metadata.labels.as_ref());
        let drivers = self.cable_drivers.as_deref().or(known.map(|cluster| &*cluster.spec.cable_drivers));
        Member::new(&self.own, labels.into_iter().flatten(), tiers, drivers.unwrap_or_default())
    }

    /// A cluster has other labels or drivers. Gives the clusters with which this one has another connection by now.
    pub(super) fn look_at(&mut self, cluster: &str, snapshot: &Snapshot) -> BTreeSet<String> {
        if let Some(known) = known(snapshot, cluster) {
            let member = if cluster == self.own { self.own_member(snapshot) } else { Member::of(known) };
            self.connections.put(member);
        }
        // It may be the first that has a driver.
        self.problems = connection::problems(snapshot);
        self.connect(snapshot)
    }

    /// There are other policies. Gives the clusters with which this one has another connection by now.
    pub(super) fn use_policies(&mut self, snapshot: &Snapshot) -> BTreeSet<String> {
        self.connections.use_policies(Policies::new(snapshot));
        self.problems = connection::problems(snapshot);
        self.connect(snapshot)
    }

    /// Works out the pairs. Gives the clusters of those that are others by now.
    pub(super) fn connect(&mut self, snapshot: &Snapshot) -> BTreeSet<String> {
        let pair = |(cluster, connection): (&std::sync::Arc<str>, Connection)| {
            let admits = known(snapshot, cluster).and_then(|cluster| cluster.spec.admits.as_deref());
            let admitted = admits.map(|admits| tiers_of(admits, &self.own));
            (cluster.to_string(), Pair { connection, admitted })
        };
        let now: BTreeMap<_, _> = self.connections.of(&self.own).map(pair).collect();
        let before = std::mem::replace(&mut self.others, now);
        let changed = self.others.iter().filter(|(cluster, pair)| before.get(*cluster) != Some(*pair));
        let gone = before.keys().filter(|cluster| !self.others.contains_key(*cluster));
        changed.map(|(cluster, _)| cluster).chain(gone).cloned().collect()
    }

    /// What holds between this cluster and another; none where there is no such pair.
    pub(super) fn connection(&self, cluster: &str) -> Option<&Connection> {
        self.others.get(cluster).map(|pair| &pair.connection)
    }

    /// All of them, by the name of the other cluster.
    pub(super) fn connections(&self) -> impl Iterator<Item = (&str, &Connection)> {
        self.others.iter().map(|(cluster, pair)| (cluster.as_str(), &pair.connection))
    }

    /// What holds between any two clusters, as far as is known here; one without a name stands for this cluster.
    pub(super) fn everywhere(&self) -> &Connections {
        &self.connections
    }

    /// What is wrong with policies that none of them shows by itself.
    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether requests may go to a cluster over a tier: the pair may use it, and the gateways there admit this cluster on
    /// it by now.
    pub(super) fn may_call(&self, cluster: &str, tier: &str) -> bool {
        self.others.get(cluster).is_some_and(|pair| {
            let verdict = pair.connection.tier(tier);
            verdict.is_some_and(|verdict| verdict.refusal.is_none()) && pair.admits(tier)
        })
    }

    /// Why a policy, a driver or the gateways there keep requests to a cluster from a tier, if they do.
    pub(super) fn why_not(&self, cluster: &str, tier: &str) -> Option<NotPermitted> {
        let pair = self.others.get(cluster)?;
        let verdict = pair.connection.tier(tier)?;
        let refusal = verdict.refusal.filter(|_| verdict.is_forbidden());
        let is_to_come = verdict.refusal.is_none() && !pair.admits(tier);
        if refusal.is_none() && !is_to_come {
            return None;
        }
        let Connection { policy, conflicting, .. } = &pair.connection;
        let policies = policy.iter().filter(|_| conflicting.is_empty()).chain(conflicting);
        Some(NotPermitted {
            cluster: cluster.to_owned(),
            tier: tier.to_owned(),
            reason: refusal.map(|refusal| refusal.reason),
            policies: policies.map(ToString::to_string).collect(),
        })
    }
}

impl Pair {
    fn admits(&self, tier: &str) -> bool {
        self.admitted.as_ref().is_none_or(|tiers| tiers.contains(tier))
    }
}

fn known<'s>(snapshot: &'s Snapshot, cluster: &str) -> Option<&'s WanCluster> {
    snapshot.wan_clusters.get(REGISTRY_NAMESPACE, cluster)
}

/// The tiers on which a cluster is admitted.
fn tiers_of(admits: &[Admission], cluster: &str) -> BTreeSet<String> {
    let own = admits.iter().filter(|admission| admission.clusters.iter().any(|known| known == cluster));
    own.flat_map(|admission| admission.tiers.iter().cloned()).collect()
}
