//! Whom gateways here admit, and what the registry is told of it.

use std::time::Duration;

use mcwan_core::api::EgressGateway;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::translate::gateways_digest;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input, no_quota};
use crate::translator::{mk, mk_cluster_scoped, mk_options};

const REGISTRY: &str = "mc-wan-registry";

/// This cluster exports `secure/ledger` over two tiers, and `far` has an egress gateway there.
fn exporting() -> Play {
    let tiers = json!([{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]);
    let gateways = json!([{"namespace": "secure", "addresses": ["10.30.0.9"]}]);
    let far = mk("WANCluster", REGISTRY, "far", &json!({"tiers": tiers, "egressGateways": gateways}));
    let service = mk("Service", "secure", "ledger", &json!({"ports": [{"port": 80}]}));
    let tier = |name: &str, port: u16| {
        mk_input(Watched::WanPolicy, mk_cluster_scoped("WANPolicy", name, &json!({"port": port})))
    };
    let told = vec![
        mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
        tier("high", 31_111),
        tier("low", 31_112),
        mk_input(Watched::Emitted(Kind::WanCluster), far),
        mk_input(Watched::Emitted(Kind::Service), service),
        mk_input(Watched::ServiceExport, mk("ServiceExport", "secure", "ledger", &json!({}))),
    ];
    let mut play = Play::new(mk_options(), told);
    settle(&mut play);
    play
}

/// Everything that is to happen has, and the registry's watch has told of it.
fn settle(play: &mut Play) {
    play.pass(60);
    play.echo(Kind::WanCluster);
    play.written.clear();
}

fn policy(tiers: &[&str]) -> Event {
    let policy = mk("ClusterConnectionPolicy", REGISTRY, "all", &json!({"tiers": tiers}));
    Event::Watch(mk_input(Watched::ConnectionPolicy, policy))
}

fn no_policy() -> Event {
    let key = Key::new(REGISTRY, "all");
    Event::Watch(WatchEvent::Deleted { kind: Watched::ConnectionPolicy, key, version: None })
}

/// What the registry is told of whom gateways admit.
fn admits(play: &Play) -> Option<&Value> {
    told(play, "admits")
}

fn told<'p>(play: &'p Play, field: &str) -> Option<&'p Value> {
    let id = ObjectId { kind: Kind::WanCluster, key: Key::new(REGISTRY, "own") };
    play.objects[&id].0["spec"].get(field)
}

/// How many rules the gateways of the namespace refuse by: one is for everybody who is not known.
fn refusals(play: &Play) -> usize {
    let id = ObjectId { kind: Kind::AuthorizationPolicy, key: Key::new("secure", "mcwan-ingress") };
    play.objects[&id].0["spec"]["rules"].as_array().map_or(0, Vec::len)
}

fn pass_half_a_lead(play: &mut Play) {
    play.now = play.now + Duration::from_millis(500);
    play.happen(Event::Time);
}

#[test]
fn what_is_taken_away_is_told_at_once_and_what_is_given_once_gateways_have_had_the_time() {
    let mut play = exporting();
    assert_eq!((admits(&play), refusals(&play)), (None, 1), "without a policy, nothing is told");
    let low = json!([{"tiers": ["low"], "clusters": ["far"]}]);
    play.happen(policy(&["low"]));
    assert_eq!((admits(&play), refusals(&play)), (Some(&low), 2), "a policy comes");
    settle(&mut play);
    assert_eq!(admits(&play), Some(&low));
    play.happen(policy(&["high"]));
    assert_eq!((admits(&play), refusals(&play)), (Some(&json!([])), 2), "another tier in its place");
    settle(&mut play);
    assert_eq!(admits(&play), Some(&json!([{"tiers": ["high"], "clusters": ["far"]}])));
    play.happen(no_policy());
    assert_eq!(refusals(&play), 1, "it goes: gateways hear of it first");
    pass_half_a_lead(&mut play);
    assert!(admits(&play).is_some(), "not before they have had the lead");
    play.pass(1);
    assert_eq!(admits(&play), None);
    settle(&mut play);
    assert_eq!(play.written, [], "that is all");
}

