//! Rules that leave a tier that does not keep its promise.

mod explained;
mod paths;
mod refusals;
mod withdrawn;

use std::slice;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{Provenance, steering_value_of, tier_services};
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::translate::Import;
use mcwan_policy::wire::{self, Action, Choose, PluginConfig, UnknownHosts, WhenNoneInSla};
use serde_json::{Value, json};

use super::world::{World, at, import_objects, mk_export, mk_import, of_kind, reasons, settings};

const HEAD: &str = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind:";

/// A world with the tiers `high`, `gold` and `low`, of which all but the first promise something.
fn mk_world(documents: &[String]) -> World {
    let tier = |name: &str, fields: &str| format!("{HEAD} WANPolicy\nmetadata: {{name: {name}}}\nspec: {{{fields}}}\n");
    let gold = "port: 31113, sla: {latencyMs: 50, jitterMs: 10, lossPercent: '0.5'}, probe: {interval: 200ms}";
    let tiers = [tier("gold", gold), tier("low", "port: 31112, sla: {latencyMs: 0}")];
    World::new(&[&tiers[..], documents].concat())
}

/// A cluster that has these tiers and exports the service with these fields.
fn mk_source(cluster: &str, tiers: &[&str], fields: &str) -> String {
    let port = |tier: &str| match tier {
        "high" => 31_111,
        "low" => 31_112,
        _ => 31_113,
    };
    let tiers: Vec<_> = tiers.iter().map(|tier| format!("{{name: {tier}, port: {}}}", port(tier))).collect();
    let tiers = format!("[{}]", tiers.join(", "));
    mk_export(cluster, fields).replace("[{name: high, port: 31111}]", &tiers)
}

/// One that has all tiers, and so many pods.
fn mk_cluster(cluster: &str, pods: u32) -> String {
    let address = if cluster == "c1" { "10.20.1.7" } else { "10.20.2.7" };
    let fields = format!("ports: [{{port: 8080}}], readyPods: {pods}, gateways: [{address}]");
    mk_source(cluster, &["high", "gold", "low"], &fields)
}

/// A backendRef to a tier.
fn to(tier: &str) -> String {
    format!("{{group: mc-wan.l7mp.io, kind: WANPolicy, name: {tier}}}")
}

/// A rule that sends requests over `gold`, with this `sla`.
fn mk_rule(sla: &str) -> String {
    format!("{{backendRefs: [{}], sla: {{{sla}}}}}", to("gold"))
}

/// Each candidate of an action: its sources with their weights and paths, by the names of targets.
fn candidates(import: &Import, action: &Action) -> Vec<Vec<String>> {
    let Action::Choose(Choose { candidates, .. }) = action else { panic!("no choice: {action:?}") };
    let source = |source: &wire::Source| {
        let target = &import.targets[usize::try_from(source.target).unwrap()];
        let path = source.path.map(|path| {
            let path = &import.paths[usize::try_from(path).unwrap()];
            format!(" {}@{}", path.tier, path.cluster)
        });
        format!("{} {}{}", target.name, source.weight, path.unwrap_or_default())
    };
    candidates.iter().map(|candidate| candidate.sources.iter().map(source).collect()).collect()
}

fn choice(world: &World) -> Vec<Vec<String>> {
    let import = world.payment();
    candidates(import, &import.wire.rules[0].actions[0])
}

fn objects(import: &Import) -> Vec<Object> {
    import_objects(import, &settings(DataPlane::Wasm)).0
}

/// Namespace, name, port and weight of what the rule for a target sends requests to that come by the first port, or by the
/// second.
fn backends(import: &Import, target: &str, port: usize) -> Vec<String> {
    let objects = objects(import);
    let value = import.targets.iter().find(|known| known.name == target).expect("a target").steering_value();
    let rules = at(of_kind(&objects, Kind::HttpRoute)[port].1, "/spec/rules").as_array().unwrap().clone();
    let rule = rules.iter().find(|rule| steering_value_of(rule) == Some(&*value)).expect("a rule");
    let text = |one: &Value| {
        let [namespace, name] = ["namespace", "name"].map(|field| one[field].as_str().unwrap());
        format!("{namespace}/{name}:{} {}", one["port"], one["weight"])
    };
    at(rule, "/backendRefs").as_array().unwrap().iter().map(text).collect()
}

fn config(imports: &[&Import]) -> PluginConfig {
    serde_json::from_str(&Plugin::new(imports, UnknownHosts::Pass).unwrap().json).unwrap()
}

