//! What one who begins to lead goes by.

use std::time::Duration;

use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::observed::{Digest, Istiod, Live, Owner};
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{Answer, Event, ModuleVerdict, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{Play, mk_input};
use crate::translator::mk;

/// What another cluster exports, with so many pods.
fn mk_exported(pods: u32) -> Event {
    let exported = json!({"cluster": "far", "namespace": "secure", "name": "payment", "readyPods": pods,
        "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high",
        "gateways": ["10.20.0.7"]});
    let exported = mk("ExportedService", "mc-wan-registry", "far.secure.payment", &exported);
    Event::Watch(mk_input(Watched::Emitted(Kind::ExportedService), exported))
}

/// Another one has written the routes a moment ago, so gateways may not know them; what is behind them changes before the
/// filter is read.
#[test]
fn live_routes_are_waited_for_whatever_changes_meanwhile() {
    let mut play = Play::of_payment();
    play.pass(60);
    let before = play.steering_values();
    let backend = |tier: &str| json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]);
    let rule = |tier: &str| json!({"matches": [{"path": {"value": format!("/{tier}")}}], "backendRefs": backend(tier)});
    let more = json!({"backendRefs": backend("high"), "timeouts": {"request": "1s"}});
    let rules = json!({"http": {"rules": [rule("high"), rule("low"), more]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.happen(Event::Leading(false));
    play.meanwhile = Some(mk_exported(2));
    play.happen(Event::Leading(true));
    assert!(play.meanwhile.is_none(), "the filter was read");
    play.now = play.now + Duration::from_millis(900);
    play.happen(Event::Time);
    assert_eq!(play.steering_values(), before, "gateways may not know the routes of the rules yet");
    play.pass(5);
    assert_ne!(play.steering_values(), before, "they do by now");
}

/// Another one has written the routes a moment ago, and the filter does not tell for which ports it is.
#[test]
fn routes_that_are_as_wanted_are_waited_for_until_istiod_has_heard_of_them() {
    let mut play = Play::of_payment();
    play.pass(60);
    let route = ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", "payment.8080") };
    play.live(&route).istiod = Istiod::Behind;
    play.tell(&route);
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    let backend = json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]);
    let rules = json!({"http": {"rules": [{"backendRefs": backend}]}});
    let before = play.steering_values();
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.pass(10);
    assert_eq!(play.steering_values(), before, "gateways may not know the routes of the rules yet");
    play.live(&route).istiod = Istiod::UpToDate;
    play.tell(&route);
    play.pass(10);
    assert_ne!(play.steering_values(), before, "they do by now");
}

/// One who led before has sent it at the very end, and it comes once the import was looked at.
#[test]
fn what_shows_an_address_stays_though_it_comes_late() {
    let others = mk("ServiceImport", "else", "theirs", &json!({"type": "ClusterSetIP", "ports": []}));
    let mut play = Play::of_payment_and(vec![mk_input(Watched::Emitted(Kind::McsServiceImport), others)]);
    play.pass(60);
    let backend = json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]);
    let rules = json!({"http": {"rules": [{"backendRefs": backend, "timeouts": {"request": "1s"}}]}});
    play.happen(Event::Leading(false));
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.happen(Event::Leading(true));
    let import = Key::new("secure", "payment");
    let id = ObjectId { kind: Kind::McsServiceImport, key: import.clone() };
    let owner = Owner::Ours(Digest::of_desired(&json!({})));
    let live = Live { version: 1_000, owner, import: Some(Box::new(import)), ..Live::default() };
    assert!(!play.objects.contains_key(&id), "it is yet to come");
    play.objects.insert(id.clone(), (json!({}), live));
    play.tell(&id);
    play.happen(Event::Time);
    assert!(play.objects.contains_key(&id), "gateways are yet to be told of the rules");
}

