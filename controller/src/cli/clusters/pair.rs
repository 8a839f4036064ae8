//! One pair of clusters: each policy, and each tier.

use std::io::{self, Write};

use mcwan_core::api::{ClusterConnectionPolicy, ConnectionState, REGISTRY_NAMESPACE};
use mcwan_core::connection::{Connection, ConsideredPolicy, TierVerdict};
use mcwan_core::problem::Reason;
use serde::Serialize;

use super::Known;
use super::view::PairView;
use crate::cli::report::printable;
use crate::cli::table;

/// One pair of clusters.
pub(super) struct Pair {
    view: PairView,
    connection: Connection,
    /// The tiers that the policy that holds names; none: it names none of them.
    named: Option<Vec<String>>,
    policies: Vec<PolicyView>,
}

/// The same for programs.
#[derive(Serialize)]
pub(super) struct Json<'p> {
    #[serde(flatten)]
    pub(super) pair: &'p PairView,
    policies: &'p [PolicyView],
}

/// What becomes of one policy.
#[derive(Debug, Serialize)]
struct PolicyView {
    name: String,
    holds: bool,
    matches: bool,
    why: String,
    /// Why the pairs that it matches are not connected; null if they may be.
    reason: Option<Reason>,
}

impl Pair {
    /// None if they are one.
    pub(super) fn of(known: &Known, one: &str, other: &str) -> Option<Self> {
        let connection = known.between(one, other)?;
        let considered = known.connections().considered(one, other)?;
        let holds = |name: &str| connection.policy.as_deref() == Some(name);
        let policy = |considered: &ConsideredPolicy| PolicyView {
            name: considered.policy.to_string(),
            holds: holds(&considered.policy),
            matches: considered.way().is_some(),
            why: considered.explain(one, other),
            reason: considered.fault,
        };
        let policies = &known.snapshot.connection_policies;
        let read = |name: &str| policies.get(REGISTRY_NAMESPACE, name);
        let named = connection.policy.as_deref().and_then(read).and_then(|policy| policy.spec.tiers.clone());
        let default = ClusterConnectionPolicy::DEFAULT;
        let unreadable = known.snapshot.unreadable_policies.get(REGISTRY_NAMESPACE, default);
        let default = (read(default).is_some() || unreadable.is_some()).then(|| PolicyView {
            name: default.to_owned(),
            holds: holds(default),
            matches: holds(default),
            why: if holds(default) { "no other policy matches" } else { "is for pairs that no other matches" }
                .to_owned(),
            reason: None,
        });
        let policies = considered.iter().map(policy).chain(default).collect();
        Some(Self { view: PairView::of(known, one, other)?, connection, named, policies })
    }

    pub(super) fn view(&self) -> Json<'_> {
        Json { pair: &self.view, policies: &self.policies }
    }

    /// Prints it for people.
    pub(super) fn text(&self, out: &mut impl Write) -> io::Result<()> {
        let state = self.view.status.state.map_or("-", ConnectionState::name);
        let names = self.view.clusters.join(" and ");
        writeln!(out, "{}: {state}; {}", printable(&names), printable(&self.connection.basis()))?;
        if !self.policies.is_empty() {
            writeln!(out)?;
            table::print(out, &rows(["POLICY", "HOLDS", "WHY"], self.policies.iter().map(PolicyView::row)))?;
        }
        if !self.connection.tiers.is_empty() {
            writeln!(out)?;
            let tiers = self.connection.tiers.iter().map(|tier| self.row(tier));
            table::print(out, &rows(["TIER", "PORT", "PERMITTED", "WHY"], tiers))?;
        }
        Ok(())
    }

    fn row(&self, TierVerdict { name, port, refusal }: &TierVerdict) -> [String; 4] {
        let port = port.map_or_else(|| "-".to_owned(), |port| port.to_string());
        let why = refusal.map(|refusal| format!("{}: {}", refusal.reason, self.words(name, refusal.reason)));
        [name.to_string(), port, yes_or_no(refusal.is_none()), why.unwrap_or_default()]
    }

    /// Why a tier may not be used.
    fn words(&self, tier: &str, reason: Reason) -> String {
        let words = match reason {
            Reason::NotOffered => "one of the two does not have it",
            Reason::TierPortMismatch => "it has another port in either",
            Reason::TierDriverMismatch => "it has another cable driver in either",
            Reason::DriverNotSupported => "one of the two does not support its cable driver",
            Reason::PolicyConflict => "several policies match, and `default` does not say that the oldest holds",
            Reason::InvalidPolicy => "a policy that matches cannot be read",
            Reason::TooLarge => "a policy that matches is over a bound",
            _ => return self.not_in_policy(tier),
        };
        words.to_owned()
    }

    fn not_in_policy(&self, tier: &str) -> String {
        let policy = self.connection.policy.as_deref().unwrap_or_default();
        let is_named = self.named.as_ref().is_none_or(|named| named.iter().any(|known| known == tier));
        match &self.connection.cable_driver {
            Some(driver) if is_named => format!("policy {policy} asks for cable driver {driver}"),
            _ => format!("policy {policy} does not name it"),
        }
    }
}

impl PolicyView {
    fn row(&self) -> [String; 3] {
        let fault = self.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        [self.name.clone(), yes_or_no(self.holds), format!("{}{fault}", self.why)]
    }
}

fn rows<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Vec<Vec<String>> {
    [head.map(str::to_owned)].into_iter().chain(rows).map(|row| row.to_vec()).collect()
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}
