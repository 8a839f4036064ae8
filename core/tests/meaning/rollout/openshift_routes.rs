//! `Route`s of `OpenShift`: what a thousand cost, what they are told, and which Secrets they may have.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Event, Rollout, Timing, WatchEvent};
use mcwan_core::snapshot::{Key, of_hosts};
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{LEASE, Play, mk_input};
use crate::translator::{mk, mk_options, mk_settings};

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

/// The same by TLS, with the certificate of a Secret.
fn mk_tls_route(secret: &str) -> WatchEvent {
    let mut event = mk_route(0, "/a", &json!({}));
    if let WatchEvent::Changed { input: Some(route), .. } = &mut event {
        route["spec"]["tls"] = json!({"termination": "edge", "externalCertificate": {"name": secret}});
    }
    event
}

fn secrets(names: &[&str]) -> BTreeSet<Key> {
    names.iter().map(|name| Key::new("secure", *name)).collect()
}

fn may_read(secret: &str, may: bool) -> BTreeMap<Key, bool> {
    BTreeMap::from([(Key::new("secure", secret), may)])
}

#[test]
fn nobody_leads_before_it_is_told_which_named_secrets_may_be_read() {
    for (route, named) in [(mk_tls_route("a-tls"), &["a-tls"][..]), (mk_route(0, "/a", &json!({})), &[])] {
        let now = Moment::START;
        let mut rollout = Rollout::new("own", LEASE, mk_options(), mk_settings(), Timing::default(), 1, now);
        rollout.observe(now, route);
        assert_eq!(rollout.named_secrets(), None, "there may be more");
        for kind in Watched::all() {
            rollout.observe(now, WatchEvent::Synced { kind });
        }
        assert_eq!(rollout.named_secrets(), Some(secrets(named)), "all are known");
        assert_eq!(rollout.is_synced(), named.is_empty(), "{named:?}: who names none waits for nobody");
        drop(rollout.step(now, Event::ReadableSecrets(may_read("a-tls", false))));
        assert!(rollout.is_synced(), "{named:?}: it is told");
        assert_eq!(rollout.named_secrets(), None, "nothing changed");
        rollout.observe(now, mk_tls_route("b-tls"));
        let all = [named, &["b-tls"]].concat();
        assert_eq!(
            rollout.named_secrets(),
            Some(secrets(&all)),
            "another is named, and the one before until that is told"
        );
    }
}

#[test]
fn a_route_is_served_as_it_was_until_it_is_told_whether_its_secret_may_be_read() {
    let mut play = Play::of_payment_and(Vec::new());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    play.happen(Event::Watch(mk_route(1, "/a", &json!({}))));
    play.pass(300);
    let shows = |play: &Play, secret: &str| {
        let mut gateways = play.objects.iter().filter(|(id, _)| id.kind == Kind::Gateway);
        gateways.any(|(_, (gateway, _))| gateway.to_string().contains(secret))
    };
    assert!(!shows(&play, "a-tls"), "nobody has said anything of it");
    play.happen(Event::ReadableSecrets(may_read("a-tls", true)));
    play.pass(300);
    assert!(shows(&play, "a-tls"));
    assert_eq!(play.rollout.named_secrets(), Some(secrets(&["a-tls"])));
    (play.written, play.told) = (Vec::new(), Vec::new());
    play.happen(Event::Watch(mk_tls_route("b-tls")));
    assert_eq!(play.rollout.named_secrets(), Some(secrets(&["a-tls", "b-tls"])), "it is served with the one meanwhile");
    play.pass(300);
    assert_eq!((&*play.written, &*play.told), (&[][..], &[][..]), "nobody has said anything of the other Secret");
    play.happen(Event::Watch(mk_route(1, "/b", &json!({}))));
    play.pass(300);
    assert!(play.told.iter().all(|(key, _)| key != "secure/r0"), "what becomes of its neighbours is nothing to it");
    assert!(shows(&play, "a-tls"));
    play.written.clear();
    let both = [may_read("a-tls", true), may_read("b-tls", true)].into_iter().flatten().collect();
    play.happen(Event::ReadableSecrets(both));
    play.pass(300);
    assert!(shows(&play, "b-tls") && !shows(&play, "a-tls"), "it may be read");
    assert!(play.written.iter().all(|id| id.kind == Kind::Gateway), "it is served all the time: {:?}", play.written);
    play.happen(Event::ReadableSecrets(may_read("b-tls", false)));
    assert!(!shows(&play, "b-tls"), "it may be read no more, whatever gateways have of before");
    play.pass(300);
    let (_, status) = play.told.last().expect("it is told");
    let said = &status["ingress"][0]["conditions"][0];
    assert_eq!((&said["status"], &said["reason"]), (&json!("False"), &json!("ExtendedValidationFailed")), "{said}");
}

