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
/// ours and its own: it renews by its own), and we have seen everything for that long. It is back at its first renewal
/// that a watch sees, or at the second that a list tells of: the first may be older, if the registry was restored from a backup.
/// While nothing is seen, nothing changes.
#[derive(Debug)]
pub struct Judge {
    own: Arc<str>,
    lease: Duration,
    /// After how long a stale cluster is refused; none: never.
    refused_after: Option<Duration>,
    /// Our own renewal that was seen last.
    own_renewal: Option<Box<str>>,
    /// None: we have lost sight since our own renewal that was seen last.
    sight: Option<Sight>,
    clusters: BTreeMap<Arc<str>, Cluster>,
    /// Those that we held for stale before a restart, and for how long at least.
    recalled: BTreeMap<String, Duration>,
    /// Whether all Leases were listed once: what is seen before need not be new.
    is_listed: bool,
    /// Whether they are being listed anew.
    is_relisting: bool,
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
    /// Whether a list anew told of it, and it was not judged stale since.
    is_relisted: bool,
    /// How long it may be silent by its own word.
    lasts: Duration,
    /// When it renewed last, or since when it is waited for.
    since: Moment,
    /// Whether the registry has its `WANCluster`.
    is_member: bool,
    liveness: Liveness,
    /// For how long it has been stale while nothing was missed.
    stale_for: Duration,
}

impl Judge {
    /// A judge for this cluster, who knows nothing yet. `lease`: how long another cluster may be silent.
    pub fn new(own: impl Into<Arc<str>>, lease: Duration) -> Self {
        Self {
            own: own.into(),
            lease,
            refused_after: None,
            own_renewal: None,
            sight: None,
            clusters: BTreeMap::new(),
            recalled: BTreeMap::new(),
            is_listed: false,
            is_relisting: false,
        }
    }

    /// The same, which refuses a cluster once it has been stale for so long.
    #[must_use]
    pub fn refusing_after(self, refused_after: Option<Duration>) -> Self {
        Self { refused_after, ..self }
    }

    /// The Lease of a cluster is there, maybe the same as before. Returns whether it is a renewal of our own.
    pub fn observe(&mut self, cluster: &str, lease: Lease, now: Moment) -> bool {
        if *cluster == *self.own {
            let is_renewal = self.own_renewal != lease.renewal;
            if is_renewal {
                self.observe_own(lease, now);
            }
            return is_renewal;
        }
        let (is_evidence, is_relisting) = (self.is_listed, self.is_relisting);
        let cluster = self.cluster(cluster, now);
        if cluster.renewal != lease.renewal {
            // The first of a list may be an old one. So may one of a list anew, which a backup has brought back; where watches
            // do not last, the next one comes by a list, too.
            let is_doubtful = is_relisting && !cluster.is_relisted;
            cluster.is_relisted = is_relisting;
            if (is_evidence || cluster.renewal.is_some()) && !is_doubtful {
                (cluster.liveness, cluster.stale_for) = (Liveness::Live, Duration::ZERO);
            }
            cluster.renewal = lease.renewal;
            cluster.lasts = lease.lasts;
            cluster.since = now;
        }
        false
    }

    /// A list of all Leases begins.
    pub fn listing(&mut self) {
        self.is_relisting = self.is_listed;
    }

    /// All Leases were listed. What happened between two of a list was not seen.
    pub fn listed(&mut self) {
        (self.is_listed, self.is_relisting) = (true, false);
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

    /// Those of them that have been so for too long. What passes while the registry is out of reach counts against nobody.
    pub fn refused(&self) -> BTreeSet<String> {
        let is_refused = |cluster: &Cluster| self.refused_after.is_some_and(|after| cluster.stale_for >= after);
        let stale = self.clusters.iter().filter(|(_, cluster)| cluster.is_member && is_refused(cluster));
        stale.map(|(name, _)| name.to_string()).collect()
    }

    /// For how long the one has been stale that has been so for longest.
    pub fn longest_stale(&self) -> Duration {
        let members = self.clusters.values().filter(|cluster| cluster.is_member);
        members.map(|cluster| cluster.stale_for).max().unwrap_or_default()
    }

    /// How many other clusters there are.
    pub fn members(&self) -> usize {
        self.clusters.values().filter(|cluster| cluster.is_member).count()
    }

    fn observe_own(&mut self, lease: Lease, now: Moment) {
        if !self.is_listed && self.own_renewal.is_none() {
            self.recall(&lease.stale, &lease.refused);
        }
        self.own_renewal = lease.renewal;
        let kept = self.sight.filter(|sight| now.since(sight.until) <= self.lease.mul_f64(GAP));
        let passed = kept.map_or(Duration::ZERO, |sight| now.since(sight.until));
        let sight = Sight { since: kept.map_or(now, |sight| sight.since), until: now };
        self.sight = Some(sight);
        for cluster in self.clusters.values_mut().filter(|cluster| cluster.is_member) {
            if cluster.liveness == Liveness::Stale {
                cluster.stale_for += passed;
            }
            if sight.until.since(cluster.since.max(sight.since)) >= self.lease.max(cluster.lasts) {
                (cluster.liveness, cluster.is_relisted) = (Liveness::Stale, false);
            }
        }
    }

    /// Holds for stale who was before a restart, and refuses whom we refused.
    fn recall(&mut self, stale: &BTreeSet<String>, refused: &BTreeSet<String>) {
        let after = self.refused_after.unwrap_or_default();
        let stale_for = |name: &String| if refused.contains(name) { after } else { Duration::ZERO };
        self.recalled = stale.iter().map(|name| (name.clone(), stale_for(name))).collect();
        for (name, cluster) in &mut self.clusters {
            if let Some(stale_for) = self.recalled.get(&**name) {
                (cluster.liveness, cluster.stale_for) = (Liveness::Stale, *stale_for);
            }
        }
    }

    fn cluster(&mut self, name: &str, now: Moment) -> &mut Cluster {
        let recalled = self.recalled.get(name);
        let liveness = if recalled.is_some() { Liveness::Stale } else { Liveness::Live };
        let stale_for = recalled.copied().unwrap_or_default();
        let new = || Cluster {
            renewal: None,
            is_relisted: false,
            lasts: Duration::ZERO,
            since: now,
            is_member: false,
            liveness,
            stale_for,
        };
        self.clusters.entry(name.into()).or_insert_with(new)
    }
}

#[cfg(test)]
mod tests;