#[test]
fn what_is_given_and_taken_back_meanwhile_is_never_told() {
    let mut play = exporting();
    play.happen(policy(&[]));
    settle(&mut play);
    play.happen(no_policy());
    pass_half_a_lead(&mut play);
    play.happen(policy(&[]));
    play.pass(60);
    assert_eq!(admits(&play), Some(&json!([])));
    assert!(play.written.iter().all(|id| id.kind == Kind::AuthorizationPolicy), "{:?}", play.written);
}

#[test]
fn a_cluster_that_joins_while_others_are_refused_waits_like_them() {
    let mut play = exporting();
    play.happen(policy(&["low"]));
    settle(&mut play);
    let tiers = json!([{"name": "low", "port": 31_112}]);
    let new = mk("WANCluster", REGISTRY, "new", &json!({"tiers": tiers}));
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), new)));
    assert!(play.written.iter().all(|id| id.kind == Kind::ClusterConnection), "it is admitted nowhere yet");
    settle(&mut play);
    assert_eq!(admits(&play), Some(&json!([{"tiers": ["low"], "clusters": ["far", "new"]}])));
}

#[test]
fn one_who_takes_over_tells_of_nothing_before_gateways_have_had_the_time() {
    let mut play = exporting();
    play.happen(policy(&["low"]));
    settle(&mut play);
    play.happen(no_policy());
    pass_half_a_lead(&mut play);
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    pass_half_a_lead(&mut play);
    let low = json!([{"tiers": ["low"], "clusters": ["far"]}]);
    assert_eq!(admits(&play), Some(&low), "it does not know since when gateways admit it");
    play.pass(1);
    assert_eq!(admits(&play), None);
}

#[test]
fn an_admission_that_cannot_be_written_now_is_waited_for() {
    let mut play = exporting();
    play.happen(policy(&["low"]));
    settle(&mut play);
    play.ending = Some("secure");
    play.happen(no_policy());
    play.pass(25);
    assert_eq!((admits(&play).is_some(), refusals(&play)), (true, 2), "gateways still refuse");
    play.ending = None;
    settle(&mut play);
    assert_eq!((admits(&play), refusals(&play)), (None, 1));
}

/// Whether the API server says that it never takes it, or not now: nobody can tell how long that lasts.
#[test]
fn an_admission_that_cannot_be_written_holds_up_others_for_the_grace_and_once() {
    for (refused, ending) in [(Some(no_quota(Kind::AuthorizationPolicy)), None), (None, Some("secure"))] {
        let fail = |play: &mut Play| (play.refused, play.ending) = (refused.clone(), ending);
        let mut play = exporting();
        play.happen(policy(&["low"]));
        settle(&mut play);
        fail(&mut play);
        play.happen(no_policy());
        play.pass(30);
        assert_eq!((admits(&play).is_some(), refusals(&play)), (true, 2), "gateways still refuse");
        play.pass(1);
        assert_eq!((admits(&play), refusals(&play)), (None, 2), "other namespaces' gateways do admit it");
        play.happen(policy(&["high"]));
        play.pass(1);
        play.happen(no_policy());
        pass_half_a_lead(&mut play);
        assert!(admits(&play).is_some(), "others' gateways have not had the lead");
        play.pass(1);
        assert_eq!(admits(&play), None, "once");
        (play.refused, play.ending) = (None, None);
        settle(&mut play);
        play.happen(policy(&["low"]));
        settle(&mut play);
        fail(&mut play);
        play.happen(no_policy());
        play.pass(30);
        assert!(admits(&play).is_some(), "it was written meanwhile");
    }
}

/// The egress gateway of `far` has these pods by now.
fn gateways_of_far(addresses: &[&str]) -> (Event, String) {
    gateways_of(addresses, "digest")
}