#[test]
fn a_certificate_goes_at_once_though_routes_change_all_the_time() {
    let mut play = Play::of_payment_and(Vec::new());
    play.happen(Event::ReadableSecrets(may_read("a-tls", true)));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    play.pass(60);
    let shows = |play: &Play| {
        let mut gateways = play.objects.iter().filter(|(id, _)| id.kind == Kind::Gateway);
        gateways.any(|(_, (gateway, _))| gateway.to_string().contains("a-tls"))
    };
    // Each of them needs a route of its own.
    let change = |play: &mut Play, number: u32| {
        let mut event = mk_route(1, "/a", &json!({}));
        if let WatchEvent::Changed { input: Some(route), .. } = &mut event {
            route["metadata"]["annotations"] = json!({"haproxy.router.openshift.io/timeout": format!("{number}ms")});
        }
        play.happen(Event::Watch(event));
        play.now = play.now + Duration::from_millis(50);
        play.happen(Event::Time);
    };
    for number in 1_000..1_110 {
        change(&mut play, number);
    }
    assert!(shows(&play));
    play.happen(Event::ReadableSecrets(may_read("a-tls", false)));
    assert!(!shows(&play), "rules wait for each other, and it does not");
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

#[test]
fn a_route_that_waits_for_its_secret_goes_with_it() {
    let mut play = Play::of_payment_and(Vec::new());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    assert_eq!(play.rollout.named_secrets(), Some(secrets(&["a-tls"])));
    let key = Key::new("secure", "r0");
    play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::OpenshiftRoute, key, version: None }));
    assert_eq!(play.rollout.named_secrets(), Some(secrets(&[])));
    play.happen(Event::ReadableSecrets(may_read("a-tls", true)));
    play.pass(300);
    assert!(play.told.iter().all(|(key, _)| key != "secure/r0"), "{:?}", play.told);
}

#[test]
fn a_route_that_is_made_again_keeps_what_was_said_of_its_secret_until_there_is_an_answer() {
    let mut play = Play::of_payment_and(Vec::new());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.happen(Event::ReadableSecrets(may_read("a-tls", true)));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    play.pass(300);
    let key = Key::new("secure", "r0");
    play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::OpenshiftRoute, key, version: None }));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    play.told.clear();
    // What is told meanwhile was asked while nobody named it.
    play.happen(Event::ReadableSecrets(BTreeMap::new()));
    play.pass(300);
    let said: Vec<_> = play.told.iter().map(|(_, status)| &status["ingress"][0]["conditions"][0]["status"]).collect();
    assert!(said.iter().all(|status| **status == "True"), "nobody has said no: {said:?}");
    play.happen(Event::ReadableSecrets(may_read("a-tls", false)));
    play.pass(300);
    let (_, status) = play.told.last().expect("it is told");
    assert_eq!(status["ingress"][0]["conditions"][0]["status"], "False", "now somebody has");
}

