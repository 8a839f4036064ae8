//! On which tiers this cluster admits each other one, and which of their gateways, as it tells the registry.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::api::{Admission, EgressGateway, limits};
use crate::connection::Connection;
use crate::snapshot::pod::Pod;

use super::Exports;
use super::target::hash;

/// Hexadecimal digits that tell two states of a cluster's gateways apart.
const DIGEST_DIGITS: usize = 16;

/// By cluster, the tiers that it is admitted on, where there are any; none: every cluster is, on all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admissions(Option<BTreeMap<String, BTreeSet<String>>>);

impl Admissions {
    /// What pairs may use: each cluster is admitted on the tiers here that no policy and no driver takes away.
    pub(super) fn permitted(exports: &Exports) -> Self {
        if !exports.connections().any(|(_, pair)| exports.tiers().any(|tier| pair.forbids(tier))) {
            return Self(None);
        }
        let permitted =
            |pair: &Connection| exports.tiers().filter(|tier| !pair.forbids(tier)).map(str::to_owned).collect();
        Self::new(exports.connections().map(|(cluster, pair)| (cluster.to_owned(), permitted(pair))))
    }

    /// What the registry was told.
    pub fn told(admits: Option<&[Admission]>) -> Self {
        let Some(admits) = admits else { return Self(None) };
        let mut clusters: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for Admission { tiers, clusters: alike } in admits {
            for cluster in alike {
                clusters.entry(cluster.clone()).or_default().extend(tiers.iter().cloned());
            }
        }
        Self::new(clusters)
    }

    fn new(clusters: impl IntoIterator<Item = (String, BTreeSet<String>)>) -> Self {
        // What is over a bound would make the registry refuse all of it.
        Self(Some(clusters.into_iter().filter(|(_, tiers)| !tiers.is_empty()).take(limits::CLUSTERS).collect()))
    }

    /// What both admit.
    #[must_use]
    pub fn narrowed(&self, by: &Self) -> Self {
        match (&self.0, &by.0) {
            (Some(told), Some(wanted)) => {
                let both = wanted.iter().filter_map(|(cluster, tiers)| Some((cluster, tiers & told.get(cluster)?)));
                Self::new(both.map(|(cluster, tiers)| (cluster.clone(), tiers)))
            }
            (Some(_), None) => self.clone(),
            (None, _) => by.clone(),
        }
    }

    /// The same as the registry is told: clusters that are admitted to the same tiers stand together.
    pub fn grouped(&self) -> Option<Vec<Admission>> {
        let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for (cluster, tiers) in self.0.as_ref()? {
            groups.entry(tiers).or_default().push(cluster.clone());
        }
        let group =
            |(tiers, clusters): (&BTreeSet<String>, _)| Admission { tiers: tiers.iter().cloned().collect(), clusters };
        Some(groups.into_iter().map(group).collect())
    }
}

/// What stands for the pods of an egress gateway.
pub(super) fn pods_digest<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> String {
    let pods: BTreeSet<_> = pods.into_iter().filter_map(|pod| pod.metadata.uid.as_deref()).collect();
    hash(&json!(pods).to_string(), DIGEST_DIGITS)
}

/// What stands for a cluster's egress gateways as the registry has them, to it and to those that admit them.
pub fn gateways_digest(gateways: &[EgressGateway]) -> String {
    hash(&json!(gateways).to_string(), DIGEST_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `high,low: a b; low: c`; `all` without a list.
    fn mk(text: &str) -> Admissions {
        let words = |text: &str, by: char| text.split(by).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let groups = text.split("; ").filter_map(|group| group.split_once(": "));
        let groups =
            groups.map(|(tiers, clusters)| Admission { tiers: words(tiers, ','), clusters: words(clusters, ' ') });
        let groups: Vec<_> = groups.collect();
        Admissions::told((text != "all").then_some(&groups))
    }

    fn print(admissions: &Admissions) -> String {
        let group = |Admission { tiers, clusters }| format!("{}: {}", tiers.join(","), clusters.join(" "));
        let groups = admissions.grouped().map(|groups| groups.into_iter().map(group).collect::<Vec<_>>().join("; "));
        groups.unwrap_or_else(|| "all".to_owned())
    }

    #[test]
    fn clusters_with_the_same_tiers_stand_together() {
        let table = [
            ("all", "all", "no list"),
            ("", "", "nobody is admitted"),
            ("high,low: a b; low: c", "high,low: a b; low: c", "as it is written"),
            ("low: c; low,high: b; high,low: a", "high,low: a b; low: c", "in any order"),
            ("low: a; high: a", "high,low: a", "a cluster in two groups"),
            (": a; low: b", "low: b", "a cluster without a tier is in no group"),
        ];
        for (told, expected, message) in table {
            assert_eq!(print(&mk(told)), expected, "{message}");
        }
    }

    #[test]
    fn what_is_told_is_narrowed_and_never_widened() {
        let table = [
            ("all", "all", "all", "nothing is forbidden"),
            ("all", "low: a", "low: a", "a policy comes"),
            ("low: a", "all", "low: a", "it goes"),
            ("high,low: a; low: b", "low: a; high,low: b", "low: a b", "one loses, one is to gain"),
            ("low: a", "low: a b", "low: a", "a cluster joins"),
            ("low: a b", "low: a", "low: a", "one leaves"),
            ("low: a", "high: a", "", "another tier in its place"),
            ("", "low: a", "", "nobody is admitted yet"),
        ];
        for (told, wanted, expected, message) in table {
            let narrowed = mk(told).narrowed(&mk(wanted));
            assert_eq!(narrowed, mk(expected), "{message}");
            assert_eq!(narrowed.narrowed(&mk(wanted)), narrowed, "{message}: once is enough");
        }
    }

    #[test]
    fn no_more_clusters_are_told_of_than_the_registry_takes() {
        let clusters: Vec<_> = (0..=limits::CLUSTERS).map(|cluster| format!("c{cluster}")).collect();
        let told = mk(&format!("low: {}", clusters.join(" ")));
        let groups = told.grouped().unwrap_or_default();
        assert_eq!((groups.len(), groups[0].clusters.len()), (1, limits::CLUSTERS));
    }
}
