//! What a thousand `Route`s of `OpenShift` cost: writes, and what they are told.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input};

/// How many there are.
const ROUTES: usize = 1_000;

/// A route of a host that leads to the import.
fn mk_route(number: usize, path: &str, status: &Value) -> WatchEvent {
    let metadata = json!({"name": format!("r{number}"), "namespace": "secure", "uid": format!("u{number}"),
        "creationTimestamp": "2026-11-20T08:00:00Z", "labels": {"mc-wan.l7mp.io/router": "mcwan"}});
    let route = json!({"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": metadata,
        "spec": {"host": format!("h{number}.example.com"), "path": path,
            "to": {"kind": "Service", "name": "payment-secure-high"}},
        "status": status});
    mk_input(Watched::OpenshiftRoute, route)
}

#[test]
fn a_path_of_one_of_a_thousand_is_one_write_of_the_filter_and_one_status() {
    let mut play = Play::of_payment_and((0..ROUTES).map(|number| mk_route(number, "/a", &json!({}))).collect());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.pass(300);
    let told = std::mem::take(&mut play.told);
    let told = |number: usize| {
        let own = told.iter().rev().find(|(key, _)| *key == format!("secure/r{number}"));
        own.map(|(_, status)| status.clone()).expect("it is told")
    };
    assert_eq!(told(7)["ingress"][0]["conditions"][0]["status"], "True");
    for number in 0..ROUTES {
        play.happen(Event::Watch(mk_route(number, "/a", &told(number))));
    }
    play.pass(300);
    assert_eq!(play.told, [], "nothing changed");
    play.written.clear();
    play.happen(Event::Watch(mk_route(7, "/b", &told(7))));
    play.pass(300);
    let kinds: Vec<_> = play.written.iter().map(|id| id.kind).collect();
    assert_eq!(kinds, [Kind::WasmPlugin], "one write of the filter, and none of a route");
    assert_eq!(play.told, [], "it is admitted as before");
    let key = Key::new("secure", "r7");
    play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::OpenshiftRoute, key, version: None }));
    let mut odd = mk_route(8, "/a", &told(8));
    if let WatchEvent::Changed { input: Some(route), .. } = &mut odd {
        route["spec"]["host"] = "H8".into();
    }
    play.happen(Event::Watch(odd));
    play.pass(300);
    assert_eq!(play.told.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["secure/r8"]);
}

#[test]
fn what_others_say_before_the_answer_comes_is_not_lost() {
    let versioned = |version: &str, status: &Value| {
        let mut event = mk_route(0, "/a", status);
        if let WatchEvent::Changed { input: Some(route), .. } = &mut event {
            route["metadata"]["resourceVersion"] = version.into();
        }
        event
    };
    let mut play = Play::of_payment_and(vec![versioned("7", &json!({}))]);
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    let other = json!({"routerName": "default", "host": "h0.example.com"});
    play.meanwhile = Some(Event::Watch(versioned("9", &json!({"ingress": [other]}))));
    play.pass(300);
    let told: Vec<_> = play.told.iter().filter(|(key, _)| key == "secure/r0").map(|(_, status)| status).collect();
    assert_eq!(told.len(), 2, "what was said is gone, and is said again");
    let last = told[1];
    assert_eq!((&last["ingress"][0], &last["ingress"][1]["routerName"]), (&other, &json!("mcwan")));
}
