//! Rules that change all the time.

use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{Play, mk_input};
use crate::translator::mk;

/// How often they change, and how long.
const PERIOD: Duration = Duration::from_millis(50);
const CHANGES: u32 = 1_200;
/// For how long gateways may go without anything new: wishes replace each other for a while, and the one that is under way
/// then takes its time.
const LONGEST: Duration = Duration::from_secs(8);

/// The import with a rule that needs a route of its own: no other has this limit.
fn mk_import(limit: &str) -> Event {
    let rule = json!({"matches": [{"path": {"value": "/high"}}], "timeouts": {"request": limit},
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]});
    let spec = json!({"http": {"rules": [rule]}});
    Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec)))
}

/// The limits that the routes of the import have.
fn limits(play: &Play) -> Vec<&str> {
    let routes = play.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
    let rules = routes.flat_map(|(_, (route, _))| route["spec"]["rules"].as_array().into_iter().flatten());
    rules.filter_map(|rule| rule["timeouts"]["request"].as_str()).collect()
}

#[test]
fn rules_that_change_faster_than_gateways_can_be_told_come_into_force() {
    let mut play = Play::of_payment();
    play.pass(60);
    play.written.clear();
    let mut last = play.now;
    for change in 0..CHANGES {
        play.happen(mk_import(&format!("{}ms", 1_000 + change)));
        play.now = play.now + PERIOD;
        play.happen(Event::Time);
        if play.written.drain(..).any(|id| id.kind == Kind::WasmPlugin) {
            last = play.now;
        }
        assert!(play.now < last + LONGEST, "gateways have waited since {last:?}, by change {change}");
    }
    play.pass(60);
    assert_eq!(limits(&play), ["2s199ms"], "the last is what counts, and nothing else is left");
}

#[test]
fn routes_that_the_next_version_needs_too_stay() {
    let mut play = Play::of_payment();
    play.pass(1);
    // They are written, and gateways are not steered to them yet.
    play.now = play.now + Duration::from_millis(500);
    let rule = |tier: &str| {
        json!({"matches": [{"path": {"value": format!("/other/{tier}")}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
    };
    let spec = json!({"http": {"rules": [rule("high"), rule("low")]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec))));
    play.pass(60);
    assert_eq!(play.written.iter().filter(|id| id.kind == Kind::HttpRoute).count(), 1, "it is written once");
    assert!(play.objects.keys().any(|id| id.kind == Kind::HttpRoute), "and was not deleted");
    assert_eq!(play.steering_values().len(), 2, "the filter steers to both tiers");
}

#[test]
fn a_change_waits_no_longer_as_an_older_one_leaves() {
    let mut play = Play::of_payment();
    play.pass(60);
    let change = |play: &mut Play, timeout: &str| {
        let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"});
        let rules = json!({"http": {"rules": [{"backendRefs": [backend], "timeouts": {"request": timeout}}]}});
        play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    };
    change(&mut play, "1s");
    play.pass(30);
    let before = play.steering_values();
    play.now = play.now + Duration::from_millis(500);
    change(&mut play, "2s");
    // The filter with the change before was written a lead after that: the routes of the rules before leave meanwhile.
    let routes = play.written.iter().filter(|id| id.kind == Kind::HttpRoute).count();
    play.pass(1);
    assert!(play.written.iter().filter(|id| id.kind == Kind::HttpRoute).count() > routes, "others have left");
    assert!(play.steering_values().is_disjoint(&before), "gateways have had the lead");
}
