//! Native imports: no filter tells what gateways have, but their routes do.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::emit::kubernetes::names;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::observed::Istiod;
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{Answer, ApplyError, Command, Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::refusals::missing;
use super::{Play, mk_input, no_quota};
use crate::translator::{mk, mk_pod};

#[test]
fn a_native_import_keeps_what_its_routes_lead_to_until_others_are_taken() {
    let import = |tier: &str| {
        let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier});
        let spec = json!({"dataPlane": "Native", "http": {"rules": [{"backendRefs": [backend]}]}});
        Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec)))
    };
    let mut play = Play::of_payment();
    play.happen(import("high"));
    play.pass(120);
    play.refused = Some(no_quota(Kind::HttpRoute));
    // Tiers of their own for each cluster.
    let tiers = json!({"tiers": [{"name": "low", "port": 31_112}]});
    let far = mk("WANCluster", REGISTRY_NAMESPACE, "far", &tiers);
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), far)));
    play.happen(import("low"));
    play.pass(120);
    assert_eq!(missing(&play), BTreeSet::new(), "as long as routes are refused");
    play.refused = None;
    play.pass(120);
    assert_eq!(missing(&play), BTreeSet::new());
    let high = |(id, _): (&ObjectId, _)| id.kind == Kind::Service && *id.key.name == *"payment-secure-high";
    assert!(!play.objects.iter().any(high), "it goes in the end");
}

#[test]
fn native_routes_that_are_there_lead_somewhere_however_many_versions_follow() {
    let change = |play: &mut Play, tier: &str, number: u32| {
        let tiers = json!({"tiers": [{"name": tier, "port": if tier == "high" { 31_111 } else { 31_112 }}]});
        let far = mk("WANCluster", REGISTRY_NAMESPACE, "far", &tiers);
        play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), far)));
        let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier});
        let path = json!([{"path": {"value": format!("/{number}")}}]);
        let spec = json!({"dataPlane": "Native", "http": {"rules": [{"matches": path, "backendRefs": [backend]}]}});
        play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec))));
    };
    let leads_to_low = |play: &Play| {
        let mut routes = play.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
        routes.any(|(_, (route, _))| route.to_string().contains("payment-secure-low"))
    };
    let mut play = Play::of_payment();
    let all: Vec<_> = play.objects.keys().cloned().collect();
    change(&mut play, "high", 0);
    play.pass(120);
    for ObjectId { kind, key } in all.into_iter().filter(|id| !play.objects.contains_key(id)).collect::<Vec<_>>() {
        let kind = Watched::Emitted(kind);
        play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    }
    change(&mut play, "low", 1);
    while !leads_to_low(&play) {
        play.now = play.rollout.next(play.now).expect("something is due").max(play.now);
        play.happen(Event::Time);
    }
    // The next is wanted, and refused, before the one before it holds.
    play.refused = Some(no_quota(Kind::HttpRoute));
    for number in 2..20 {
        change(&mut play, "high", number);
        play.pass(60);
        assert!(leads_to_low(&play) && missing(&play).is_empty(), "{number}: {:?}", missing(&play));
    }
    play.refused = None;
    play.pass(120);
    assert!(!leads_to_low(&play) && missing(&play).is_empty());
}

#[test]
fn a_native_import_is_put_right_however_long_its_routes_were_refused() {
    let import = |number: u32| {
        let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"});
        let path = json!([{"path": {"value": format!("/{number}")}}]);
        let spec = json!({"dataPlane": "Native", "http": {"rules": [{"matches": path, "backendRefs": [backend]}]}});
        Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec)))
    };
    let routes = |play: &Play| {
        let routes = play.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
        routes.map(|(_, (route, _))| route.to_string()).collect::<String>()
    };
    let mut play = Play::of_payment();
    play.happen(import(0));
    play.pass(120);
    play.refused = Some(no_quota(Kind::HttpRoute));
    for number in 1..20 {
        play.happen(import(number));
        play.pass(60);
        assert!(routes(&play).contains("\"/0\"") && missing(&play).is_empty(), "{number}");
    }
    play.refused = None;
    play.pass(120);
    assert!(routes(&play).contains("\"/19\""), "{}", routes(&play));
}

