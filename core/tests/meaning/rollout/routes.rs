//! What users' routes are told, and how often.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input};
use crate::translator::mk;

/// A route below the import, with a rule for a path, and what it is told.
fn mk_route(name: &str, path: &str, generation: u64, status: &Value) -> Event {
    let parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment"});
    let rule = json!({"matches": [{"path": {"value": path}}],
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]});
    let mut route = mk("HTTPRoute", "secure", name, &json!({"parentRefs": [parent], "rules": [rule]}));
    route["metadata"]["generation"] = generation.into();
    route["metadata"]["resourceVersion"] = generation.to_string().into();
    route["status"] = status.clone();
    Event::Watch(mk_input(Watched::Emitted(Kind::HttpRoute), route))
}

#[test]
fn a_route_is_told_once_of_what_changed() {
    let mut play = Play::of_payment();
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    let import = Key::new("secure", "payment");
    play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::ServiceImport, key: import, version: None }));
    let names = ["a", "b", "c"];
    for name in names {
        play.happen(mk_route(name, "/", 1, &json!({})));
    }
    play.pass(300);
    let told = std::mem::take(&mut play.told);
    let told = |name: &str| {
        let of_route = told.iter().rev().find(|(key, _)| *key == format!("secure/{name}"));
        of_route.map(|(_, status)| status.clone()).expect("it is told")
    };
    for name in names {
        play.happen(mk_route(name, "/", 1, &told(name)));
    }
    play.pass(300);
    let keys = |play: &Play| play.told.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&play), [""; 0], "nothing changed");
    play.happen(mk_route("b", "/other", 2, &told("b")));
    play.pass(300);
    assert_eq!(keys(&play), ["secure/b"], "the others are told nothing new");
}

#[test]
fn where_somebody_else_was_faster_a_route_is_told_again() {
    let theirs = json!({"parentRef": {"name": "edge"}, "controllerName": "x/y", "conditions": []});
    for (heard, message) in [(false, "though nobody has heard of it"), (true, "beside what he said")] {
        let mut play = Play::of_payment();
        play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
        play.pass(60);
        play.told.clear();
        play.conflicts = 1;
        play.happen(mk_route("a", "/", 1, &json!({})));
        let before = if heard { vec![theirs.clone()] } else { Vec::new() };
        if heard {
            play.happen(mk_route("a", "/", 1, &json!({"parents": before})));
        }
        play.pass(60);
        let told: Vec<_> = play.told.iter().filter(|(key, _)| key == "secure/a").map(|(_, status)| status).collect();
        let [_, last] = &told[..] else { panic!("{message}: once in vain, and once more: {told:?}") };
        let parents = last["parents"].as_array().unwrap();
        assert_eq!((parents.len(), &parents[..before.len()]), (before.len() + 1, &before[..]), "{message}");
    }
}