#[test]
fn requests_choose_among_tiers_and_clusters() {
    let import = |sla: &str| mk_import("payment", &[mk_rule(sla)]);
    let (one, two) = (mk_cluster("c1", 3), mk_cluster("c2", 1));
    let table = [
        (vec![one.clone()], "", vec![vec!["gold@c1 1 gold@c1"]], "one tier of one cluster"),
        (vec![one.clone(), two.clone()], "", vec![vec!["gold@c1 3 gold@c1", "gold@c2 1 gold@c2"]], "by ready pods"),
        (
            vec![one.clone()],
            "fallbacks: [low, high]",
            vec![vec!["gold@c1 1 gold@c1"], vec!["low@c1 1 low@c1"], vec!["high@c1 1 high@c1"]],
            "fallbacks in their order",
        ),
        (
            vec![one.clone(), mk_cluster("own", 2)],
            "fallbacks: [low]",
            vec![vec!["gold@c1 3 gold@c1", "gold@own 2"], vec!["low@c1 3 low@c1", "low@own 2"]],
            "nothing is measured to this cluster",
        ),
        (
            vec![one.clone(), mk_cluster("c2", 0)],
            "",
            vec![vec!["gold@c1 3 gold@c1", "gold@c2 0 gold@c2"]],
            "a cluster without pods takes nothing",
        ),
        (
            vec![one, mk_source("c2", &["low"], "ports: [{port: 8080}], readyPods: 1, gateways: [10.20.2.7]")],
            "fallbacks: [low]",
            vec![vec!["gold@c1 1 gold@c1"], vec!["low@c1 3 low@c1", "low@c2 1 low@c2"]],
            "each tier has clusters of its own",
        ),
    ];
    for (clusters, sla, expected, message) in table {
        let world = mk_world(&[&clusters[..], &[import(sla)]].concat());
        assert_eq!(choice(&world), expected, "{message}");
        assert_eq!(reasons(&world.payment().problems), [""; 0], "{message}");
    }
}

#[test]
fn a_fallback_has_the_filters_and_timeouts_of_the_backend() {
    let filter = "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: b}]}}";
    let rule = format!(
        "{{backendRefs: [{{group: mc-wan.l7mp.io, kind: WANPolicy, name: gold, weight: 3, filters: [{filter}]}}, {}], \
         timeouts: {{request: 2s}}, sla: {{fallbacks: [low], whenNoneInSla: Refuse}}}}",
        to("low")
    );
    let world = mk_world(&[mk_cluster("c1", 1), mk_import("payment", &[rule])]);
    let import = world.payment();
    let [Action::Choose(gold), Action::Choose(low)] = &import.wire.rules[0].actions[..] else {
        panic!("{:?}", import.wire.rules)
    };
    assert_eq!([gold.weight, low.weight], [3, 1]);
    assert_eq!([gold.when_none_in_sla, low.when_none_in_sla], [WhenNoneInSla::Refuse; 2]);
    let target = |choose: &Choose, place: usize| {
        &import.targets[usize::try_from(choose.candidates[place].sources[0].target).unwrap()]
    };
    assert_eq!(target(gold, 0).forwarding, target(gold, 1).forwarding, "the backend's");
    assert_eq!(target(gold, 1).forwarding.backend_headers.request.set.len(), 1);
    assert_eq!(low.candidates.len(), 1, "a backend does not fall back to its own tier");
    assert!(target(low, 0).forwarding.backend_headers.is_empty(), "another backend's");
    assert_ne!(target(gold, 1).name, target(low, 0).name, "so these are two routes");
    assert_eq!(import.paths.len(), 2, "what is measured is the same");
}

#[test]
fn each_target_leads_to_one_cluster_through_what_is_measured() {
    for clusters in [&["c1"][..], &["c1", "c2"], &["c1", "c2", "own"]] {
        let exports = clusters.iter().map(|cluster| mk_cluster(cluster, 1));
        let import = mk_import("payment", &[mk_rule("fallbacks: [low]")]);
        let world = mk_world(&exports.chain([import]).collect::<Vec<_>>());
        let import = world.payment();
        for path in &import.paths {
            let (tier, cluster) = (&path.tier, &path.cluster);
            let led = backends(import, &format!("{tier}@{cluster}"), 0);
            let [led] = &led[..] else { panic!("{led:?}") };
            let (service, port) = led.strip_prefix("mc-wan/").and_then(|led| led.split_once(':')).unwrap();
            let port = port.strip_suffix(" 1").expect("all requests");
            let expected = format!("outbound|{port}||{service}.mc-wan.svc.cluster.local");
            assert_eq!(path.envoy_cluster, expected, "{clusters:?}: {tier} {cluster}");
            let objects = objects(import);
            let slices = of_kind(&objects, Kind::EndpointSlice).into_iter();
            let behind: Vec<_> = slices
                .filter(|(_, slice)| at(slice, "/metadata/labels")["kubernetes.io/service-name"] == *service)
                .map(|(_, slice)| at(slice, "/endpoints/0/addresses/0"))
                .collect();
            let address = if cluster == "c1" { "10.20.1.7" } else { "10.20.2.7" };
            assert_eq!(behind, [&json!(address)], "{clusters:?}: {tier} {cluster}");
        }
        if clusters.contains(&"own") {
            assert_eq!(backends(import, "gold@own", 0), ["secure/payment:8080 1"], "this cluster's pods");
        }
    }
}

