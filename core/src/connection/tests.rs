use std::num::NonZeroU16;

use super::*;
use crate::problem::Reason;
use crate::snapshot::Gathered;

/// Clusters `a` and `b` on premise, `c` in the cloud. All have a plain tier, one of each driver, and both drivers.
const CLUSTERS: [(&str, &str); 3] = [("a", "premise"), ("b", "premise"), ("c", "cloud")];
const SPEC: &str = "{cableDrivers: [vxlan, ipsec], tiers: [{name: high, port: 1}, {name: low, port: 2, cableDriver: vxlan}, \
                    {name: sec, port: 3, cableDriver: ipsec}]}";
const CLOUD: &str = "{matchLabels: {env: cloud}}";
const PREMISE: &str = "{matchLabels: {env: premise}}";

fn mk(kind: &str, metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: mc-wan.l7mp.io/v1alpha1, kind: {kind}, metadata: {{namespace: mc-wan-registry, {metadata}}}, spec: {spec}}}\n"
    )
}

fn mk_policy(name: &str, spec: &str) -> String {
    mk("ClusterConnectionPolicy", &format!("name: {name}"), spec)
}

/// Of pairs of a cluster in the cloud and one on premise.
fn mk_between(name: &str, rest: &str) -> String {
    mk_policy(name, &format!("{{leftClusterSelector: {CLOUD}, rightClusterSelector: {PREMISE}{rest}}}"))
}

fn mk_clusters() -> Vec<String> {
    CLUSTERS.map(|(name, env)| mk("WANCluster", &format!("name: {name}, labels: {{env: {env}}}"), SPEC)).into()
}

fn mk_snapshot(documents: &[String]) -> Snapshot {
    Gathered::from_text("test.yaml", &documents.join("---\n")).snapshot
}

/// What holds between `a` and `c`: `policy`, `!` and those that conflict, tiers with why not.
fn told(snapshot: &Snapshot) -> String {
    let all = Connections::new(snapshot);
    let connection = all.between("a", "c").unwrap();
    assert_eq!(all.between("c", "a"), Some(connection.clone()), "both ends compute the same");
    assert_eq!(all.of("a").find(|(name, _)| ***name == *"c").map(|(_, same)| same), Some(connection.clone()));
    let mut told = vec![connection.policy.as_deref().unwrap_or("-").to_owned()];
    if !connection.conflicting.is_empty() {
        told.push(format!("!{}", connection.conflicting.join(",")));
    }
    told.extend(connection.tiers.iter().map(|TierVerdict { name, port: _, refusal }| match refusal {
        Some(Refusal { reason, cause: Cause::Policy }) => format!("{name}:{reason}"),
        Some(Refusal { reason, cause: Cause::Lists }) => format!("{name}:{reason}?"),
        None => name.to_string(),
    }));
    told.join(" ")
}

fn told_of(policies: &[String]) -> String {
    told(&mk_snapshot(&[mk_clusters(), policies.to_vec()].concat()))
}

/// Every tier is refused for one reason.
fn none(reason: Reason) -> String {
    format!("high:{reason} low:{reason} sec:{reason}")
}

