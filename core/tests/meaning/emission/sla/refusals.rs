//! What rules cannot ask for.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::native_objects;
use mcwan_policy::wire::{Action, RefuseReason};

use super::{choice, mk_cluster, mk_import, mk_rule, mk_source, mk_world, reasons, to};
use crate::emission::world::World;

const PERMITTED: &str = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ClusterConnectionPolicy\nmetadata: {name: default, \
                         namespace: mc-wan-registry, creationTimestamp: '2026-11-20T08:00:00Z'}\nspec: {tiers: [gold, low]}\n";

/// What rules ask for that cannot be, as conditions tell it.
fn problems(world: &World) -> Vec<String> {
    reasons(&world.payment().problems).into_iter().map(|reason| reason.replace(" spec.http.rules[0].", " ")).collect()
}

#[test]
fn a_fallback_that_cannot_be_is_told_and_the_others_hold() {
    let table = [
        ("fallbacks: [loww, low]", &["BackendNotFound sla.fallbacks[0]"][..], &["gold", "low"][..], "no tier"),
        ("fallbacks: [low, low]", &["InvalidFilter sla.fallbacks[1]"], &["gold", "low"], "there already"),
        ("fallbacks: [gold, low]", &["InvalidFilter sla.fallbacks[0]"], &["gold", "low"], "the backend's own"),
        ("fallbacks: [high, low]", &["TierNotPermitted sla.fallbacks[0]"], &["gold", "low"], "not permitted"),
        (
            "fallbacks: [a, b]",
            &["BackendNotFound sla.fallbacks[0]", "BackendNotFound sla.fallbacks[1]"],
            &["gold"],
            "none",
        ),
        ("fallbacks: [low]", &[], &["gold", "low"], "one that can be"),
    ];
    for (sla, expected, taken, message) in table {
        let documents = [mk_cluster("c1", 1), PERMITTED.to_owned(), mk_import("payment", &[mk_rule(sla)])];
        let world = mk_world(&documents);
        assert_eq!(problems(&world), expected, "{message}");
        let tiers: Vec<_> =
            choice(&world).iter().map(|sources| sources[0].split('@').next().unwrap().to_owned()).collect();
        assert_eq!(tiers, taken, "{message}");
    }
}

#[test]
fn fallbacks_are_for_quality_and_not_for_mistakes() {
    let refused = |backend: &str| {
        let rule = format!("{{backendRefs: [{backend}], sla: {{fallbacks: [low]}}}}");
        let world = mk_world(&[mk_cluster("c1", 1), PERMITTED.to_owned(), mk_import("payment", &[rule])]);
        let [Action::Refuse(refuse)] = &world.payment().wire.rules[0].actions[..] else {
            panic!("{backend}: {:?}", world.payment().wire.rules)
        };
        assert!(world.payment().paths.is_empty(), "{backend}: nothing is measured for it");
        (refuse.reason, problems(&world))
    };
    let at = |reason: &str, field: &str| vec![format!("{reason} {field}")];
    assert_eq!(refused(&to("hihg")), (RefuseReason::BackendNotFound, at("BackendNotFound", "backendRefs[0]")));
    assert_eq!(refused(&to("high")), (RefuseReason::TierNotPermitted, at("TierNotPermitted", "backendRefs[0]")));
}

#[test]
fn what_does_not_choose_among_tiers_cannot_go_by_quality() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: local, namespace: secure}\nspec: {ports: [{port: 8080}]}\n";
    let redirect = "filters: [{type: RequestRedirect, requestRedirect: {hostname: a.example.com}}]";
    for (rule, message) in [
        ("{backendRefs: [{name: local, port: 8080}], sla: {fallbacks: [low]}}".to_owned(), "a Service alone"),
        (format!("{{{redirect}, sla: {{fallbacks: [low]}}}}"), "a redirect"),
    ] {
        let world = mk_world(&[mk_cluster("c1", 1), service.to_owned(), mk_import("payment", &[rule])]);
        let told = problems(&world);
        assert_eq!(told, ["UnsupportedFilter sla"], "{message}");
        assert!(matches!(&world.payment().wire.rules[0].actions[..], [Action::Refuse(_)]), "{message}");
        assert!(world.payment().targets.is_empty(), "{message}: no route is made for it");
    }
    let beside = format!("{{backendRefs: [{}, {{name: local, port: 8080}}], sla: {{}}}}", to("gold"));
    let world = mk_world(&[mk_cluster("c1", 1), service.to_owned(), mk_import("payment", &[beside])]);
    assert_eq!(problems(&world), [""; 0], "a Service beside a tier never moves");
    let actions = &world.payment().wire.rules[0].actions;
    assert!(matches!(&actions[..], [Action::Choose(_), Action::Forward(_)]), "{actions:?}");
}

