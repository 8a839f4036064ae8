//! Which tiers two clusters may use between them, by policies that only take away.
//!
//! Both ends compute the same of the same objects of the registry: the one that consumes steers by it, the one that exports
//! admits by it. Which of the two comes first, and which other clusters there are, changes nothing.

mod considered;
mod member;
mod policies;
mod problems;
mod tier;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use considered::{ConsideredPolicy, Taken, Way};
pub use member::Member;
pub use policies::Policies;
pub use problems::{all_problems, problems};
pub use tier::{Cause, Refusal, TierVerdict};

use crate::api::{ClusterConnectionPolicy, ClusterConnectionStatus, ConnectionState, ConnectionTier, limits};
use crate::liveness::Liveness;
use crate::problem::Reason;
use crate::snapshot::Snapshot;
use policies::Taker;

/// All clusters and the policies. What a selector takes is worked out once for each cluster.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    policies: Policies,
    ends: BTreeMap<Arc<str>, End>,
}

/// A cluster, and which selectors take it.
#[derive(Clone, Debug)]
struct End {
    member: Member,
    /// In the order of the policies.
    takers: Vec<Taker>,
}

/// What holds between two clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The policy that holds; none: none does, or several match and none of them is to hold.
    pub policy: Option<Arc<str>>,
    /// The policies that match, by name, where these are several.
    pub conflicting: Vec<Arc<str>>,
    /// The cable driver that the policy asks for.
    pub cable_driver: Option<Arc<str>>,
    /// Every tier of either cluster, by name.
    pub tiers: Vec<TierVerdict>,
}

impl Connections {
    /// What the registry has.
    pub fn new(snapshot: &Snapshot) -> Self {
        let mut all = Self { policies: Policies::new(snapshot), ends: BTreeMap::new() };
        for cluster in snapshot.wan_clusters.iter() {
            all.put(Member::of(cluster));
        }
        all
    }

    /// From now on, these are the policies.
    pub fn use_policies(&mut self, policies: Policies) {
        self.policies = policies;
        for end in self.ends.values_mut() {
            end.takers = self.policies.takers(&end.member);
        }
    }

    /// A cluster is like this; false if it was before.
    pub fn put(&mut self, member: Member) -> bool {
        if self.ends.get(&member.name).is_some_and(|end| end.member == member) {
            return false;
        }
        let takers = self.policies.takers(&member);
        self.ends.insert(Arc::clone(&member.name), End { member, takers });
        true
    }

    /// A cluster is gone; false if it was before.
    pub fn remove(&mut self, cluster: &str) -> bool {
        self.ends.remove(cluster).is_some()
    }

    /// The clusters, by name.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.ends.values().map(|end| &end.member)
    }

    /// What holds between two clusters; none where one of them is not in the registry, or they are one.
    pub fn between(&self, one: &str, other: &str) -> Option<Connection> {
        let (one, other) = self.pair(one, other)?;
        Some(self.connection(one, other))
    }

    /// What holds between a cluster and each other one, by name.
    pub fn of(&self, cluster: &str) -> impl Iterator<Item = (&Arc<str>, Connection)> {
        let own = self.ends.get(cluster);
        let others = own.into_iter().flat_map(move |own| {
            self.ends.iter().filter(|(name, _)| **name != own.member.name).map(move |other| (own, other))
        });
        others.map(|(own, (name, other))| (name, self.connection(own, other)))
    }

    /// What becomes of each policy but `default` for two clusters, the oldest first.
    pub fn considered(&self, one: &str, other: &str) -> Option<Vec<ConsideredPolicy>> {
        let (one, other) = self.pair(one, other)?;
        Some(self.policies.considered(&one.takers, &other.takers))
    }

    fn pair(&self, one: &str, other: &str) -> Option<(&End, &End)> {
        self.ends.get(one).zip(self.ends.get(other)).filter(|_| one != other)
    }

    fn connection(&self, one: &End, other: &End) -> Connection {
        let holding = self.policies.holding(&one.takers, &other.takers);
        Connection {
            policy: holding.policy.map(|policy| Arc::clone(&policy.name)),
            conflicting: holding.conflicting,
            cable_driver: holding.policy.and_then(|policy| policy.cable_driver.clone()),
            tiers: tier::verdicts(&one.member, &other.member, holding.policy, holding.fault),
        }
    }
}

