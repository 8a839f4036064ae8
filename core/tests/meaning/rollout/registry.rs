//! What the registry is told, and what is made of what it has.

use std::time::Duration;

use mcwan_core::api::limits;
use mcwan_core::emit::kubernetes::Settings;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::liveness::RegistryState;
use mcwan_core::moment::Moment;
use mcwan_core::observed::{Digest, Live, Owner};
use mcwan_core::rollout::{Command, Event, Rollout, Timing, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::translate::{Options, Trust};
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{LEASE, Play, mk_input};
use crate::translator::{mk, mk_cluster_scoped, mk_options, mk_pod, mk_settings};

#[test]
fn without_the_kind_of_exports_nothing_leaves_the_registry() {
    let (exports, exported) = (Watched::ServiceExport, Watched::Emitted(Kind::ExportedService));
    let id = ObjectId { kind: Kind::ExportedService, key: Key::new("mc-wan-registry", "own.secure.ledger") };
    let told_before = |live: &Live| WatchEvent::Changed {
        kind: exported,
        key: id.key.clone(),
        live: Some(live.clone()),
        input: None,
    };
    let live = Live { version: 7, owner: Owner::Ours(Digest::of_desired(&json!({}))), ..Live::default() };
    for is_installed in [false, true] {
        let now = Moment::START;
        let settings = Settings { cluster: Some("own".to_owned()), ..mk_settings() };
        let mut rollout = Rollout::new("own", LEASE, mk_options(), settings, Timing::default(), 1, now);
        rollout.observe(now, told_before(&live));
        for kind in Watched::all().filter(|kind| is_installed || *kind != exports) {
            rollout.observe(now, WatchEvent::Synced { kind });
        }
        if !is_installed {
            rollout.observe(now, WatchEvent::NotInstalled { kind: exports });
        }
        assert!(rollout.is_synced());
        let mut is_deleted_after = |seconds: u64, event: Event| {
            let now = now + Duration::from_secs(seconds);
            let steps = [rollout.step(now, event), rollout.step(now, Event::Time)];
            let mut commands = steps.iter().flat_map(|step| &step.commands);
            commands.any(|command| matches!(command, Command::Delete { id: deleted, .. } if *deleted == id))
        };
        assert_eq!(is_deleted_after(0, Event::Leading(true)), is_installed, "it is known that none is there");
        if !is_installed {
            let synced = Event::Watch(WatchEvent::Synced { kind: exports });
            assert!(!is_deleted_after(60, synced), "the objects may follow their definition");
            assert!(is_deleted_after(90, Event::Time), "none has come");
        }
    }
}

#[test]
fn a_registry_without_policies_is_a_registry() {
    let policies = Watched::ConnectionPolicy;
    let (now, settings) = (Moment::START, mk_settings());
    let mut rollout = Rollout::new("own", LEASE, mk_options(), settings, Timing::default(), 1, now);
    for kind in Watched::all().filter(|kind| *kind != policies) {
        rollout.observe(now, WatchEvent::Synced { kind });
    }
    let later = now + 2 * LEASE;
    assert!(!rollout.is_synced(), "policies may be there");
    rollout.observe(now, WatchEvent::Failed { kind: policies, error: "403".to_owned() });
    assert!(!rollout.is_synced(), "they cannot be read");
    assert!(matches!(rollout.registry_health().look(later), Some(RegistryState::Unreachable(_))));
    rollout.observe(now, WatchEvent::NotInstalled { kind: policies });
    assert!(rollout.is_synced(), "there is none");
    assert_eq!(rollout.registry_health().look(later), Some(&RegistryState::Reachable));
}

#[test]
fn what_cannot_be_read_in_the_registry_is_named_until_it_can_or_is_gone() {
    let mut play = Play::of_payment();
    let name = "far.secure.odd";
    let odd = |labels: Value| {
        let spec = json!({"cluster": "far", "namespace": "secure", "name": "odd", "exportedAt": "2026-11-20T08:00:00Z",
            "ports": [{"port": 1}], "properties": {"labels": labels}});
        let object = mk("ExportedService", "mc-wan-registry", name, &spec);
        Event::Watch(mk_input(Watched::Emitted(Kind::ExportedService), object))
    };
    let unreadable = |play: &Play| play.rollout.unreadable().map(|(_, name)| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(unreadable(&play), [""; 0]);
    play.happen(odd(json!({"bad key!": "a"})));
    assert_eq!(unreadable(&play), [name]);
    play.happen(odd(json!({"team": "a"})));
    assert_eq!(unreadable(&play), [""; 0], "it can");
    play.happen(odd(json!({"team": "bad value!"})));
    assert_eq!(unreadable(&play), [name]);
    let (kind, key) = (Watched::Emitted(Kind::ExportedService), Key::new("mc-wan-registry", name));
    play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    assert_eq!(unreadable(&play), [""; 0], "it is gone");
}

/// Whom the ingress gateway of `secure` refuses, after each ten seconds in which we renew our Lease and `far` does not.
fn refused_over_time(stale_gateways: Option<Duration>, seconds: u64) -> (Vec<Value>, Vec<String>) {
    let gateways = json!([{"namespace": "secure", "addresses": ["10.30.0.9"]}]);
    let mut export = mk("ServiceExport", "secure", "ledger", &json!({}));
    export["metadata"]["annotations"] = json!({"mc-wan.l7mp.io/wan-policy": "high"});
    let lease = |name: &str, renewal: u64| {
        let spec = json!({"renewTime": renewal.to_string(), "leaseDurationSeconds": 30});
        mk_input(Watched::Lease, mk("Lease", "mc-wan-registry", name, &spec))
    };
    let far = mk("WANCluster", "mc-wan-registry", "far", &json!({"tiers": [], "egressGateways": gateways}));
    let service = mk("Service", "secure", "ledger", &json!({"ports": [{"port": 80}]}));
    let options = Options { trust: Trust { stale_gateways, ..Trust::default() }, ..mk_options() };
    let mut play = Play::new(
        options,
        vec![
            mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
            mk_input(Watched::WanPolicy, mk_cluster_scoped("WANPolicy", "high", &json!({"port": 31_111}))),
            mk_input(Watched::Emitted(Kind::WanCluster), far),
            mk_input(Watched::Emitted(Kind::Service), service),
            mk_input(Watched::ServiceExport, export),
            lease("own", 0),
            lease("far", 0),
        ],
    );
    let mut rules = Vec::new();
    for second in (0..seconds).step_by(10) {
        play.pass(10);
        play.happen(Event::Watch(lease("own", second + 1)));
        let policy = play.objects.iter().find(|(id, _)| id.kind == Kind::AuthorizationPolicy).expect("an admission");
        rules.push(policy.1.0["spec"]["rules"][0].clone());
    }
    (rules, play.news)
}

#[test]
fn gateways_of_a_cluster_that_is_stale_for_too_long_are_refused_and_that_is_told_before() {
    let admits = json!({"from": [{"source": {"notIpBlocks": ["10.30.0.9"]}}]});
    let (rules, news) = refused_over_time(None, 600);
    assert!(rules.iter().all(|rule| *rule == admits), "unless it is asked for, nobody is: {rules:?}");
    assert_eq!(news, [""; 0]);
    let (rules, news) = refused_over_time(Some(Duration::from_mins(2)), 140);
    assert!(rules.iter().all(|rule| *rule == admits), "not before its time: {rules:?}");
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(news[0].starts_with("secure/ledger: cluster far does not renew its Lease"), "{news:?}");
    let (rules, _) = refused_over_time(Some(Duration::from_mins(2)), 180);
    assert_eq!(rules.last(), Some(&json!({})), "everybody is refused: no other gateway is known");
}

#[test]
fn addresses_over_the_bound_are_told_of() {
    let mut play = Play::of_payment();
    assert_eq!(play.rollout.untold_gateways(), 0);
    for pod in 0..=limits::ADDRESSES {
        let address = format!("10.{}.{}.1", pod / 256, pod % 256);
        let pod = mk_pod("secure", "mcwan-egress", &format!("pod-{pod}"), &address);
        play.happen(Event::Watch(mk_input(Watched::Pod, pod)));
    }
    assert_eq!(play.rollout.untold_gateways(), 1, "the gateway of one namespace");
}

#[test]
fn a_registry_that_answers_nothing_holds_up_nothing_here() {
    let mut play = Play::of_payment();
    play.pass(60);
    play.unanswered = Some(Kind::ExportedService);
    let ids = (0..600).map(|number| {
        let key = Key::new("mc-wan-registry", format!("own.secure.ledger-{number}"));
        ObjectId { kind: Kind::ExportedService, key }
    });
    for id in ids {
        let live = Live { version: 7, owner: Owner::Ours(Digest::of_desired(&json!({}))), ..Live::default() };
        play.objects.insert(id.clone(), (json!({}), live));
        play.tell(&id);
    }
    play.pass(60);
    let is_exported = |id: &ObjectId| id.kind == Kind::ExportedService;
    assert!(!play.objects.keys().any(is_exported), "each deletion was asked for, and is not answered");
    play.written.clear();
    let rules = json!({"http": {"rules": []}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.pass(60);
    let filter = ObjectId { kind: Kind::WasmPlugin, key: Key::new("secure", "mcwan") };
    assert!(play.written.contains(&filter), "{:?}", play.written);
}