#[test]
fn the_policy_that_matches_holds() {
    let default = |rest: &str| mk_policy("default", rest);
    let not = "high:NotInPolicy";
    let table = [
        (vec![], "- high low sec".to_owned(), "without policies, any tier"),
        (
            vec![default("{tiers: [high]}")],
            "default high low:NotInPolicy sec:NotInPolicy".into(),
            "none matches: default",
        ),
        (vec![mk_between("p", "")], "p high low sec".into(), "one matches"),
        (
            vec![mk_between("p", "").replace("leftC", "xC").replace("rightC", "leftC").replace("xC", "rightC")],
            "p high low sec".into(),
            "the other way round",
        ),
        (
            vec![mk_between("p", ", cableDriver: ipsec"), default("{tiers: []}")],
            format!("p {not} low:NotInPolicy sec"),
            "one that matches holds in place of default; a tier without a driver has not the driver",
        ),
        (vec![mk_between("p", ", tiers: []")], format!("p {}", none(Reason::NotInPolicy)), "an empty list is none"),
        (
            vec![mk_between("p", ", tiers: [low, sec], cableDriver: vxlan")],
            format!("p {not} low sec:NotInPolicy"),
            "both",
        ),
        (vec![mk_policy("p", "{}")], "p high low sec".into(), "one that matches either way round counts once"),
        (
            vec![mk_policy(
                "p",
                &format!("{{leftClusterSelector: {CLOUD}, rightClusterSelector: {CLOUD}, tiers: []}}"),
            )],
            "- high low sec".into(),
            "one that takes the same cluster by both selectors does not match",
        ),
        (
            vec![mk_policy(
                "p",
                "{leftClusterSelector: {matchLabels: {kubernetes.io/metadata.name: c}}, tiers: [high]}",
            )],
            "p high low:NotInPolicy sec:NotInPolicy".into(),
            "a cluster by its name",
        ),
        (
            vec![mk_policy(
                "p",
                "{leftClusterSelector: {matchLabels: {kubernetes.io/metadata.name: d}}, tiers: [high]}",
            )],
            "- high low sec".into(),
            "by another name",
        ),
        (vec![mk_between("p", ", tiers: [other]")], format!("p {}", none(Reason::NotInPolicy)), "an unknown tier"),
        (vec![mk_between("p", ", cableDriver: wg")], format!("p {}", none(Reason::NotInPolicy)), "an unknown driver"),
        (vec![mk_between("p", ", cableDriver: IPSEC")], format!("p {}", none(Reason::NotInPolicy)), "one in capitals"),
    ];
    for (policies, expected, message) in table {
        assert_eq!(told_of(&policies), expected, "{message}");
    }
}

#[test]
fn of_several_none_holds_unless_it_is_to_be_the_oldest() {
    let default = |flag: &str| mk_policy("default", &format!("{{{flag}}}"));
    let (p, q) = (mk_between("p", ", tiers: [high]"), mk_between("q", ", tiers: [low]"));
    let dated = |policy: &str, time: &str| {
        policy.replace("metadata: {", &format!("metadata: {{creationTimestamp: '2026-11-{time}T08:00:00Z', "))
    };
    let conflict = format!("- !p,q {}", none(Reason::PolicyConflict));
    let (of_p, of_q) = ("p !p,q high low:NotInPolicy sec:NotInPolicy", "q !p,q high:NotInPolicy low sec:NotInPolicy");
    let table = [
        (vec![p.clone(), q.clone()], conflict.as_str(), "no default"),
        (vec![p.clone(), p.replace("name: p", "name: q")], &conflict, "even if they are alike"),
        (vec![p.clone(), q.clone(), default("")], &conflict, "a default that does not say"),
        (vec![p.clone(), q.clone(), default("noConnectOnConflict: true")], &conflict, "none is to hold"),
        (vec![p.clone(), q.clone(), default("noConnectOnConflict: false")], of_p, "the oldest, still marked"),
        (
            vec![dated(&p, "02"), dated(&q, "01"), default("noConnectOnConflict: false")],
            of_q,
            "the oldest is not the first",
        ),
        (
            vec![dated(&q, "01"), dated(&p, "01"), default("noConnectOnConflict: false")],
            of_p,
            "of one age, the first by name",
        ),
        (
            vec![p.clone(), q.replace("tiers", "noConnectOnConflict: false, tiers")],
            &conflict,
            "the flag elsewhere is not obeyed",
        ),
        (
            vec![p.clone(), q.clone(), default("noConnectOnConflict: false, leftClusterSelector: {}")],
            &conflict,
            "nor that of a default that is none",
        ),
        (vec![p.clone(), q.clone(), default("noConnectOnConflict: 'no'")], &conflict, "nor one that cannot be read"),
    ];
    for (policies, expected, message) in table {
        assert_eq!(told_of(&policies), expected, "{message}");
    }
}

