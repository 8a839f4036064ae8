//! What becomes of a tier between two clusters.

use std::num::NonZeroU16;
use std::sync::Arc;

use super::member::{Member, MemberTier};
use super::policies::Policy;
use crate::api::ConnectionTier;
use crate::problem::Reason;

/// What becomes of a tier between two clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierVerdict {
    /// The tier.
    pub name: Arc<str>,
    /// Its port, where the clusters that have it agree.
    pub port: Option<NonZeroU16>,
    /// Why they may not use it, if they may not.
    pub refusal: Option<Refusal>,
}

/// Why two clusters may not use a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The first reason that there is.
    pub reason: Reason,
    /// Whether that is all.
    pub cause: Cause,
}

/// What takes a tier away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// That the clusters do not both have it, with one port, and nothing else.
    Lists,
    /// Policies or drivers, whatever else there is.
    Policy,
}

impl TierVerdict {
    /// Whether policies or drivers take it away.
    pub fn is_forbidden(&self) -> bool {
        self.refusal.is_some_and(|refusal| refusal.cause == Cause::Policy)
    }
}

impl From<&TierVerdict> for ConnectionTier {
    fn from(verdict: &TierVerdict) -> Self {
        let TierVerdict { name, port, refusal } = verdict;
        Self {
            name: name.to_string(),
            port: *port,
            permitted: refusal.is_none(),
            reason: refusal.map(|refusal| refusal.reason.to_string()),
            measured: None,
        }
    }
}

/// What becomes of each tier of either cluster, by name. `fault`: why there is none to be had.
pub(super) fn verdicts(
    one: &Member,
    other: &Member,
    policy: Option<&Policy>,
    fault: Option<Reason>,
) -> Vec<TierVerdict> {
    let verdict = |name: &Arc<str>, here: &MemberTier, there: Option<&MemberTier>| {
        let port = there.is_none_or(|there| there.port == here.port).then_some(here.port);
        let unlisted = match (there, port) {
            (None, _) => Some(Reason::NotOffered),
            (Some(_), None) => Some(Reason::TierPortMismatch),
            (Some(_), Some(_)) => None,
        };
        let driver = here.cable_driver.as_deref();
        let forbidden = if there.is_some_and(|there| there.cable_driver.as_deref() != driver) {
            Some(Reason::TierDriverMismatch)
        } else {
            let refused = fault.or_else(|| policy.and_then(|policy| policy.refuses(name, driver)));
            refused.or_else(|| unsupported([one, other], driver))
        };
        let cause = if forbidden.is_some() { Cause::Policy } else { Cause::Lists };
        let refusal = unlisted.or(forbidden).map(|reason| Refusal { reason, cause });
        TierVerdict { name: Arc::clone(name), port, refusal }
    };
    let here = one.tiers.iter().map(|(name, tier)| verdict(name, tier, other.tiers.get(name)));
    let there = other.tiers.iter().filter(|(name, _)| !one.tiers.contains_key(*name));
    let mut verdicts: Vec<_> = here.chain(there.map(|(name, tier)| verdict(name, tier, None))).collect();
    verdicts.sort_by(|left, right| left.name.cmp(&right.name));
    verdicts
}

impl Policy {
    /// Why a tier with this driver may not be used, if it may not.
    fn refuses(&self, tier: &str, driver: Option<&str>) -> Option<Reason> {
        let is_of_driver = self.cable_driver.as_deref().is_none_or(|asked| Some(asked) == driver);
        let is_named = self.tiers.as_ref().is_none_or(|tiers| tiers.contains(tier));
        (!is_of_driver || !is_named).then_some(Reason::NotInPolicy)
    }
}

fn unsupported(pair: [&Member; 2], driver: Option<&str>) -> Option<Reason> {
    let is_supported = |driver| pair.iter().all(|member| member.cable_drivers.contains(driver));
    driver.is_some_and(|driver| !is_supported(driver)).then_some(Reason::DriverNotSupported)
}
