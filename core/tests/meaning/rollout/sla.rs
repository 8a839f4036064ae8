//! What is measured for rules that go by it, while they change.

use std::collections::BTreeSet;

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
use mcwan_policy::wire::{Action, PluginConfig, WanPath};
use serde_json::{Value, json};

use super::{Play, mk_input};
use crate::translator::{mk, mk_cluster_scoped};

/// The import has a rule that goes by what is measured, and one that waits for a route of its own.
fn choose(play: &mut Play, timeout: &str) {
    let rule = |path: &str, more: Value| {
        let mut rule = json!({"matches": [{"path": {"value": path}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]});
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rule
    };
    let rules =
        [rule("/a", json!({"sla": {"fallbacks": ["low"]}})), rule("/b", json!({"timeouts": {"request": timeout}}))];
    let import = mk("ServiceImport", "secure", "payment", &json!({"http": {"rules": rules}}));
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, import)));
}

/// A world in which that holds.
pub(super) fn choosing() -> Play {
    let mut play = Play::of_payment();
    choose(&mut play, "1s");
    play.pass(60);
    play
}

/// Another cluster exports the service, too.
fn join(play: &mut Play) {
    let tiers = json!([{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]);
    let exported = json!({"cluster": "new", "namespace": "secure", "name": "payment", "readyPods": 1,
        "exportedAt": "2026-11-21T08:00:00Z", "ports": [{"port": 8080}], "gateways": ["10.30.0.7"]});
    for (kind, object) in [
        (Kind::WanCluster, mk("WANCluster", "mc-wan-registry", "new", &json!({"tiers": tiers}))),
        (Kind::ExportedService, mk("ExportedService", "mc-wan-registry", "new.secure.payment", &exported)),
    ] {
        play.happen(Event::Watch(mk_input(Watched::Emitted(kind), object)));
    }
}

fn config(play: &Play) -> PluginConfig {
    let (_, (filter, _)) = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin).expect("a filter");
    serde_json::from_value(filter["spec"]["pluginConfig"].clone()).expect("a config")
}

fn measured(play: &Play) -> Vec<String> {
    config(play).paths.iter().map(|path| format!("{}@{}", path.tier, path.cluster)).collect()
}

/// Each path leads to its cluster through a Service that is there.
fn assert_is_there(play: &Play) {
    for WanPath { cluster, envoy_cluster, .. } in config(play).paths {
        let host = envoy_cluster.rsplit('|').next().unwrap_or_default();
        let service = host.strip_suffix(".mc-wan.svc.cluster.local").expect("a tier service");
        let slices = play.objects.iter().filter(|(id, _)| id.kind == Kind::EndpointSlice);
        let slices = slices.filter(|(_, (slice, _))| {
            let labels = &slice["metadata"]["labels"];
            labels["kubernetes.io/service-name"] == *service
        });
        let led: BTreeSet<_> =
            slices.map(|(id, _)| id.key.name.split('.').nth(1).unwrap_or_default().to_owned()).collect();
        assert!(led.contains(&cluster), "{envoy_cluster} at {:?} leads to {led:?}", play.now);
    }
}

#[test]
fn while_a_cluster_joins_all_that_is_measured_is_there() {
    let mut play = choosing();
    assert_eq!(measured(&play), ["high@far", "low@far"]);
    join(&mut play);
    for _ in 0..90 {
        assert_is_there(&play);
        play.pass(1);
    }
    assert_eq!(measured(&play), ["high@far", "high@new", "low@far", "low@new"]);
}

#[test]
fn what_a_tier_promises_now_is_told_at_once() {
    let mut play = choosing();
    let routes = |play: &Play| play.written.iter().filter(|id| id.kind == Kind::HttpRoute).count();
    let before = routes(&play);
    let spec = json!({"port": 31_111, "sla": {"latencyMs": 50}, "probe": {"interval": "200ms"}});
    play.happen(Event::Watch(mk_input(Watched::WanPolicy, mk_cluster_scoped("WANPolicy", "high", &spec))));
    play.pass(1);
    let high = &config(&play).paths[0];
    assert_eq!((&*high.tier, high.latency_ms, high.interval_ms), ("high", Some(50), 200));
    assert_eq!(routes(&play), before, "no route knows of it");
}

#[test]
fn a_fallback_that_is_taken_away_is_left_while_other_rules_wait_for_their_routes() {
    let mut play = choosing();
    choose(&mut play, "2s");
    let policy = mk("ClusterConnectionPolicy", "mc-wan-registry", "default", &json!({"tiers": ["high"]}));
    play.happen(Event::Watch(mk_input(Watched::ConnectionPolicy, policy)));
    assert_eq!(measured(&play), ["high@far"]);
    let config = config(&play);
    let Action::Choose(choose) = &config.imports[0].rules[0].actions[0] else { panic!("{config:?}") };
    assert_eq!(choose.candidates.len(), 1, "what is left");
}