#[test]
fn on_a_port_that_a_cluster_lacks_its_target_leads_to_those_that_have_it() {
    let both = "ports: [{port: 8080}, {port: 9090, name: more}], readyPods: 2";
    let tiers = ["gold", "low"];
    let world = mk_world(&[
        mk_source("c1", &tiers, &format!("{both}, gateways: [10.20.1.7]")),
        mk_source("c2", &tiers, "ports: [{port: 8080}], readyPods: 5, gateways: [10.20.2.7]"),
        mk_import("payment", &[mk_rule("")]),
    ]);
    let import = world.payment();
    assert_eq!(import.ports, [8080, 9090]);
    assert_eq!(choice(&world), [["gold@c1 2 gold@c1", "gold@c2 5 gold@c2"]], "the filter does not look at ports");
    let to_c1 = backends(import, "gold@c1", 0).remove(0);
    let to_c2 = backends(import, "gold@c2", 0).remove(0);
    assert_ne!(to_c1, to_c2);
    let share = |service: &str, weight: u32| format!("{}{weight}", service.strip_suffix('1').unwrap());
    assert_eq!(backends(import, "gold@c1", 1), slice::from_ref(&to_c1));
    assert_eq!(backends(import, "gold@c2", 1), [share(&to_c1, 2), share(&to_c2, 0)]);
}

#[test]
fn its_rules_are_known_again() {
    let ports = "ports: [{port: 8080}, {port: 9090, name: more}], readyPods: 2, gateways: [10.20.1.7]";
    let clusters = [mk_source("c1", &["gold", "low"], ports), mk_cluster("c2", 1), mk_cluster("own", 1)];
    let rule = mk_rule("fallbacks: [low]").replace("sla:", "timeouts: {request: 1s}, sla:");
    let world = mk_world(&[&clusters[..], &[mk_import("payment", &[rule])]].concat());
    let (key, services) = ("0123456789abcdef".parse().unwrap(), tier_services(world.payment()));
    let provenance = Provenance {
        namespace: "secure",
        name: "payment",
        steering_key: &key,
        services: &services,
        tiers: &[("high", 31_111), ("low", 31_112), ("gold", 31_113)],
    };
    let objects = objects(world.payment());
    let rules = of_kind(&objects, Kind::HttpRoute).into_iter().map(|(_, route)| at(route, "/spec/rules"));
    let rules: Vec<_> = rules.flat_map(|rules| rules.as_array().unwrap()).collect();
    assert_eq!(rules.len(), 12, "two tiers of three clusters, on two ports");
    assert!(rules.iter().all(|rule| provenance.is_own(rule)));
    let names: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| name.split('.').all(mcwan_policy::is_label)), "{names:?}");
}

/// Everything that is made for rules without `sla` is as it was, whatever other rules ask for.
#[test]
fn other_rules_are_left_as_they_are() {
    let plain = format!("{{matches: [{{path: {{value: /a}}}}], backendRefs: [{}, {}]}}", to("gold"), to("low"));
    let clusters = [mk_cluster("c1", 3), mk_cluster("c2", 1), mk_cluster("own", 1)];
    let world = |rules: &[String]| mk_world(&[&clusters[..], &[mk_import("payment", rules)]].concat());
    let (before, now) = (world(slice::from_ref(&plain)), world(&[plain, mk_rule("fallbacks: [low]")]));
    assert_eq!(now.payment().wire.rules[0], before.payment().wire.rules[0], "its actions name the same targets");
    let (old, new) = (objects(before.payment()), objects(now.payment()));
    let with_routes = |objects: &[Object]| {
        let routes = of_kind(objects, Kind::HttpRoute);
        routes.into_iter().flat_map(|(_, route)| at(route, "/spec/rules").as_array().unwrap().clone()).collect()
    };
    let (old_rules, new_rules): (Vec<Value>, Vec<Value>) = (with_routes(&old), with_routes(&new));
    assert!(old_rules.iter().all(|rule| new_rules.contains(rule)), "its routes");
    let others = |objects: Vec<Object>| -> Vec<Object> {
        objects.into_iter().filter(|object| object.id.kind != Kind::HttpRoute).collect()
    };
    assert_eq!(others(new), others(old), "and what they lead to");
    let told = |world: &World| Plugin::new(&[world.payment()], UnknownHosts::Pass).unwrap().json;
    assert!(!told(&before).contains("paths"), "nothing is measured where no rule goes by it");
    assert_eq!(config(&[now.payment()]).paths.len(), 4, "two tiers of two clusters");
}
