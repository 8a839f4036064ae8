//! The policies, compiled, and which of them holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube_core::{Selector, SelectorExt};

use super::{ConsideredPolicy, Member, Taken};
use crate::api::{ClusterConnectionPolicy, ClusterSelector, limits, validate};
use crate::problem::Reason;
use crate::snapshot::{Key, Snapshot};

/// The policies, compiled.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// All but `default`, the oldest first; of the same age by name.
    all: Vec<Policy>,
    default: Option<Policy>,
}

/// One policy, compiled.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) name: Arc<str>,
    left: Side,
    right: Side,
    pub(super) cable_driver: Option<Arc<str>>,
    /// None: any.
    pub(super) tiers: Option<BTreeSet<String>>,
    /// Of `default`: whether pairs that several policies match are not connected.
    no_connect_on_conflict: Option<bool>,
    /// Why the pairs that it matches are not connected, if they are not.
    fault: Option<Reason>,
}

/// The clusters on one side.
#[derive(Clone, Debug)]
enum Side {
    /// Every cluster: nothing else is said, or it cannot be read.
    Any,
    Labelled(Selector),
}

/// Which selectors of a policy take a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taker {
    left: bool,
    right: bool,
}

/// What holds for a pair.
pub(super) struct Holding<'p> {
    /// None: no policy does, so that any tier may be used, unless there is a fault.
    pub(super) policy: Option<&'p Policy>,
    /// Those that match, by name, where these are several.
    pub(super) conflicting: Vec<Arc<str>>,
    /// Why no tier may be used, whatever the policy says.
    pub(super) fault: Option<Reason>,
}

impl Policies {
    /// Compiles what the registry has. A policy that cannot be read takes every pair.
    pub fn new(snapshot: &Snapshot) -> Self {
        let unreadable = snapshot.unreadable_policies.iter().map(|(Key { name, .. }, _)| Policy::unreadable(name));
        let by_age = snapshot.connection_policies.by_age().into_iter().enumerate();
        let read = by_age.map(|(place, policy)| Policy::new(policy, place >= limits::CONNECTION_POLICIES));
        let (default, all): (Vec<_>, _) =
            read.chain(unreadable).partition(|policy| *policy.name == *ClusterConnectionPolicy::DEFAULT);
        Self { all, default: default.into_iter().next_back() }
    }

    /// Which of their selectors take a cluster.
    pub(super) fn takers(&self, member: &Member) -> Vec<Taker> {
        let taker = |policy: &Policy| Taker { left: policy.left.takes(member), right: policy.right.takes(member) };
        self.all.iter().map(taker).collect()
    }

    /// What becomes of each for a pair.
    pub(super) fn considered(&self, one: &[Taker], other: &[Taker]) -> Vec<ConsideredPolicy> {
        let pairs = self.all.iter().zip(one.iter().zip(other));
        let considered = pairs.map(|(policy, (one, other))| ConsideredPolicy {
            policy: Arc::clone(&policy.name),
            left: Taken::of(one.left, other.left),
            right: Taken::of(one.right, other.right),
            fault: policy.fault,
        });
        considered.collect()
    }

    /// Which holds for a pair.
    pub(super) fn holding(&self, one: &[Taker], other: &[Taker]) -> Holding<'_> {
        let is_match = |(one, other): &(&Taker, &Taker)| one.left && other.right || one.right && other.left;
        let pairs = self.all.iter().zip(one.iter().zip(other));
        let matching: Vec<_> = pairs.filter(|(_, pair)| is_match(pair)).map(|(policy, _)| policy).collect();
        let mut conflicting = Vec::new();
        if matching.len() > 1 {
            conflicting.extend(matching.iter().map(|policy| Arc::clone(&policy.name)));
            conflicting.sort();
        }
        let fault = matching.iter().filter_map(|policy| policy.fault).min();
        let (policy, fault) = match matching.as_slice() {
            [] => (self.default.as_ref(), self.default.as_ref().and_then(|default| default.fault)),
            [only] => (Some(*only), fault),
            [oldest, ..] if fault.is_none() && self.oldest_holds() => (Some(*oldest), None),
            _ => (None, fault.or(Some(Reason::PolicyConflict))),
        };
        Holding { policy, conflicting, fault }
    }

    /// Whether pairs that several policies match go by the oldest of these.
    fn oldest_holds(&self) -> bool {
        let is_said = |default: &Policy| default.fault.is_none() && default.no_connect_on_conflict == Some(false);
        self.default.as_ref().is_some_and(is_said)
    }
}

impl Policy {
    fn new(policy: &ClusterConnectionPolicy, is_surplus: bool) -> Self {
        let spec = &policy.spec;
        let selectors = [spec.left_cluster_selector.as_ref(), spec.right_cluster_selector.as_ref()];
        let [left, right] = selectors.map(Side::new);
        let is_over = || validate::connection_policy(policy).iter().any(|problem| problem.reason == Reason::TooLarge);
        let is_limited = policy.is_default() && selectors != [None; 2];
        let fault = if is_surplus || is_over() {
            Some(Reason::TooLarge)
        } else if left.is_none() || right.is_none() || is_limited {
            Some(Reason::InvalidPolicy)
        } else {
            None
        };
        Self {
            name: policy.metadata.name.as_deref().unwrap_or_default().into(),
            left: left.unwrap_or(Side::Any),
            right: right.unwrap_or(Side::Any),
            cable_driver: spec.cable_driver.as_deref().map(Arc::from),
            tiers: spec.tiers.as_ref().map(|tiers| tiers.iter().cloned().collect()),
            no_connect_on_conflict: spec.no_connect_on_conflict,
            fault,
        }
    }

    fn unreadable(name: Arc<str>) -> Self {
        let (left, right, fault) = (Side::Any, Side::Any, Some(Reason::InvalidPolicy));
        Self { name, left, right, cable_driver: None, tiers: None, no_connect_on_conflict: None, fault }
    }
}

impl Side {
    /// None if the selector cannot be read.
    fn new(selector: Option<&ClusterSelector>) -> Option<Self> {
        selector.map_or(Some(Self::Any), |selector| selector.compile().ok().map(Self::Labelled))
    }

    fn takes(&self, member: &Member) -> bool {
        match self {
            Self::Any => true,
            Self::Labelled(selector) => selector.matches(&member.labels),
        }
    }
}
