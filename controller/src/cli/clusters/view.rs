//! All clusters and all pairs, for people and for programs.

use std::collections::BTreeMap;

use mcwan_core::api::ClusterConnectionStatus;
use mcwan_core::connection::Member;
use mcwan_core::liveness::Liveness;
use mcwan_core::problem::Reason;
use serde::Serialize;

use super::Known;

/// All clusters and all pairs, by name.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) clusters: Vec<ClusterView>,
    pub(super) pairs: Vec<PairView>,
}

/// A cluster; null where nobody tells.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterView {
    pub(super) name: String,
    /// Whether it is this one.
    pub(super) own: bool,
    pub(super) liveness: Option<&'static str>,
    pub(super) cable_drivers: Vec<String>,
    /// Its own, and the one that says its name.
    pub(super) labels: BTreeMap<String, String>,
}

/// What holds between two clusters, as a `ClusterConnection` has it.
#[derive(Debug, Serialize)]
pub(super) struct PairView {
    pub(super) clusters: [String; 2],
    #[serde(flatten)]
    pub(super) status: ClusterConnectionStatus,
    /// Why they may use no tier.
    #[serde(skip)]
    pub(super) why_none: Option<Reason>,
}

impl View {
    pub(super) fn of(known: &Known) -> Self {
        let names: Vec<_> = known.members().map(Member::name).collect();
        let others = |place: usize| names.get(place + 1..).unwrap_or_default();
        let pairs =
            names.iter().enumerate().flat_map(|(place, one)| others(place).iter().map(move |other| (one, other)));
        let pairs = pairs.filter_map(|(one, other)| PairView::of(known, one, other));
        Self {
            clusters: known.members().map(|member| ClusterView::of(known, member)).collect(),
            pairs: pairs.collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The same of two clusters and no other.
    pub(super) fn only(mut self, names: [&str; 2]) -> Self {
        self.clusters.retain(|cluster| names.contains(&cluster.name.as_str()));
        self.pairs.retain(|pair| pair.clusters.iter().all(|name| names.contains(&name.as_str())));
        self
    }
}

impl ClusterView {
    fn of(known: &Known, member: &Member) -> Self {
        let liveness = known.is_live.then(|| match known.liveness(&[member.name()]) {
            Liveness::Live => "Live",
            Liveness::Stale => "Stale",
        });
        Self {
            name: member.name().to_owned(),
            own: known.own.as_deref() == Some(member.name()),
            liveness,
            cable_drivers: member.cable_drivers().map(str::to_owned).collect(),
            labels: member.labels().clone(),
        }
    }
}

impl PairView {
    pub(super) fn of(known: &Known, one: &str, other: &str) -> Option<Self> {
        let connection = known.between(one, other)?;
        let mut status = connection.status(known.liveness(&[one, other]));
        for tier in &mut status.tiers {
            tier.measured = known.measured([one, other], &tier.name).cloned();
        }
        Some(Self { clusters: [one, other].map(str::to_owned), status, why_none: connection.why_none() })
    }

    /// The tiers that they may use.
    pub(super) fn permitted(&self) -> Vec<&str> {
        self.status.tiers.iter().filter(|tier| tier.permitted).map(|tier| tier.name.as_str()).collect()
    }
}