#[test]
fn more_clusters_than_a_choice_has_are_refused() {
    let export = |number: usize, tiers: &[&str]| {
        let fields = format!("ports: [{{port: 80}}], readyPods: 1, gateways: ['10.20.{number}.7']");
        mk_source(&format!("c{number}"), tiers, &fields)
    };
    let few = (0..16).map(|number| export(number, &["gold", "low"]));
    let documents = |last: &[&str], rule: &str| -> Vec<String> {
        few.clone().chain([export(16, last), mk_import("payment", &[rule.to_owned()])]).collect()
    };
    let rule = mk_rule("fallbacks: [low]");
    assert_eq!(problems(&mk_world(&documents(&[], &rule))), [""; 0], "sixteen");
    let told = problems(&mk_world(&documents(&["gold"], &rule)));
    assert_eq!(told, ["UnsupportedFilter backendRefs[0]"], "one more over the backend's own tier");
    let world = mk_world(&documents(&["low"], &rule));
    assert_eq!(problems(&world), ["UnsupportedFilter sla.fallbacks[0]"], "one more over a fallback");
    assert_eq!(choice(&world).len(), 1, "the own tier holds");
}

#[test]
fn plain_routes_do_not_choose() {
    let plain = format!("{{matches: [{{path: {{value: /a}}}}], backendRefs: [{}]}}", to("gold"));
    let rules = [plain, mk_rule("fallbacks: [low]")];
    let import = mk_import("payment", &rules).replace("spec:\n", "spec:\n  dataPlane: Native\n");
    let world = mk_world(&[mk_cluster("c1", 1), import]);
    assert_eq!(world.payment().data_plane, Some(DataPlane::Native));
    let (objects, problems) = native_objects(&[world.payment()], |_| true);
    let told: Vec<_> = reasons(&problems).into_iter().filter(|told| told.starts_with("Unsupported")).collect();
    assert_eq!(told, ["UnsupportedStatus spec.http.noMatch.status", "UnsupportedFilter spec.http.rules[1]"][1..]);
    let routes = crate::emission::world::of_kind(&objects, mcwan_core::emit::object::Kind::HttpRoute);
    let rules = routes[0].1["spec"]["rules"].as_array().unwrap();
    assert_eq!(rules[0]["backendRefs"][0]["name"], "payment-secure-gold", "the rest works");
    assert_eq!(rules[1].get("backendRefs"), None, "without backends: 500");
}

#[test]
fn routes_cannot_go_by_quality() {
    let route = format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: pay, namespace: secure, \
         creationTimestamp: '2026-11-20T08:00:00Z'}}\nspec:\n  parentRefs: [{{group: multicluster.x-k8s.io, kind: \
         ServiceImport, name: payment}}]\n  rules:\n  - {}\n",
        mk_rule("fallbacks: [low]")
    );
    let gathered = mcwan_core::snapshot::Gathered::from_text("route.yaml", &route);
    let world = mk_world(&[mk_cluster("c1", 1), route]);
    assert!(gathered.is_complete(), "{:?}", gathered.findings);
    let told = reasons(&world.payment().problems);
    assert_eq!(told, ["UnsupportedFilter spec.rules[0].sla"]);
    assert!(matches!(&world.payment().wire.rules[0].actions[..], [Action::Refuse(_)]));
}
