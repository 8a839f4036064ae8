//! Who is stale.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{Lease, Liveness};
use crate::moment::Moment;

/// Of the lease time: how long our own renewals may be away before we do not know what happened meanwhile. They come
/// every third. Where all clusters were away with ours, such as from a registry that was down, nobody else's last
/// renewal is further back than a third more: together less than the lease time.
const GAP: f64 = 0.5;

/// Judges which of the other clusters are stale.
///
/// A cluster becomes stale when one of our own renewals is seen, none of it was seen for the lease time (the longer of
/// ours and its own: it renews by its own), and we have seen everything for that long. It is back at its first renewal.
/// While nothing is seen, nothing changes.
#[derive(Debug)]
pub struct Judge {
    own: Arc<str>,
    lease: Duration,
    /// Our own renewal that was seen last.
    own_renewal: Option<Box<str>>,
    /// None: we have lost sight since our own renewal that was seen last.
    sight: Option<Sight>,
    clusters: BTreeMap<Arc<str>, Cluster>,
    /// Those that we held for stale before a restart.
    recalled: BTreeSet<String>,
    /// Whether all Leases were listed once: what is seen before need not be new.
    is_listed: bool,
}

/// A time in which nothing was missed.
#[derive(Clone, Copy, Debug)]
struct Sight {
    since: Moment,
    /// When one of our own renewals was seen last.
    until: Moment,
}

#[derive(Debug)]
struct Cluster {
    /// None: there was no Lease yet.
    renewal: Option<Box<str>>,
    /// How long it may be silent by its own word.
    lasts: Duration,
    /// When it renewed last, or since when it is waited for.
    since: Moment,
    /// Whether the registry has its `WANCluster`.
    is_member: bool,
    liveness: Liveness,
}

impl Judge {
    /// A judge for this cluster, who knows nothing yet. `lease`: how long another cluster may be silent.
    pub fn new(own: impl Into<Arc<str>>, lease: Duration) -> Self {
        Self {
            own: own.into(),
            lease,
            own_renewal: None,
            sight: None,
            clusters: BTreeMap::new(),
            recalled: BTreeSet::new(),
            is_listed: false,
        }
    }

    /// The Lease of a cluster is there, maybe the same as before. Returns whether it is a renewal of our own.
    pub fn see(&mut self, cluster: &str, lease: Lease, now: Moment) -> bool {
        if *cluster == *self.own {
            let is_renewal = self.own_renewal != lease.renewal;
            if is_renewal {
                self.see_own(lease, now);
            }
            return is_renewal;
        }
        let is_evidence = self.is_listed;
        let cluster = self.cluster(cluster, now);
        if cluster.renewal != lease.renewal {
            // The first of a list may be an old one.
            if is_evidence || cluster.renewal.is_some() {
                cluster.liveness = Liveness::Live;
            }
            cluster.renewal = lease.renewal;
            cluster.lasts = lease.lasts;
            cluster.since = now;
        }
        false
    }

    /// All Leases were listed. What happened between two of a list was not seen.
    pub fn listed(&mut self) {
        self.is_listed = true;
        self.lose_sight();
    }

    /// Leases cannot be watched, or could not be for a moment.
    pub fn lose_sight(&mut self) {
        self.sight = None;
    }

    /// The registry has the `WANCluster` of a cluster.
    pub fn join(&mut self, cluster: &str, now: Moment) {
        if *cluster != *self.own {
            let cluster = self.cluster(cluster, now);
            if !cluster.is_member {
                (cluster.is_member, cluster.since) = (true, now);
            }
        }
    }

    /// The `WANCluster` of a cluster is gone.
    pub fn leave(&mut self, cluster: &str) {
        self.clusters.remove(cluster);
        self.recalled.remove(cluster);
    }

    /// The other clusters that are stale.
    pub fn stale(&self) -> BTreeSet<String> {
        let stale =
            self.clusters.iter().filter(|(_, cluster)| cluster.is_member && cluster.liveness == Liveness::Stale);
        stale.map(|(name, _)| name.to_string()).collect()
    }

    /// How many other clusters there are.
    pub fn members(&self) -> usize {
        self.clusters.values().filter(|cluster| cluster.is_member).count()
    }

    fn see_own(&mut self, lease: Lease, now: Moment) {
        if !self.is_listed && self.own_renewal.is_none() {
            self.recall(lease.stale);
        }
        self.own_renewal = lease.renewal;
        let kept = self.sight.filter(|sight| now.since(sight.until) <= self.lease.mul_f64(GAP));
        let sight = Sight { since: kept.map_or(now, |sight| sight.since), until: now };
        self.sight = Some(sight);
        for cluster in self.clusters.values_mut().filter(|cluster| cluster.is_member) {
            if sight.until.since(cluster.since.max(sight.since)) >= self.lease.max(cluster.lasts) {
                cluster.liveness = Liveness::Stale;
            }
        }
    }

    /// Holds for stale who was before a restart.
    fn recall(&mut self, stale: BTreeSet<String>) {
        for (name, cluster) in &mut self.clusters {
            if stale.contains(&**name) {
                cluster.liveness = Liveness::Stale;
            }
        }
        self.recalled = stale;
    }

    fn cluster(&mut self, name: &str, now: Moment) -> &mut Cluster {
        let liveness = if self.recalled.contains(name) { Liveness::Stale } else { Liveness::Live };
        let new = || Cluster { renewal: None, lasts: Duration::ZERO, since: now, is_member: false, liveness };
        self.clusters.entry(name.into()).or_insert_with(new)
    }
}

#[cfg(test)]
mod tests;