/// What an import with these rules looks like to a watch.
fn mk_native(namespace: &str, name: &str, tiers: &[&str]) -> Event {
    let rule = |tier: &&str| {
        json!({"matches": [{"path": {"value": format!("/{tier}")}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
    };
    let rules: Vec<_> = tiers.iter().map(rule).collect();
    let spec = json!({"dataPlane": "Native", "http": {"rules": rules}});
    Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", namespace, name, &spec)))
}

/// A cluster exports a service.
fn exports(play: &mut Play, cluster: &str, name: &str, port: u16) {
    let tiers = json!({"tiers": [{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]});
    let exported = json!({"cluster": cluster, "namespace": "secure", "name": name, "readyPods": 1,
        "exportedAt": "2026-11-20T09:00:00Z", "ports": [{"port": port}], "defaultTier": "high",
        "gateways": ["10.30.0.7"]});
    let key = format!("{cluster}.secure.{name}");
    for (kind, object) in [
        (Kind::WanCluster, mk("WANCluster", REGISTRY_NAMESPACE, cluster, &tiers)),
        (Kind::ExportedService, mk("ExportedService", REGISTRY_NAMESPACE, &key, &exported)),
    ] {
        play.happen(Event::Watch(mk_input(Watched::Emitted(kind), object)));
    }
}

/// A cluster that exports no more.
fn withdraws(cluster: &str) -> Event {
    let key = Key::new(REGISTRY_NAMESPACE, format!("{cluster}.secure.payment"));
    Event::Watch(WatchEvent::Deleted { kind: Watched::Emitted(Kind::ExportedService), key, version: None })
}

#[test]
fn whoever_takes_over_leaves_live_native_routes_what_they_lead_to() {
    for are_refused in [false, true] {
        let mut play = Play::of_payment();
        play.happen(mk_native("secure", "payment", &["high"]));
        exports(&mut play, "near", "payment", 8080);
        play.pass(120);
        play.happen(Event::Leading(false));
        play.happen(withdraws("near"));
        play.refused = are_refused.then(|| no_quota(Kind::HttpRoute));
        play.happen(Event::Leading(true));
        for _ in 0..600 {
            assert_eq!(missing(&play), BTreeSet::new(), "at {:?}, refused: {are_refused}", play.now);
            play.now = play.now + Duration::from_millis(100);
            play.happen(Event::Time);
        }
        play.refused = None;
        play.pass(120);
        assert_eq!(missing(&play), BTreeSet::new());
        let near = |id: &&ObjectId| id.kind == Kind::Service && id.key.name.contains("near");
        assert_eq!(play.objects.keys().find(near), None, "it goes in the end");
    }
}

#[test]
fn whoever_takes_over_leads_native_routes_to_what_gateways_know() {
    let mut play = Play::of_payment();
    play.happen(mk_native("secure", "payment", &["high"]));
    play.pass(120);
    play.happen(Event::Leading(false));
    exports(&mut play, "near", "payment", 8080);
    let routes = |play: &Play| {
        let routes = play.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
        routes.map(|(_, (route, _))| route.to_string()).collect::<String>()
    };
    play.happen(Event::Leading(true));
    play.now = play.now + Duration::from_millis(900);
    play.happen(Event::Time);
    assert!(routes(&play).contains("payment-secure-high") && !routes(&play).contains("near"), "{}", routes(&play));
    play.pass(60);
    assert!(routes(&play).contains("near"), "{}", routes(&play));
}

#[test]
fn whoever_takes_over_changes_nothing_that_is_as_it_should_be() {
    let mut play = Play::of_payment();
    exports(&mut play, "far", "billing", 9090);
    exports(&mut play, "far", "audit", 7070);
    play.happen(mk_native("secure", "billing", &["high"]));
    play.happen(mk_native("secure", "audit", &["low"]));
    play.pass(120);
    let native = ObjectId { kind: Kind::Gateway, key: Key::new("secure", "mcwan-egress-native") };
    assert!(play.objects.contains_key(&native), "{:?}", play.objects.keys());
    let before: Vec<_> = play.objects.keys().cloned().collect();
    play.written.clear();
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    play.pass(120);
    assert_eq!(play.written, []);
    assert_eq!(play.objects.keys().cloned().collect::<Vec<_>>(), before);
}

#[test]
fn what_native_routes_led_to_stays_until_istiod_has_heard_of_others() {
    let mut play = Play::of_payment();
    play.happen(mk_native("secure", "payment", &["high"]));
    play.pass(120);
    let route = ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", "payment.8080") };
    let high = ObjectId { kind: Kind::Service, key: Key::new("mc-wan", "payment-secure-high") };
    let says = |play: &mut Play, istiod: Istiod| {
        play.live(&route).istiod = istiod;
        play.tell(&route);
    };
    says(&mut play, Istiod::UpToDate);
    let tiers = json!({"tiers": [{"name": "low", "port": 31_112}]});
    let far = mk("WANCluster", REGISTRY_NAMESPACE, "far", &tiers);
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), far)));
    play.happen(mk_native("secure", "payment", &["low"]));
    while !play.objects[&route].0.to_string().contains("payment-secure-low") {
        play.pass(1);
    }
    says(&mut play, Istiod::Behind);
    play.pass(20);
    assert!(play.objects.contains_key(&high), "gateways go by the routes of before");
    says(&mut play, Istiod::UpToDate);
    play.pass(60);
    assert!(!play.objects.contains_key(&high));
}

/// A view's import has the name of its service in it.
#[test]
fn the_route_of_a_view_is_not_one_of_the_import_of_its_name() {
    assert!(names::is_route_of("payment.8080", "payment") && names::is_route_of("payment.8080.001", "payment"));
    assert!(!names::is_route_of("payment.other.8080", "payment"));
}

#[test]
fn a_cluster_that_withdraws_takes_its_share_of_native_requests_along() {
    let mut play = Play::of_payment();
    play.happen(mk_native("secure", "payment", &["high"]));
    exports(&mut play, "near", "payment", 8080);
    play.pass(120);
    let slice = |play: &Play, cluster: &str| {
        let name = format!("payment-secure-high.{cluster}.ipv4");
        play.objects.contains_key(&ObjectId { kind: Kind::EndpointSlice, key: Key::new("mc-wan", name) })
    };
    assert!(slice(&play, "far"), "{:?}", play.objects.keys());
    play.happen(withdraws("far"));
    play.pass(5);
    assert!(slice(&play, "near") && !slice(&play, "far"), "{:?}", play.objects.keys());
}

#[test]
fn a_native_import_is_programmed_though_istiod_says_nothing_of_routes() {
    let mut play = Play::of_payment();
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    for gateway in ["mcwan-egress", "mcwan-egress-native"] {
        play.happen(Event::Watch(mk_input(Watched::Pod, mk_pod("secure", gateway, gateway, "10.30.0.9"))));
    }
    play.happen(mk_native("secure", "payment", &["high"]));
    play.pass(120);
    let route = ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", "payment.8080") };
    play.live(&route).istiod = Istiod::Behind;
    play.tell(&route);
    play.happen(mk_native("secure", "payment", &["low"]));
    play.pass(120);
    assert!(is_programmed(&play), "{:?}", play.told.last());
}

/// Whether the import is told that gateways do what it says.
fn is_programmed(play: &Play) -> bool {
    let said = &play.told.iter().rfind(|(key, _)| key == "secure/payment").expect("it is told").1["conditions"];
    let programmed = said.as_array().into_iter().flatten().find(|known| known["type"] == "Programmed");
    programmed.is_some_and(|known| known["status"] == "True")
}

#[test]
fn a_native_import_is_programmed_once_gateways_know_its_listeners() {
    let mut play = Play::of_payment();
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.happen(Event::Watch(mk_input(
        Watched::Pod,
        mk_pod("secure", names::NATIVE_EGRESS_GATEWAY, "pod", "10.30.0.9"),
    )));
    play.refused = Some(no_quota(Kind::Gateway));
    play.happen(mk_native("secure", "payment", &["high"]));
    play.pass(120);
    assert!(!is_programmed(&play), "its gateway is refused");
    play.refused = None;
    let gateway = ObjectId { kind: Kind::Gateway, key: Key::new("secure", names::NATIVE_EGRESS_GATEWAY) };
    let is_made = (0..60).any(|_| {
        play.pass(1);
        play.objects.contains_key(&gateway)
    });
    assert!(is_made, "nothing refuses it");
    assert!(!is_programmed(&play), "its gateway was just made");
    play.pass(10);
    assert!(is_programmed(&play), "{:?}", play.told.last());
}

#[test]
fn a_route_whose_write_fails_once_its_import_is_native_is_written_natively() {
    let mut play = Play::of_payment();
    play.pass(120);
    play.slow = Some(Kind::HttpRoute);
    let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "low"});
    let rules = json!({"http": {"rules": [{"backendRefs": [backend], "timeouts": {"request": "1s"}}]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.pass(5);
    let under_way = std::mem::take(&mut play.under_way);
    assert!(!under_way.is_empty(), "a route is on its way");
    play.happen(mk_native("secure", "payment", &["low"]));
    play.pass(5);
    play.slow = None;
    for command in under_way {
        let Command::Apply { object, desired, .. } = command else { panic!("{command:?} is no write") };
        let error = WriteError::passing(Reason::Timeout, "no answer");
        let result = Err(ApplyError::Failed(error));
        play.happen(Event::Answer(Answer::Applied { id: object.id, desired, result }));
    }
    play.pass(120);
    let route = ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", "payment.8080") };
    let parent = &play.objects[&route].0["spec"]["parentRefs"][0]["name"];
    assert_eq!(parent, names::NATIVE_EGRESS_GATEWAY);
}
