//! `mcwan clusters` over files.

use std::fs;

use serde_json::{Value, json};

use crate::cli::{Ran, Result, example, mcwan};

const HEAD: &str = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind:";

/// Clusters of these names, all with two tiers, and policies.
fn mk_manifests(names: &[&str], policies: &[&str]) -> String {
    let tiers = "[{name: high, port: 31111}, {name: low, port: 31112}]";
    let cluster = |name: &&str| {
        let metadata = format!("{{name: {name}, namespace: mc-wan-registry, labels: {{region: {name}}}}}");
        format!("{HEAD} WANCluster\nmetadata: {metadata}\nspec: {{tiers: {tiers}}}\n")
    };
    let policy = |policy: &&str| format!("{HEAD} ClusterConnectionPolicy\n{policy}\n");
    let documents: Vec<_> = names.iter().map(cluster).chain(policies.iter().map(policy)).collect();
    documents.join("---\n")
}

fn clusters(arguments: &[&str], manifests: &str) -> Result<Ran> {
    mcwan(&[&["clusters"], arguments, &["-f", "-"]].concat(), manifests)
}

#[test]
fn all_pairs_are_shown() -> Result {
    let ran = mcwan(&["clusters", "-f", &example("connections"), "--cluster", "cluster-2"], "")?;
    assert_eq!((ran.status, ran.log.as_str()), (Some(0), ""));
    for line in [
        "cluster-2 (this)   -          ipsec,vxlan   env=on-premise\n",
        "PAIRS       cluster-1   cluster-2   cluster-3\n",
        "cluster-1   =           high,low    sec\n",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    Ok(())
}

/// For five clusters no line is longer than a terminal is wide; where a matrix is, there is a list of pairs.
#[test]
fn a_table_is_no_wider_than_a_terminal() -> Result {
    let short = ["cluster-1", "cluster-2", "cluster-3", "cluster-4", "cluster-5"];
    let long = short.map(|name| format!("{name}-of-a-region-far-away"));
    let long: Vec<_> = long.iter().map(String::as_str).collect();
    let many: Vec<_> = (0..40).map(|number| format!("c{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let pair = "CLUSTER                          CLUSTER                          STATE       TIERS      POLICY\n";
    let table = [
        (&short[..], "PAIRS       cluster-1   cluster-2   cluster-3   cluster-4   cluster-5\n"),
        (&long, pair),
        (&many, "CLUSTER   CLUSTER   STATE       TIERS      POLICY\nc0        c1        Connected   high,low   -\n"),
    ];
    for (names, head) in table {
        let ran = clusters(&[], &mk_manifests(names, &[]))?;
        assert_eq!(ran.status, Some(0), "{}", ran.log);
        assert!(ran.out.contains(head), "{head}: {}", ran.out);
        assert!(ran.out.lines().all(|line| line.chars().count() <= 120), "{}", ran.out);
    }
    Ok(())
}

#[test]
fn one_pair_is_explained() -> Result {
    let policies = [
        "metadata: {name: p, namespace: mc-wan-registry}\nspec: {rightClusterSelector: {matchLabels: {region: a}}, tiers: [low]}",
        "metadata: {name: q, namespace: mc-wan-registry}\nspec: {leftClusterSelector: {matchLabels: {region: c}}}",
        "metadata: {name: default, namespace: mc-wan-registry}\nspec: {noConnectOnConflict: false}",
    ];
    let of_p = "p         yes     matches: leftClusterSelector takes b, rightClusterSelector takes a\n";
    let table: [(&[&str], &[&str]); 4] = [
        (
            &["a", "b"],
            &[
                "a and b: Connected; policy p holds\n",
                of_p,
                "q         no      does not match: leftClusterSelector takes neither\n",
                "default   no      is for pairs that no other matches\n",
                "high   31111   no          NotInPolicy: policy p does not name it\n",
                "low    31112   yes\n",
            ],
        ),
        (&["b", "--cluster", "a"], &["a and b: Connected; policy p holds\n"]),
        (&["a", "c"], &["a and c: Conflict; policies p, q match, of which p holds\n"]),
        (
            &["b", "d"],
            &["b and d: Connected; no policy matches, so that default holds\n", "default   yes     no other"],
        ),
    ];
    for (arguments, expected) in table {
        let ran = clusters(arguments, &mk_manifests(&["a", "b", "c", "d"], &policies))?;
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.log);
        for line in expected {
            assert!(ran.out.contains(line), "{arguments:?}: {line}: {}", ran.out);
        }
    }
    Ok(())
}

#[test]
fn programs_get_the_same() -> Result {
    let example = example("connections");
    let ask = |more: &[&str]| mcwan(&[&["clusters"], more, &["-f", &example]].concat(), "");
    let all: Value = serde_json::from_str(&ask(&["-o", "json"])?.out)?;
    assert_eq!(all["clusters"][2]["labels"]["env"], "cloud");
    assert_eq!(all["clusters"][2]["liveness"], Value::Null, "files do not tell");
    assert_eq!(all["pairs"][1]["clusters"], serde_json::json!(["cluster-1", "cluster-3"]));
    assert_eq!(all["pairs"][1]["policy"], "on-prem-to-cloud");
    assert_eq!(all["pairs"][1]["tiers"][0]["reason"], "NotInPolicy");
    assert_eq!(serde_saphyr::from_str::<Value>(&ask(&["-o", "yaml"])?.out)?, all);
    let one: Value = serde_json::from_str(&ask(&["cluster-3", "cluster-1", "-o", "json"])?.out)?;
    assert_eq!((&one["tiers"], &one["policies"][0]["holds"]), (&all["pairs"][1]["tiers"], &true.into()));
    let graph = ask(&["-o", "dot"])?.out;
    assert!(graph.contains("  \"cluster-1\" -- \"cluster-2\" [label=\"high, low\"];\n"), "{graph}");
    let graph = ask(&["cluster-1", "cluster-3", "-o", "dot"])?.out;
    assert!(graph.contains("[label=\"sec\"]") && !graph.contains("cluster-2"), "{graph}");
    Ok(())
}

#[test]
fn what_is_not_there_is_told() -> Result {
    let table: [(&[&str], i32, &str); 5] = [
        (&["a", "x"], 1, "there is no cluster x; there are a, b"),
        (&["a", "a"], 2, "a is one cluster"),
        (&["a"], 2, "say by --cluster which one this is"),
        (&["a", "b", "c"], 2, "unexpected"),
        (&["--context", "x"], 2, "cannot be used with"),
    ];
    for (arguments, status, message) in table {
        let ran = clusters(arguments, &mk_manifests(&["a", "b"], &[]))?;
        assert_eq!((ran.status, ran.out.as_str()), (Some(status), ""), "{arguments:?}");
        assert!(ran.log.contains(message), "{arguments:?}: {}", ran.log);
    }
    let broken = "metadata: {name: p, namespace: mc-wan-registry}\nspec: {cableDriver: {name: vxlan}}";
    let ran = clusters(&[], &mk_manifests(&["a", "b"], &[broken]))?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.log.contains("hint: write `cableDriver: vxlan`") && ran.log.contains("nothing is told"), "{}", ran.log);
    Ok(())
}

#[test]
fn requests_take_the_tiers_of_the_example_and_explain_names_the_policy() -> Result {
    let explain = |host: &str, path: &str| {
        let example = example("connections");
        mcwan(&["explain", &example, "--cluster", "cluster-2", "--host", host, "--path", path], "")
    };
    let policy = "low: NotInPolicy with cluster cluster-3 (ClusterConnectionPolicy on-prem-to-cloud)";
    let table = [
        ("payment.secure", "/payment", "tier high", "one of the two clusters may be called over it"),
        ("payment.secure", "/audit", "tier sec", "the other one"),
        ("stats.secure", "/ever", "tier sec", "the one that there is"),
        ("stats.secure", "/today", "x-mcwan-reason: TierNotPermitted", "it goes by no other tier"),
        ("stats.secure", "/today", policy, "the policy is named"),
    ];
    for (host, path, expected, message) in table {
        let ran = explain(host, path)?;
        assert_eq!(ran.status, Some(0), "{message}: {}", ran.log);
        assert!(ran.out.contains(expected), "{message}: {}", ran.out);
        assert!(ran.log.contains(policy), "{message}: {}", ran.log);
    }
    Ok(())
}

#[test]
fn programs_are_told_which_policies_keep_a_request_from_its_tier() -> Result {
    let mut policies = fs::read_to_string(example("connections"))?;
    let answer = |files: &str, path: &str| -> Result<Value> {
        let request = ["--cluster", "cluster-2", "--host", "stats.secure", "--path", path, "-o", "json"];
        let ran = mcwan(&[&["explain", "-"], &request[..]].concat(), files)?;
        assert_eq!(ran.status, Some(0), "{}", ran.log);
        Ok(serde_json::from_str::<Value>(&ran.out)?["notPermitted"].take())
    };
    let low = |reason: &str, policies: &[&str]| json!([{"cluster": "cluster-3", "tier": "low", "reason": reason, "policies": policies}]);
    assert_eq!(answer(&policies, "/ever")?, Value::Null, "it goes by its tier");
    assert_eq!(answer(&policies, "/today")?, low("NotInPolicy", &["on-prem-to-cloud"]));
    policies += "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ClusterConnectionPolicy\n\
        metadata: {name: another, namespace: mc-wan-registry}\nspec: {}\n";
    assert_eq!(answer(&policies, "/today")?, low("PolicyConflict", &["another", "on-prem-to-cloud"]));
    Ok(())
}