/// No filter says what gateways have of it: its routes do.
#[test]
fn what_a_native_import_has_stays_whatever_changes_meanwhile() {
    let mut play = Play::of_payment();
    let backend = json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]);
    let spec = json!({"dataPlane": "Native", "http": {"rules": [{"backendRefs": backend}]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec))));
    play.pass(120);
    let before: Vec<_> = play.objects.keys().cloned().collect();
    assert!(before.iter().any(|id| id.kind == Kind::Gateway), "it has a gateway");
    play.happen(Event::Leading(false));
    play.meanwhile = Some(mk_exported(2));
    play.happen(Event::Leading(true));
    assert!(play.meanwhile.is_none(), "something was read");
    for _ in 0..120 {
        play.pass(1);
        let gone: Vec<_> = before.iter().filter(|id| !play.objects.contains_key(*id)).collect();
        assert_eq!(gone, [&before[0]; 0], "at {:?}", play.now);
    }
}

/// An import that is gone when somebody else begins to lead, and back before gateways are told so.
#[test]
fn an_import_that_is_back_before_its_filter_went_has_all_that_it_had() {
    let mut play = Play::of_payment();
    play.pass(60);
    let before = play.steering_values();
    let spec = play.rollout.snapshot().service_imports.get("secure", "payment").map(|import| json!(import.spec));
    play.happen(Event::Leading(false));
    for (kind, key) in [
        (Watched::ServiceImport, Key::new("secure", "payment")),
        (Watched::Emitted(Kind::ExportedService), Key::new("mc-wan-registry", "far.secure.payment")),
    ] {
        play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    }
    play.happen(Event::Leading(true));
    play.happen(mk_exported(1));
    let import = mk("ServiceImport", "secure", "payment", &spec.expect("it was there"));
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, import)));
    for _ in 0..60 {
        play.pass(1);
        assert_eq!(play.steering_values(), before, "at {:?}", play.now);
    }
}

/// What a namespace of before may have left is looked at before its filter is written: not before the deletion is answered.
#[test]
fn a_filter_comes_again_though_the_deletion_of_the_last_got_no_answer() {
    let mut play = Play::of_payment();
    play.pass(60);
    play.unanswered = Some(Kind::WasmPlugin);
    let exported = (Watched::Emitted(Kind::ExportedService), Key::new("mc-wan-registry", "far.secure.payment"));
    let imported = (Watched::ServiceImport, Key::new("secure", "payment"));
    let deleted = |(kind, key), version| Event::Watch(WatchEvent::Deleted { kind, key, version });
    play.happen(deleted(exported, Some(1_000)));
    play.happen(deleted(imported, None));
    play.pass(120);
    let filter = ObjectId { kind: Kind::WasmPlugin, key: Key::new("secure", "mcwan") };
    assert!(!play.objects.contains_key(&filter), "nobody wants it");
    play.happen(deleted((Watched::Emitted(filter.kind), filter.key.clone()), Some(1_000)));
    play.happen(mk_exported(1));
    play.pass(60);
    assert!(!play.objects.contains_key(&filter), "what becomes of the last is not known");
    let result = Err(WriteError::passing(Reason::Timeout, "no answer"));
    play.happen(Event::Answer(Answer::Deleted { id: filter.clone(), result }));
    play.pass(60);
    assert!(play.objects.contains_key(&filter));
}

/// It is of another wire version, or somebody has edited it; the module is not known either, so it stays.
#[test]
fn what_a_filter_that_cannot_be_read_may_steer_to_stays() {
    let mut play = Play::of_payment();
    play.pass(60);
    let before = play.steering_values();
    play.happen(Event::Leading(false));
    let filter = ObjectId { kind: Kind::WasmPlugin, key: Key::new("secure", "mcwan") };
    let (body, live) = play.objects.get_mut(&filter).expect("a filter");
    body["metadata"]["annotations"] = json!({});
    live.owner = Owner::Ours(Digest::of_desired(&json!({})));
    play.tell(&filter);
    play.happen(Event::Module(ModuleVerdict::Unchecked));
    play.happen(Event::Leading(true));
    let backend = json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]);
    let rules = json!({"http": {"rules": [{"backendRefs": backend, "timeouts": {"request": "1s"}}]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    // A value without a route is found by whoever plays.
    play.pass(120);
    assert_eq!(play.steering_values(), before, "the module is not known yet");
    play.happen(Event::Module(ModuleVerdict::Sound));
    play.pass(120);
    assert_ne!(play.steering_values(), before, "its rules are the new ones at last");
}