#[test]
fn what_cannot_be_read_connects_nobody() {
    let unreadable = |rest: &str| mk_policy("bad", &format!("{{leftClusterSelector: {{matchExpressions: [{rest}]}}}}"));
    let elsewhere = "rightClusterSelector: {matchLabels: {env: edge}}";
    let invalid = format!("bad {}", none(Reason::InvalidPolicy));
    let both = format!("- !bad,p {}", none(Reason::InvalidPolicy));
    let default_invalid = format!("default {}", none(Reason::InvalidPolicy));
    let table = [
        (vec![unreadable("{key: env, operator: Is}")], invalid.as_str(), "an unknown operator"),
        (vec![unreadable("{key: env, operator: In}")], &invalid, "In without values"),
        (vec![unreadable("{key: e nv, operator: Exists}")], &invalid, "a key that no label has"),
        (vec![unreadable("{key: env, operator: In}"), mk_between("p", "")], &both, "whatever else matches"),
        (
            vec![
                unreadable("{key: env, operator: In}"),
                mk_between("p", ""),
                mk_policy("default", "{noConnectOnConflict: false}"),
            ],
            &both,
            "whatever becomes of conflicts",
        ),
        (
            vec![unreadable("{key: env, operator: In}").replace("spec: {", &format!("spec: {{{elsewhere}, "))],
            "- high low sec",
            "the other selector can be read, and takes neither",
        ),
        (vec![mk_policy("bad", "{tier: []}")], &invalid, "a policy that cannot be read matches every pair"),
        (vec![mk_policy("default", "{tier: []}")], &default_invalid, "a default that cannot be read"),
        (vec![mk_policy("default", "{tier: []}"), mk_between("p", "")], "p high low sec", "where it decides"),
        (vec![mk_policy("default", "{leftClusterSelector: {}}")], &default_invalid, "a default with a selector"),
    ];
    for (policies, expected, message) in table {
        assert_eq!(told_of(&policies), expected, "{message}");
    }
}

#[test]
fn what_is_over_a_bound_connects_nobody() {
    let names = |count| (0..count).map(|number| format!("n{number}")).collect::<Vec<_>>();
    let of_values = |count| {
        let values = names(count).join(", ");
        let selector = format!("{{matchExpressions: [{{key: env, operator: In, values: [cloud, {values}]}}]}}");
        mk_policy("p", &format!("{{leftClusterSelector: {selector}}}"))
    };
    let of_requirements = |count: usize| {
        let absent = names(count - 1).join(", operator: DoesNotExist}, {key: ");
        let selector =
            format!("{{matchLabels: {{env: cloud}}, matchExpressions: [{{key: {absent}, operator: DoesNotExist}}]}}");
        mk_policy("p", &format!("{{leftClusterSelector: {selector}}}"))
    };
    let too_large = format!("p {}", none(Reason::TooLarge));
    let edge = "{leftClusterSelector: {matchLabels: {env: edge}}}";
    let others = |count| names(count).iter().map(|name| mk_policy(name, edge)).collect::<Vec<_>>();
    let table = [
        (vec![of_values(63)], "p high low sec", "64 values"),
        (vec![of_values(64)], &too_large, "65 values"),
        (vec![of_values(64).replace("[cloud, ", "[")], "- high low sec", "it takes neither"),
        (vec![of_requirements(16)], "p high low sec", "16 requirements"),
        (vec![of_requirements(17)], &too_large, "17 requirements"),
        (vec![mk_between("p", &format!(", tiers: [high, {}]", names(16).join(", ")))], &too_large, "17 tiers"),
        ([others(255), vec![mk_between("p", "")]].concat(), "p high low sec", "256 policies"),
        ([others(256), vec![mk_between("p", "")]].concat(), &too_large, "the surplus"),
        ([vec![mk_between("p", "")], others(256)].concat(), "p high low sec", "it is the youngest"),
        (
            [others(256), vec![mk_policy("p", edge)]].concat(),
            "- high low sec",
            "of pairs that it does not match, no word",
        ),
    ];
    for (policies, expected, message) in table {
        assert_eq!(told_of(&policies), expected, "{message}");
    }
}