/// The same, with a digest of which they are.
fn gateways_of(addresses: &[&str], pods: &str) -> (Event, String) {
    let tiers = json!([{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]);
    let gateways = json!([{"namespace": "secure", "addresses": addresses, "pods": pods}]);
    let spec = json!({"tiers": tiers, "egressGateways": gateways});
    let digest = gateways_digest(&serde_json::from_value::<Vec<EgressGateway>>(gateways).unwrap());
    (Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), mk("WANCluster", REGISTRY, "far", &spec))), digest)
}

#[test]
fn gateways_of_others_are_told_to_be_admitted_once_ours_have_had_the_time() {
    let admitted = |play: &Play| told(play, "admitted").map_or(Value::Null, |told| told[0]["egressGateways"].clone());
    let mut play = exporting();
    let (event, before) = gateways_of_far(&["10.30.0.9"]);
    play.happen(event);
    settle(&mut play);
    assert_eq!(admitted(&play), json!(before));
    let (event, after) = gateways_of_far(&["10.30.0.9", "10.30.0.10"]);
    play.happen(event);
    pass_half_a_lead(&mut play);
    assert_eq!(admitted(&play), json!(before), "what was told before stays meanwhile");
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    pass_half_a_lead(&mut play);
    assert_eq!(admitted(&play), json!(before), "nor does one who takes over know since when");
    play.pass(1);
    assert_eq!(admitted(&play), json!(after));
    settle(&mut play);
    play.happen(gateways_of_far(&[]).0);
    settle(&mut play);
    let key = Key::new("secure", "ledger");
    play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::ServiceExport, key, version: None }));
    play.pass(60);
    assert_eq!(admitted(&play), Value::Null, "who exports nothing admits nobody");
}

#[test]
fn gateways_that_change_all_the_time_hold_up_nobody() {
    let told = |play: &Play| told(play, "admitted").map_or(Value::Null, |told| told[0]["egressGateways"].clone());
    let mut play = exporting();
    let (event, first) = gateways_of_far(&["10.30.0.9", "10.30.0.10"]);
    play.happen(event);
    pass_half_a_lead(&mut play);
    let (event, last) = gateways_of_far(&["10.30.0.9", "10.30.0.11"]);
    play.happen(event);
    pass_half_a_lead(&mut play);
    assert_eq!(told(&play), json!(first), "as soon as if nothing had come since");
    settle(&mut play);
    assert_eq!(told(&play), json!(last));
}

/// Gateways here may have heard meanwhile that an address is nobody's.
#[test]
fn a_pod_with_an_address_that_was_used_before_waits_like_any() {
    let told = |play: &Play| told(play, "admitted").map_or(Value::Null, |told| told[0]["egressGateways"].clone());
    let mut play = exporting();
    let (event, first) = gateways_of(&["10.30.0.9"], "first");
    play.happen(event);
    settle(&mut play);
    play.happen(gateways_of(&[], "none").0);
    pass_half_a_lead(&mut play);
    let (event, again) = gateways_of(&["10.30.0.9"], "again");
    play.happen(event);
    assert_ne!(first, again);
    pass_half_a_lead(&mut play);
    assert_ne!(told(&play), json!(again), "gateways have not had the lead");
    settle(&mut play);
    assert_eq!(told(&play), json!(again));
}

#[test]
fn a_policy_of_other_pairs_writes_nothing_where_exports_are() {
    let mut play = exporting();
    let others = |tiers: &[&str]| {
        let selector = |name: &str| json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
        let spec =
            json!({"leftClusterSelector": selector("far"), "rightClusterSelector": selector("near"), "tiers": tiers});
        Event::Watch(mk_input(Watched::ConnectionPolicy, mk("ClusterConnectionPolicy", REGISTRY, "all", &spec)))
    };
    for (event, message) in [(others(&[]), "it comes"), (others(&["low"]), "it changes"), (no_policy(), "it goes")] {
        play.told.clear();
        play.happen(event);
        play.pass(60);
        assert_eq!((&*play.written, &*play.told), (&[][..], &[][..]), "{message}");
    }
    play.happen(policy(&["low"]));
    assert_ne!(play.written, [], "one of this pair does");
}