impl Connection {
    /// What becomes of a tier; none if neither cluster has it.
    pub fn tier(&self, name: &str) -> Option<&TierVerdict> {
        let place = self.tiers.binary_search_by(|tier| (*tier.name).cmp(name)).ok()?;
        self.tiers.get(place)
    }

    /// The tiers that the two clusters may use, by name.
    pub fn permitted(&self) -> impl Iterator<Item = &TierVerdict> {
        self.tiers.iter().filter(|tier| tier.refusal.is_none())
    }

    /// Whether policies or drivers take a tier away, so that the cluster that exports admits nobody of the other on it.
    pub fn forbids(&self, name: &str) -> bool {
        self.tier(name).is_some_and(TierVerdict::is_forbidden)
    }

    /// Why they may use no tier, if so it is: what is wrong with policies, else what most tiers are refused for.
    pub fn why_none(&self) -> Option<Reason> {
        if self.permitted().next().is_some() {
            return None;
        }
        let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
        for refusal in self.tiers.iter().filter_map(|tier| tier.refusal) {
            *counts.entry(refusal.reason).or_default() += 1;
        }
        let is_fault =
            |reason: &&Reason| matches!(reason, Reason::TooLarge | Reason::InvalidPolicy | Reason::PolicyConflict);
        let fault = counts.keys().find(is_fault).copied();
        // Where no tier is shared, none of them tells.
        let conflict = (self.policy.is_none() && !self.conflicting.is_empty()).then_some(Reason::PolicyConflict);
        let most = counts.into_iter().max_by_key(|(reason, count)| (*count, Reverse(*reason)));
        fault.or(conflict).or(most.map(|(reason, _)| reason)).or(Some(Reason::NotOffered))
    }

    /// Which policy it is by, in words.
    pub fn basis(&self) -> String {
        match (&self.policy, self.conflicting.as_slice()) {
            (None, []) => "no policy matches".to_owned(),
            (Some(policy), []) if **policy == *ClusterConnectionPolicy::DEFAULT => {
                format!("no policy matches, so that {policy} holds")
            }
            (Some(policy), []) => format!("policy {policy} holds"),
            (None, several) => format!("policies {} match, so that none holds", several.join(", ")),
            (Some(policy), several) => format!("policies {} match, of which {policy} holds", several.join(", ")),
        }
    }

    /// The same as it is told, but for conditions.
    pub fn status(&self, liveness: Liveness) -> ClusterConnectionStatus {
        // A registry without its quota may have more than the definition lets us tell.
        let shown = self.conflicting.iter().take(limits::CONNECTION_POLICIES);
        ClusterConnectionStatus {
            state: Some(self.state(liveness)),
            policy: self.policy.as_deref().map(str::to_owned),
            conflicting_policies: shown.map(ToString::to_string).collect(),
            cable_driver: self.cable_driver.as_deref().map(str::to_owned),
            tiers: self.tiers.iter().map(ConnectionTier::from).collect(),
            conditions: Vec::new(),
        }
    }

    /// How it is, by whether the other cluster shows that it is alive.
    pub fn state(&self, liveness: Liveness) -> ConnectionState {
        match liveness {
            _ if !self.conflicting.is_empty() => ConnectionState::Conflict,
            _ if self.permitted().next().is_none() => ConnectionState::NotConnected,
            Liveness::Stale => ConnectionState::Stale,
            Liveness::Live => ConnectionState::Connected,
        }
    }
}

#[cfg(test)]
mod tests;
