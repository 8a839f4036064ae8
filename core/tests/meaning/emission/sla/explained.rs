//! What `explain` says of rules that go by quality.

use mcwan_core::emit::plugin::Plugin;
use mcwan_core::explain::{Asked, Explainer, Outcome};
use mcwan_core::translate::translate;
use mcwan_policy::sla::Level::{self, Down, In, Out};
use mcwan_policy::wire::UnknownHosts;
use serde_json::json;

use super::{mk_cluster, mk_import, mk_rule, mk_world};
use crate::emission::world::options;

/// What becomes of a request where `gold` and `low` lead to `c1` and to this cluster or to `c2`, and paths are on these levels.
fn explain(others: &str, sla: &str, levels: &[Level]) -> Outcome {
    let import = mk_import("payment", &[mk_rule(&format!("fallbacks: [low], {sla}"))]);
    let world = mk_world(&[mk_cluster("c1", 3), mk_cluster(others, 1), import]);
    let translation = translate(&world.gathered.snapshot, &options());
    let plugin = Plugin::new(&translation.imports, UnknownHosts::Pass).unwrap();
    let asked = Asked::new("GET", "http", "payment.secure", None, "/", &[]);
    Explainer::new(&translation, &plugin).at(levels).explain(&asked, 0).0
}

/// Where it goes, and of each tier what came of it, and the clusters that take part.
fn words(outcome: &Outcome) -> Vec<String> {
    let target = outcome.target.clone().or_else(|| outcome.reason.map(str::to_owned));
    let tiers = outcome.tiers.iter().flatten().map(|tier| {
        let taking = tier.clusters.iter().filter(|cluster| cluster.takes_part);
        let taking: Vec<_> = taking.map(|cluster| cluster.name.as_str()).collect();
        format!("{} {:?} {}", tier.name, tier.verdict, taking.join(" ")).trim_end().to_owned()
    });
    target.into_iter().chain(tiers).collect()
}

#[test]
fn it_says_of_each_tier_why_or_why_not() {
    // gold@c1, gold@c2, low@c1, low@c2
    let table: [(&[Level], &str, &[&str], &str); 6] = [
        (&[], "", &["gold@c1", "gold Taken c1 c2", "low Behind"], "every path is taken for In"),
        (&[Out], "", &["gold@c2", "gold Taken c2", "low Behind"], "one cluster does not keep it"),
        (&[Out, Down], "", &["low@c1", "gold NotInSla", "low Taken c1 c2"], "a fallback"),
        (&[Down, Down, Out, Down], "", &["low@c1", "gold NoAnswer", "low TakenAsItAnswers c1"], "none keeps it"),
        (&[Down; 4], "", &["gold@c1", "gold TakenAsItIsOwn c1 c2", "low Behind"], "none answers"),
        (
            &[Out; 4],
            "whenNoneInSla: Refuse",
            &["NoTierInSla", "gold NotInSla", "low NotInSla"],
            "none keeps it, and that is refused",
        ),
    ];
    for (levels, sla, expected, message) in table {
        assert_eq!(words(&explain("c2", sla, levels)), expected, "{message}");
    }
}

#[test]
fn it_names_clusters_and_their_levels() {
    let outcome = explain("own", "", &[Out, In]);
    let told = serde_json::to_value(&outcome).unwrap();
    assert_eq!(told["destination"], json!({"kind": "Tier", "name": "gold", "cluster": "own"}));
    let clusters = json!([
        {"name": "c1", "weight": 3, "level": "Out", "takesPart": false},
        {"name": "own", "weight": 1, "level": null, "takesPart": true},
    ]);
    assert_eq!(told["tiers"][0], json!({"name": "gold", "verdict": "Taken", "clusters": clusters}));
}

#[test]
fn of_other_rules_it_says_nothing_of_quality() {
    let rule = mk_rule("").replace(", sla: {}", "");
    let world = mk_world(&[mk_cluster("c1", 3), mk_import("payment", &[rule])]);
    let translation = translate(&world.gathered.snapshot, &options());
    let plugin = Plugin::new(&translation.imports, UnknownHosts::Pass).unwrap();
    let asked = Asked::new("GET", "http", "payment.secure", None, "/", &[]);
    let told = serde_json::to_value(Explainer::new(&translation, &plugin).explain(&asked, 0).0).unwrap();
    assert_eq!((&told["tiers"], &told["destination"]), (&json!(null), &json!({"kind": "Tier", "name": "gold"})));
}
