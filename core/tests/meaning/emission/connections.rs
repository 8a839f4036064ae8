//! Which tiers two clusters may use between them: what the one that consumes steers by, and the one that exports admits by.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::ingress_objects;
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, input};
use serde_json::{Value, json};

use super::routes::rules;
use super::world::{World, at, mk_export, mk_import, of_kind, reasons, settings, to_high};

const HEAD: &str = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind:";

/// A policy of the registry.
fn mk_policy(name: &str, spec: &str) -> String {
    format!(
        "{HEAD} ClusterConnectionPolicy\nmetadata: {{name: {name}, namespace: mc-wan-registry, \
         creationTimestamp: '2026-11-20T08:00:00Z'}}\nspec: {{{spec}}}\n"
    )
}

/// One that takes a cluster on its one side, and any on the other.
fn mk_for(name: &str, cluster: &str, spec: &str) -> String {
    let selector = format!("leftClusterSelector: {{matchLabels: {{kubernetes.io/metadata.name: {cluster}}}}}");
    mk_policy(name, &format!("{selector}, {spec}"))
}

fn source(cluster: &str, address: &str) -> String {
    mk_export(cluster, &format!("ports: [{{port: 8080}}], readyPods: 1, gateways: [{address}], defaultTier: high"))
}

/// The clusters that requests go to over the tier.
fn called(world: &World) -> BTreeSet<&str> {
    let sources = world.payment().own_tiers().flat_map(|tier| &tier.sources);
    sources.map(|source| &*source.cluster).collect()
}

#[test]
fn tiers_lose_clusters_and_the_rest_share() {
    let both = ["c1", "c2"];
    let table = [
        (vec![], both.to_vec(), "[] * high", "no policy"),
        (vec![mk_policy("all", "tiers: [high]")], both.to_vec(), "[] * high", "it names the tier"),
        (vec![mk_for("one", "c1", "tiers: []")], vec!["c2"], "[] * high", "one pair may use none"),
        (vec![mk_policy("all", "tiers: [low]")], vec![], "[] * TierNotPermitted", "nobody may: never another tier"),
        (vec![mk_policy("all", "cableDriver: ipsec")], vec![], "[] * TierNotPermitted", "the tier has no driver"),
        (
            vec![mk_for("one", "c1", "tiers: [high]"), mk_policy("two", "tiers: [high]")],
            vec!["c2"],
            "[] * high",
            "two match one pair, even if alike",
        ),
    ];
    for (policies, clusters, rule, message) in table {
        let sources = [source("c1", "10.20.0.7"), source("c2", "10.30.0.7")];
        let world = World::new(&[&sources[..], &policies].concat());
        assert_eq!(called(&world), clusters.iter().copied().collect(), "{message}");
        assert_eq!(rules(world.payment()), [rule], "{message}: the default tier, too");
        let written = World::new(&[&sources[..], &policies, &[mk_import("payment", &[to_high("")])]].concat());
        assert_eq!(rules(written.payment()), [rule], "{message}");
        let expected = vec!["TierNotPermitted spec.http.rules[0].backendRefs[0]"; usize::from(clusters.is_empty())];
        assert_eq!(reasons(&written.payment().problems), expected, "{message}");
    }
}

/// The registry has another state of a cluster by now.
fn put(world: &mut World, cluster: &str, labels: &Value, spec: &Value) -> mcwan_core::translate::Affected {
    let object = json!({"metadata": {"name": cluster, "namespace": "mc-wan-registry", "labels": labels}, "spec": spec});
    let input = input::read(InputKind::WanCluster, &object).unwrap_or_else(|unreadable| panic!("{}", unreadable.error));
    let changes = world.gathered.snapshot.put(input);
    world.translator.update(&world.gathered.snapshot, &changes)
}

#[test]
fn a_consumer_waits_until_the_gateways_there_admit_it() {
    let tiers = json!([{"name": "high", "port": 31111}]);
    let mut world = World::new(&[source("c1", "10.20.0.7")]);
    let table = [
        (json!([]), vec![], "nobody is admitted"),
        (json!([{"tiers": ["high"], "clusters": ["other"]}]), vec![], "another cluster is"),
        (json!([{"tiers": ["low"], "clusters": ["own"]}]), vec![], "on another tier"),
        (json!([{"tiers": ["high"], "clusters": ["other", "own"]}]), vec!["c1"], "it is"),
        (Value::Null, vec!["c1"], "everybody is"),
    ];
    for (admits, expected, message) in table {
        put(&mut world, "c1", &json!({}), &json!({"tiers": tiers, "admits": admits}));
        assert_eq!(called(&world), expected.into_iter().collect(), "{message}");
    }
}