#[test]
fn a_tier_is_what_both_clusters_have_alike() {
    let with = |name: &str, spec: &str| mk("WANCluster", &format!("name: {name}"), spec);
    let of = |tier: &str| format!("{{cableDrivers: [vxlan], tiers: [{{name: t, {tier}}}]}}");
    let plain = of("port: 1");
    let vxlan = of("port: 1, cableDriver: vxlan");
    let none_in = |name: &str| mk_policy(name, "{tiers: []}");
    let table = [
        (plain.clone(), plain.clone(), vec![], "- t", "alike"),
        (plain.clone(), "{}".to_owned(), vec![], "- t:NotOffered?", "one does not have it"),
        (plain.clone(), of("port: 2"), vec![], "- t:TierPortMismatch?", "another port"),
        (vxlan.clone(), vxlan.clone(), vec![], "- t", "one driver"),
        (vxlan.clone(), plain.clone(), vec![], "- t:TierDriverMismatch", "a driver and none"),
        (vxlan.clone(), vxlan.replace("r: vxlan", "r: wg"), vec![], "- t:TierDriverMismatch", "another driver"),
        (
            vxlan.clone(),
            vxlan.replace("port: 1, cableDriver: vxlan", "port: 2"),
            vec![],
            "- t:TierPortMismatch",
            "the port comes first, the driver forbids it all the same",
        ),
        (vxlan.clone(), vxlan.replace("[vxlan]", "[]"), vec![], "- t:DriverNotSupported", "one does not support it"),
        (vxlan.clone(), "{}".to_owned(), vec![], "- t:NotOffered", "nor has it"),
        (
            vxlan.replace("[vxlan]", "[]"),
            vxlan.replace("[vxlan]", "[]"),
            vec![none_in("p")],
            "p t:NotInPolicy",
            "the policy comes before what is supported",
        ),
        (plain.clone(), "{}".to_owned(), vec![none_in("p")], "p t:NotOffered", "the policy forbids it all the same"),
        (
            vxlan.clone(),
            plain.clone(),
            vec![none_in("p"), none_in("q")],
            "- !p,q t:TierDriverMismatch",
            "drivers come before a conflict",
        ),
    ];
    for (a, c, policies, expected, message) in table {
        let documents = [vec![with("a", &a), with("c", &c)], policies].concat();
        assert_eq!(told(&mk_snapshot(&documents)), expected, "{message}");
    }
}

#[test]
fn a_tier_has_the_port_that_clusters_agree_on() {
    let with = |name: &str, tiers: &str| mk("WANCluster", &format!("name: {name}"), &format!("{{tiers: [{tiers}]}}"));
    let documents = [
        with("a", "{name: one, port: 1}, {name: same, port: 2}, {name: two, port: 3}"),
        with("c", "{name: same, port: 2}, {name: two, port: 4}, {name: last, port: 5}"),
    ];
    let all = Connections::new(&mk_snapshot(&documents));
    let connection = all.between("a", "c").unwrap();
    let ports: Vec<_> = connection.tiers.iter().map(|tier| (&*tier.name, tier.port.map(NonZeroU16::get))).collect();
    assert_eq!(ports, [("last", Some(5)), ("one", Some(1)), ("same", Some(2)), ("two", None)]);
    let permitted: Vec<_> = connection.permitted().map(|tier| &*tier.name).collect();
    assert_eq!(permitted, ["same"]);
    assert!(connection.tier("two").is_some() && connection.tier("three").is_none());
}

#[test]
fn no_label_stands_for_a_name() {
    let named = "kubernetes.io/metadata.name";
    let posing = mk("WANCluster", &format!("name: c, labels: {{{named}: b}}"), SPEC);
    let policy = mk_policy("p", &format!("{{leftClusterSelector: {{matchLabels: {{{named}: b}}}}, tiers: []}}"));
    let documents = [mk_clusters().into_iter().take(2).collect(), vec![posing, policy]].concat();
    assert_eq!(told(&mk_snapshot(&documents)), "- high low sec");
}

