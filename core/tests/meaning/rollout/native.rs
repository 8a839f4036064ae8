//! Native imports: no filter tells what gateways have, but their routes do.

use std::collections::BTreeSet;

use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::watched::Watched;
use serde_json::json;

use super::refusals::missing;
use super::{Play, mk_input, no_quota};
use crate::translator::mk;

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
