//! What changes of the tiers between two clusters.

use std::collections::BTreeSet;
use std::io::{self, Write};

use mcwan_core::connection::Connection;
use mcwan_core::connection::{Connections, Member};
use serde::Serialize;

use crate::cli::report::printable;

/// Two clusters that may use other tiers between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PairChange {
    clusters: [String; 2],
    /// The tiers that they may use.
    before: Vec<String>,
    after: Vec<String>,
}

impl PairChange {
    /// Prints it on a line: `pair cluster-1 cluster-3: tiers high, low → sec`.
    pub(super) fn text(&self, out: &mut impl Write) -> io::Result<()> {
        let tiers = |tiers: &[String]| if tiers.is_empty() { "none".to_owned() } else { tiers.join(", ") };
        let line = format!("pair {}: tiers {} → {}", self.clusters.join(" "), tiers(&self.before), tiers(&self.after));
        writeln!(out, "{}", printable(&line))
    }
}

/// The pairs that may use other tiers than before. Who is not in the registry may use none.
pub(super) fn changes(before: &Connections, after: &Connections) -> Vec<PairChange> {
    let names: BTreeSet<_> = before.members().chain(after.members()).map(Member::name).collect();
    // One without a name is no cluster of the registry.
    let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let tiers = |all: &Connections, one: &str, other: &str| -> Vec<String> {
        let connection = all.between(one, other);
        connection.iter().flat_map(Connection::permitted).map(|tier| tier.name.to_string()).collect()
    };
    let others = |place: usize| names.get(place + 1..).unwrap_or_default();
    let pairs = names.iter().enumerate().flat_map(|(place, one)| others(place).iter().map(move |other| (*one, *other)));
    let change = |(one, other)| {
        let [before, after] = [before, after].map(|all| tiers(all, one, other));
        (before != after).then(|| PairChange { clusters: [one, other].map(str::to_owned), before, after })
    };
    pairs.filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use mcwan_core::snapshot::Gathered;

    use super::*;

    const HEAD: &str = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind:";

    fn cluster(name: &str) -> String {
        let tiers = "{tiers: [{name: high, port: 1}, {name: low, port: 2}]}";
        format!("{HEAD} WANCluster\nmetadata: {{name: {name}, namespace: mc-wan-registry}}\nspec: {tiers}\n")
    }

    fn policy(name: &str, cluster: &str, tiers: &str) -> String {
        let selector = format!("leftClusterSelector: {{matchLabels: {{kubernetes.io/metadata.name: {cluster}}}}}");
        let spec = format!("{{{selector}, tiers: [{tiers}]}}");
        format!(
            "{HEAD} ClusterConnectionPolicy\nmetadata: {{name: {name}, namespace: mc-wan-registry}}\nspec: {spec}\n"
        )
    }

    fn mk(documents: &[String]) -> Connections {
        Connections::new(&Gathered::from_text("test.yaml", &documents.join("---\n")).snapshot)
    }

    #[test]
    fn pairs_join_part_and_change() {
        let (clusters, low) = (["a", "b", "c"].map(cluster), policy("p", "a", "low"));
        let three = [&clusters[..], std::slice::from_ref(&low)].concat();
        let table = [
            (three.clone(), three.clone(), vec![], "nothing"),
            (
                clusters.to_vec(),
                three.clone(),
                vec!["pair a b: tiers high, low → low", "pair a c: tiers high, low → low"],
                "a policy comes",
            ),
            (
                three.clone(),
                [&three[..], &[policy("q", "b", "")]].concat(),
                vec!["pair a b: tiers low → none", "pair b c: tiers high, low → none"],
                "another comes, too",
            ),
            (
                three.clone(),
                [&clusters[..2], &[low]].concat(),
                vec!["pair a c: tiers low → none", "pair b c: tiers high, low → none"],
                "a cluster goes",
            ),
        ];
        for (before, after, expected, message) in table {
            let text = |pair: PairChange| {
                let mut line = Vec::new();
                pair.text(&mut line).unwrap();
                String::from_utf8(line).unwrap().trim_end().to_owned()
            };
            let changed: Vec<_> = changes(&mk(&before), &mk(&after)).into_iter().map(text).collect();
            assert_eq!(changed, expected, "{message}");
        }
    }
}