#[test]
fn a_connection_has_a_state() {
    let of = |policies: &[String]| {
        let all = Connections::new(&mk_snapshot(&[mk_clusters(), policies.to_vec()].concat()));
        let connection = all.between("a", "c").unwrap();
        [Liveness::Live, Liveness::Stale].map(|liveness| connection.state(liveness))
    };
    let lenient = mk_policy("default", "{noConnectOnConflict: false}");
    let table = [
        (vec![], [ConnectionState::Connected, ConnectionState::Stale], "a tier is permitted"),
        (vec![mk_policy("p", "{tiers: []}")], [ConnectionState::NotConnected; 2], "none is"),
        (vec![mk_policy("p", "{}"), mk_policy("q", "{}"), lenient], [ConnectionState::Conflict; 2], "still marked"),
    ];
    for (policies, expected, message) in table {
        assert_eq!(of(&policies), expected, "{message}");
    }
}

#[test]
fn there_is_no_pair_without_two_clusters() {
    let all = Connections::new(&mk_snapshot(&mk_clusters()));
    for (one, other, message) in [("a", "a", "one cluster"), ("a", "d", "not in the registry"), ("d", "a", "nor here")]
    {
        assert_eq!(all.between(one, other), None, "{message}");
        assert_eq!(all.considered(one, other), None, "{message}");
    }
    assert_eq!(all.of("a").map(|(name, _)| name.to_string()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(all.of("d").count(), 0);
}

#[test]
fn what_changes_is_as_if_it_had_been_so() {
    let policies = [mk_between("p", ", tiers: [sec]"), mk_policy("default", "{tiers: [high]}")];
    let whole = mk_snapshot(&[mk_clusters(), policies.to_vec()].concat());
    let expected = Connections::new(&whole);
    let mut all = Connections::new(&mk_snapshot(&mk_clusters()));
    all.use_policies(Policies::new(&whole));
    let relabelled = Member::new("c", [(&"env".to_owned(), &"edge".to_owned())], &[], &[]);
    let as_it_was = expected.members().find(|member| member.name() == "c").unwrap().clone();
    assert!(all.put(relabelled) && all.put(as_it_was.clone()) && !all.put(as_it_was), "it tells what is news");
    assert!(all.put(Member::new("d", [], &[], &[])) && all.remove("d") && !all.remove("d"));
    for (one, other) in [("a", "b"), ("a", "c"), ("b", "c")] {
        assert_eq!(all.between(one, other), expected.between(one, other), "{one} {other}");
    }
}

#[test]
fn names_that_mean_nothing_are_told() {
    let tier = "{apiVersion: mc-wan.l7mp.io/v1alpha1, kind: WANPolicy, metadata: {name: own}, spec: {port: 9, cableDriver: wg}}\n";
    let policies = [
        mk_policy("p", "{tiers: [high, own, hihg], cableDriver: ipsec}"),
        mk_policy("q", "{cableDriver: ipsce}"),
        mk_policy("r", "{cableDriver: wg, tiers: [low]}"),
    ];
    let snapshot = mk_snapshot(&[mk_clusters(), policies.to_vec(), vec![tier.to_owned()]].concat());
    let told: Vec<_> = problems(&snapshot)
        .into_iter()
        .map(|problem| (problem.object.name, problem.field.to_string(), problem.reason))
        .collect();
    let expected = [("p", "spec.tiers[2]", Reason::UnknownTier), ("q", "spec.cableDriver", Reason::UnknownDriver)];
    assert_eq!(told, expected.map(|(name, field, reason)| (name.to_owned(), field.to_owned(), reason)));
    let many: Vec<_> = (0..257).map(|number| mk_policy(&format!("n{number}"), "{}")).collect();
    let told: Vec<_> = problems(&mk_snapshot(&many)).into_iter().map(|problem| problem.object.name).collect();
    assert_eq!(told, ["n256"], "the youngest is too much");
}
