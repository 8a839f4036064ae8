//! What the API server does not take.

use std::collections::BTreeSet;

use mcwan_core::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{Play, mk_input, no_quota};
use crate::translator::mk;

/// The Services that routes lead to and that are not there, or that they may not lead to.
pub(super) fn missing(play: &Play) -> BTreeSet<&str> {
    let grants = play.objects.iter().filter(|(id, _)| id.kind == Kind::ReferenceGrant);
    let granted = grants.flat_map(|(_, (grant, _))| grant["spec"]["to"].as_array().into_iter().flatten());
    let granted: BTreeSet<_> = granted.filter_map(|to| to["name"].as_str()).collect();
    let routes = play.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
    let rules = routes.flat_map(|(_, (route, _))| route["spec"]["rules"].as_array().into_iter().flatten());
    let backends = rules.flat_map(|rule| rule["backendRefs"].as_array().into_iter().flatten());
    let names = backends.filter(|backend| backend["namespace"] == TIER_NAMESPACE).filter_map(|it| it["name"].as_str());
    let is_there = |name: &&str| {
        let id = ObjectId { kind: Kind::Service, key: Key::new(TIER_NAMESPACE, *name) };
        play.objects.contains_key(&id) && granted.contains(name)
    };
    names.filter(|name| !is_there(name)).collect()
}

/// Who gives no answer refuses nothing, however long that lasts.
#[test]
fn routes_wait_for_what_they_lead_to_unless_that_is_refused() {
    let unanswered = (Kind::Service, WriteError::passing(Reason::Timeout, "no answer"));
    for (refused, waits, message) in [(unanswered, true, "no answer"), (no_quota(Kind::Service), false, "a refusal")] {
        let mut play = Play::of_payment();
        play.pass(60);
        play.refused = Some(refused);
        // Of two clusters, each has a Service of its own.
        let tiers = json!({"tiers": [{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]});
        let exported = json!({"cluster": "near", "namespace": "secure", "name": "payment", "readyPods": 1,
            "exportedAt": "2026-11-20T09:00:00Z", "ports": [{"port": 8080}], "gateways": ["10.30.0.7"]});
        let objects = [
            (Kind::WanCluster, mk("WANCluster", REGISTRY_NAMESPACE, "near", &tiers)),
            (Kind::ExportedService, mk("ExportedService", REGISTRY_NAMESPACE, "near.secure.payment", &exported)),
        ];
        for (kind, object) in objects {
            play.happen(Event::Watch(mk_input(Watched::Emitted(kind), object)));
        }
        play.pass(120);
        assert_eq!(missing(&play).is_empty(), waits, "{message}: {:?}", missing(&play));
        play.refused = None;
        play.pass(120);
        assert_eq!(missing(&play), BTreeSet::new(), "{message}: they are there in the end");
    }
}

/// What is under way may be taken after all, however long that lasts.
#[test]
fn routes_that_are_under_way_are_not_refused() {
    let mut play = Play::of_payment();
    change(&mut play, "/any", &["1s"]);
    play.pass(60);
    play.slow = Some(Kind::HttpRoute);
    change(&mut play, "/other", &["1s", "2s"]);
    play.pass(60);
    assert!(!play.under_way.is_empty() && filter(&play).contains("\"/any\""), "what was there goes on");
    play.slow = None;
    for write in std::mem::take(&mut play.under_way) {
        let answer = play.carry_out(write).expect("it is taken");
        play.happen(Event::Answer(answer));
    }
    play.pass(60);
    assert!(filter(&play).contains("\"/other\""));
    assert_eq!(play.steering_values().len(), 2);
}

/// The rules of the import change: a path, and for each limit a target of its own.
fn change(play: &mut Play, path: &str, limits: &[&str]) {
    let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"});
    let rule = |limit: &&str| json!({"matches": [{"path": {"value": path}}], "backendRefs": [backend], "timeouts": {"request": limit}});
    let rules: Vec<_> = limits.iter().map(rule).collect();
    let import = mk("ServiceImport", "secure", "payment", &json!({"http": {"rules": rules}}));
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, import)));
}