#[test]
fn a_route_that_waits_for_its_secret_is_told_nothing_until_there_is_an_answer() {
    let mut play = Play::of_payment_and(Vec::new());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.happen(Event::ReadableSecrets(may_read("a-tls", true)));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    play.pass(60);
    play.happen(Event::Watch(mk_tls_route("b-tls")));
    play.told.clear();
    // The one before may be read no more; but what is said of that is of a version of before.
    play.conflicts = 100;
    play.happen(Event::ReadableSecrets(may_read("a-tls", false)));
    play.pass(60);
    assert_eq!(play.told.len(), 0, "it would not be taken");
    play.conflicts = 0;
    play.happen(Event::ReadableSecrets(may_read("b-tls", false)));
    play.pass(60);
    assert_eq!(play.told.len(), 1, "now it is known what to say");
}

#[test]
fn a_route_is_told_that_there_is_no_certificate_in_its_secret() {
    let mut play = Play::of_payment_and(Vec::new());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.happen(Event::ReadableSecrets(may_read("a-tls", true)));
    play.happen(Event::Watch(mk_tls_route("a-tls")));
    play.happen(Event::Watch(mk_route(1, "/a", &json!({}))));
    play.pass(60);
    let (id, (gateway, _)) = play.objects.iter().find(|(id, _)| id.kind == Kind::Gateway).expect("there is one");
    let listeners = gateway["spec"]["listeners"].as_array().unwrap();
    let secure = listeners.iter().find(|listener| listener["protocol"] == "HTTPS").unwrap();
    let (id, secure) = (id.clone(), Box::from(secure["name"].as_str().unwrap()));
    for (unresolved, expected) in [(vec![secure], "InvalidCertificateRef"), (Vec::new(), "ResolvedRefs")] {
        play.told.clear();
        play.live(&id).unresolved = unresolved.into();
        play.tell(&id);
        play.pass(60);
        let told: Vec<_> =
            play.told.iter().map(|(key, status)| (&**key, &status["ingress"][0]["conditions"])).collect();
        assert_eq!(told.len(), 1, "nobody else: {told:?}");
        let (route, conditions) = told[0];
        assert_eq!((route, &conditions[1]["reason"]), ("secure/r0", &json!(expected)));
        assert_eq!(conditions[0]["status"], "True", "in the clear it answers");
    }
}

/// Who has a host in the filter, if anybody has.
fn owner(play: &Play, host: &str) -> Option<String> {
    let imports = play.objects.iter().filter(|(id, _)| id.kind == Kind::WasmPlugin);
    let mut imports = imports.filter_map(|(_, (body, _))| body["spec"]["pluginConfig"]["imports"].as_array()).flatten();
    let names = |list: &Value, has: &dyn Fn(&Value) -> bool| list.as_array().is_some_and(|list| list.iter().any(has));
    let import = imports.find(|import| {
        names(&import["hostnames"], &|named| named == host) || names(&import["rules"], &|rule| rule["host"] == host)
    });
    import.map(|import| import["name"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_host_that_moves_between_a_route_and_an_import_is_always_somebodys() {
    let import = |hosts: &[&str], timeout: &str| {
        let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"});
        let rules = json!([{"backendRefs": [backend], "timeouts": {"request": timeout}}]);
        let spec = json!({"hostnames": hosts, "http": {"rules": rules}});
        Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &spec)))
    };
    let host = "h0.example.com";
    let mut play = Play::of_payment_and(Vec::new());
    play.happen(import(&[host], "1s"));
    play.pass(60);
    let mut told = vec![owner(&play, host)];
    let mut watch = |play: &mut Play, event: Event| {
        play.happen(event);
        for _ in 0..600 {
            play.now = play.now + Duration::from_millis(100);
            play.happen(Event::Time);
            let owner = owner(play, host);
            if told.last() != Some(&owner) {
                told.push(owner);
            }
        }
    };
    watch(&mut play, Event::Watch(mk_route(0, "/a", &json!({}))));
    // What the one that gains it leads to is new, so it waits.
    for event in [import(&[], "1s"), import(&[host], "2s")] {
        watch(&mut play, event);
    }
    let hosts = of_hosts("secure").name.to_string();
    assert_eq!(told, ["payment", &hosts, "payment"].map(|name| Some(name.to_owned())));
}