/// What a change concerns, and nothing else.
#[test]
fn labels_of_strangers_change_nothing() {
    let tiers = json!([{"name": "high", "port": 31111}]);
    let cloud = "leftClusterSelector: {matchLabels: {location: cloud}}, tiers: []";
    let mut world = World::new(&[source("c1", "10.20.0.7"), mk_policy("cloud", cloud)]);
    put(&mut world, "stranger", &json!({}), &json!({"tiers": []}));
    let affected = put(&mut world, "stranger", &json!({"location": "here"}), &json!({"tiers": []}));
    assert_eq!(affected, mcwan_core::translate::Affected::default());
    assert_eq!(called(&world), ["c1"].into());
    let affected = put(&mut world, "c1", &json!({"location": "cloud"}), &json!({"tiers": tiers}));
    assert_eq!(affected.imports, [Key::new("secure", "payment")].into());
    assert_eq!(called(&world), BTreeSet::new());
}

#[test]
fn an_exporter_denies_each_cluster_the_tiers_that_the_pair_may_not_use() {
    let low = format!("{HEAD} WANPolicy\nmetadata: {{name: low}}\nspec: {{port: 31112}}\n");
    let cluster = |name: &str, address: &str| {
        format!(
            "{HEAD} WANCluster\nmetadata: {{name: {name}, namespace: mc-wan-registry}}\nspec: {{tiers: [{{name: high, port: \
             31111}}, {{name: low, port: 31112}}], egressGateways: [{{namespace: secure, addresses: [{address}]}}]}}\n"
        )
    };
    let deny = |addresses: &[&str], port: Option<&str>| {
        let mut rule = json!({});
        if !addresses.is_empty() {
            rule["from"] = json!([{"source": {"notIpBlocks": addresses}}]);
        }
        if let Some(port) = port {
            rule["to"] = json!([{"operation": {"ports": [port]}}]);
        }
        rule
    };
    let both = ["10.1.0.1", "10.2.0.1"];
    let table = [
        (vec![], vec![deny(&both, None)], "as without policies"),
        (vec![mk_policy("all", "tiers: [high, low]")], vec![deny(&both, None)], "all agree"),
        (
            vec![mk_for("one", "c1", "tiers: [low]")],
            vec![deny(&both, None), deny(&["10.2.0.1"], Some("31111"))],
            "one port is for fewer",
        ),
        (
            vec![mk_policy("all", "tiers: [low]")],
            vec![deny(&both, None), deny(&[], Some("31111"))],
            "one port is for nobody",
        ),
        (vec![mk_policy("all", "tiers: []")], vec![deny(&[], None)], "nobody may use any"),
    ];
    for (policies, expected, message) in table {
        let clusters = [low.clone(), cluster("c1", "10.1.0.1"), cluster("c2", "10.2.0.1")];
        let world = World::new(&[&clusters[..], &policies].concat());
        let admitted = world.translator.admitted(&world.gathered.snapshot, "secure");
        let tiers = world.translator.exports().tier_ports();
        let (objects, _) = ingress_objects("secure", tiers, &admitted, &settings(DataPlane::Wasm));
        let policy = of_kind(&objects, Kind::AuthorizationPolicy)[0].1;
        assert_eq!(at(policy, "/spec/rules"), &json!(expected), "{message}");
    }
}

#[test]
fn a_driver_must_be_supported_at_both_ends() {
    let tier = "{name: sec, port: 31113, cableDriver: ipsec}";
    let world = |there: &str, here: &str| {
        let sec = format!("{HEAD} WANPolicy\nmetadata: {{name: sec}}\nspec: {{port: 31113, cableDriver: ipsec}}\n");
        let export = source("c1", "10.20.0.7").replace("[{name: high, port: 31111}]", &format!("[{tier}], {there}"));
        let own = format!(
            "{HEAD} WANCluster\nmetadata: {{name: own, namespace: mc-wan-registry}}\nspec: {{tiers: [{tier}], {here}}}\n"
        );
        World::new(&[sec, export.replace("defaultTier: high", "defaultTier: sec"), own])
    };
    let drivers = "cableDrivers: [ipsec]";
    let table = [
        (drivers, drivers, "[] * sec", "both"),
        (drivers, "cableDrivers: []", "[] * TierNotPermitted", "not here"),
        ("cableDrivers: [vxlan]", drivers, "[] * TierNotPermitted", "not there"),
    ];
    for (there, here, rule, message) in table {
        assert_eq!(rules(world(there, here).payment()), [rule], "{message}");
    }
}

#[test]
fn what_is_wrong_with_policies_is_told() {
    let table = [
        (mk_policy("p", "tiers: [high]"), vec![], "a tier that is known"),
        (mk_policy("p", "tiers: [high, hihg]"), vec!["UnknownTier spec.tiers[1]"], "one that nobody has"),
        (mk_policy("p", "cableDriver: ipsec"), vec!["UnknownDriver spec.cableDriver"], "a driver that nobody has"),
    ];
    for (policy, expected, message) in table {
        let world = World::new(&[source("c1", "10.20.0.7"), policy]);
        assert_eq!(reasons(&world.translator.problems()), expected, "{message}");
    }
    let tiers = json!([{"name": "high", "port": 31111}]);
    let mut world = World::new(&[source("c1", "10.20.0.7"), mk_policy("p", "cableDriver: ipsec")]);
    put(&mut world, "c1", &json!({}), &json!({"tiers": tiers, "cableDrivers": ["ipsec"]}));
    assert_eq!(reasons(&world.translator.problems()), [""; 0], "somebody has it by now");
}