/// What the filter is told.
fn filter(play: &Play) -> String {
    let filter = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin);
    filter.map(|(_, (body, _))| body.to_string()).unwrap_or_default()
}

#[test]
fn a_change_of_an_import_with_a_refused_route_takes_nothing_from_its_others() {
    let mut play = Play::of_payment();
    change(&mut play, "/any", &["1s"]);
    play.pass(60);
    let known = play.steering_values();
    assert_eq!(known.len(), 1);
    play.refused = Some(no_quota(Kind::HttpRoute));
    for (path, limits) in [("/any", &["1s", "2s"][..]), ("/other", &["1s", "2s"]), ("/other", &["1s"])] {
        change(&mut play, path, limits);
        play.pass(120);
        assert_eq!(play.steering_values(), known, "{path} with {limits:?}: what there is a route for goes on");
    }
    assert!(filter(&play).contains("\"/other\""));
}

#[test]
fn wishes_go_on_however_long_something_is_refused() {
    let service = mk("Service", "secure", "payment-clusterset", &json!({"ports": [{"port": 8080}]}));
    let foreign = mk_input(Watched::Emitted(Kind::Service), service);
    for (more, refused, message) in [
        (vec![], Some(no_quota(Kind::HttpRoute)), "routes"),
        (vec![foreign], None, "somebody else has the Service that clients call"),
    ] {
        let mut play = Play::of_payment_and(more);
        change(&mut play, "/any", &["1s"]);
        play.pass(60);
        play.refused = refused;
        for number in 0..20 {
            change(&mut play, &format!("/{number}"), &["1s", &format!("{}s", 2 + number)]);
            play.pass(120);
            assert!(filter(&play).contains(&format!("\"/{number}\"")), "{message}: by change {number}");
        }
        play.refused = None;
        let (kind, key) = (Watched::ServiceImport, Key::new("secure", "payment"));
        play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
        play.pass(200);
        assert!(!filter(&play).contains("\"/19\""), "{message}: its rules go with it");
    }
}

/// One that is too large by itself is refused by itself: no change of its neighbours waits for another's refused route.
#[test]
fn an_import_that_is_too_large_delays_no_neighbour() {
    let exported = |name: &str| {
        let spec = json!({"cluster": "far", "namespace": "secure", "name": name, "readyPods": 1, "defaultTier": "high",
            "exportedAt": "2026-11-20T07:00:00Z", "ports": [{"port": 8080}], "gateways": ["10.20.0.7"]});
        let object = mk("ExportedService", REGISTRY_NAMESPACE, &format!("far.secure.{name}"), &spec);
        mk_input(Watched::Emitted(Kind::ExportedService), object)
    };
    let import = |name: &str, paths: &[String]| {
        let rule = |path: &String| {
            json!({"matches": [{"path": {"value": path}}],
                "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]})
        };
        let rules: Vec<_> = paths.iter().map(rule).collect();
        mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", name, &json!({"http": {"rules": rules}})))
    };
    let long = |number: usize| format!("/{number}/{}", "x".repeat(1_000));
    let large = import("books", &(0..1_100).map(long).collect::<Vec<_>>());
    let more = vec![exported("books"), exported("orders"), large, import("orders", &["/before".to_owned()])];
    let mut play = Play::of_payment_and(more);
    play.pass(60);
    let has = |play: &Play, text: &str| filter(play).contains(text);
    assert!(has(&play, "\"books\"") && !has(&play, "xxx"), "there is room for its hosts alone");
    assert!(has(&play, "\"/before\""));
    play.refused = Some(no_quota(Kind::HttpRoute));
    change(&mut play, "/any", &["1s"]);
    play.pass(2);
    play.happen(Event::Watch(import("orders", &["/after".to_owned()])));
    play.pass(1);
    assert!(has(&play, "\"/after\""), "it needs no route, and payment is waited for");
}
