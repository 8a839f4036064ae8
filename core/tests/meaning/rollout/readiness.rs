//! New pods of egress gateways, and the clusters that are to admit them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::api::EgressGateway;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::translate::gateways_digest;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input};
use crate::translator::{mk, mk_options, mk_pod};

pub(super) const REGISTRY: &str = "mc-wan-registry";
const CONDITION: &str = "mc-wan.l7mp.io/Admitted";

pub(super) fn lease(name: &str, renewal: u64) -> Event {
    let spec = json!({"renewTime": renewal.to_string(), "leaseDurationSeconds": 30});
    Event::Watch(mk_input(Watched::Lease, mk("Lease", REGISTRY, name, &spec)))
}

/// `secure/payment` is imported from `far`. Time passes while these clusters are alive.
pub(super) fn importing(alive: &[&str]) -> Play {
    let mut play = Play::of_payment();
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    for name in ["far", "own"] {
        play.happen(lease(name, 0));
    }
    pass(&mut play, alive, 60);
    play
}

pub(super) fn pass(play: &mut Play, alive: &[&str], seconds: u64) {
    for _ in 0..seconds {
        play.pass(1);
        let renewal = play.now.since(Moment::START).as_secs();
        for name in alive {
            play.happen(lease(name, renewal));
        }
    }
}

/// A replica that follows, and has heard everything but of these kinds.
fn ignorant(unheard: fn(Watched) -> bool) -> Play {
    let mut play = Play::of_nothing(mk_options());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    for kind in Watched::all().filter(|kind| !unheard(*kind)) {
        play.happen(Event::Watch(WatchEvent::Synced { kind }));
    }
    play
}

#[test]
fn where_the_registry_is_away_from_the_start_a_pod_waits_thirty_seconds_whoever_leads() {
    let mut play = ignorant(Watched::is_in_registry);
    start(&mut play, "pod-1", "10.30.0.1", None);
    play.pass(29);
    assert_eq!(told(&play), []);
    play.pass(1);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Timeout")]);
    let condition = play.told.last().expect("it was told").1["conditions"][0].clone();
    start(&mut play, "pod-1", "10.30.0.1", Some(&condition));
    play.pass(60);
    assert_eq!((told(&play).len(), play.written.len()), (1, 0), "nothing else is done");
    start(&mut play, "pod-2", "10.30.0.2", None);
    play.pass(29);
    for kind in Watched::all() {
        play.happen(Event::Watch(WatchEvent::Synced { kind }));
    }
    play.pass(60);
    assert_eq!(told(&play).len(), 1, "who leads knows by now");
}

#[test]
fn who_does_not_know_the_pods_opens_no_gate() {
    let mut play = ignorant(|kind| kind == Watched::Pod || kind.is_in_registry());
    start(&mut play, "pod-1", "10.30.0.1", None);
    play.pass(60);
    assert_eq!(told(&play), []);
}

/// A pod of the egress gateway has come, and the registry has heard of it.
pub(super) fn start(play: &mut Play, name: &str, address: &str, condition: Option<&Value>) {
    let mut pod = mk_pod("secure", "mcwan-egress", name, address);
    pod["status"]["conditions"] = condition.into_iter().cloned().collect();
    play.happen(Event::Watch(mk_input(Watched::Pod, pod)));
    play.echo(Kind::WanCluster);
}

/// The state of this cluster's egress gateways, as the registry has it.
pub(super) fn state(play: &Play) -> String {
    let own = ObjectId { kind: Kind::WanCluster, key: Key::new(REGISTRY, "own") };
    let gateways = play.objects[&own].0["spec"]["egressGateways"].clone();
    gateways_digest(&serde_json::from_value::<Vec<EgressGateway>>(gateways).unwrap_or_default())
}

/// `far` says that it admits this state of them.
pub(super) fn admit(play: &mut Play, state: &str) {
    admit_by(play, "far", state);
}

/// Some other cluster does.
pub(super) fn admit_by(play: &mut Play, cluster: &str, state: &str) {
    let tiers = json!([{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]);
    let spec = json!({"tiers": tiers, "admitted": [{"cluster": "own", "egressGateways": state}]});
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), mk("WANCluster", REGISTRY, cluster, &spec))));
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object[field].as_str().unwrap_or_default()
}

/// What the pods were told, in order.
fn told(play: &Play) -> Vec<(&str, &str, &str)> {
    let conditions = play.told.iter().filter_map(|(key, status)| Some((key, status["conditions"].as_array()?)));
    let ours = conditions.flat_map(|(key, all)| all.iter().map(move |condition| (key, condition)));
    let ours = ours.filter(|(_, condition)| condition["type"] == CONDITION);
    ours.map(|(key, condition)| (&**key, text(condition, "status"), text(condition, "reason"))).collect()
}

#[test]
fn a_pod_takes_requests_once_the_clusters_that_these_go_to_admit_it() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    start(&mut play, "pod-1", "10.30.0.1", None);
    admit(&mut play, &gateways_digest(&[]));
    pass(&mut play, &alive, 2);
    assert_eq!(told(&play), [], "the gateways there know others");
    let now = state(&play);
    admit(&mut play, &now);
    let admitted = ("secure/pod-1", "True", "Admitted");
    assert_eq!(told(&play), [admitted]);
    let condition = play.told.last().expect("it was told").1["conditions"][0].clone();
    start(&mut play, "pod-1", "10.30.0.1", Some(&condition));
    start(&mut play, "pod-2", "10.30.0.2", None);
    pass(&mut play, &alive, 2);
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    pass(&mut play, &alive, 2);
    assert_eq!(told(&play), [admitted], "another is waited for, and nothing is written twice");
    let now = state(&play);
    admit(&mut play, &now);
    assert_eq!(told(&play), [admitted, ("secure/pod-2", "True", "Admitted")]);
}

#[test]
fn a_pod_waits_thirty_seconds_at_most() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    start(&mut play, "pod-1", "10.30.0.1", None);
    pass(&mut play, &alive, 29);
    assert_eq!(told(&play), []);
    pass(&mut play, &alive, 1);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Timeout")]);
    pass(&mut play, &alive, 60);
    assert_eq!(told(&play).len(), 1, "once");
}

#[test]
fn a_cluster_that_is_stale_is_not_waited_for() {
    let mut play = importing(&["own"]);
    start(&mut play, "pod-1", "10.30.0.1", None);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Admitted")]);
}

#[test]
fn a_pod_of_a_namespace_whose_requests_go_nowhere_waits_for_no_cluster() {
    let mut play = Play::new(mk_options(), Vec::new());
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    start(&mut play, "pod-1", "10.30.0.1", None);
    assert_eq!(told(&play), [], "what who led before has asked for may still be carried out");
    pass(&mut play, &[], 2);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Admitted")]);
}

#[test]
fn a_pod_that_gets_another_address_waits_again() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    let condition = json!({"type": CONDITION, "status": "True", "message": "10.30.0.1"});
    start(&mut play, "pod-1", "10.30.0.7", Some(&condition));
    assert_eq!(told(&play), [("secure/pod-1", "False", "Waiting")]);
    let now = state(&play);
    admit(&mut play, &now);
    assert_eq!(told(&play)[1..], [("secure/pod-1", "True", "Admitted")]);
}

#[test]
fn a_pod_is_admitted_by_any_state_that_it_is_in() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    start(&mut play, "pod-1", "10.30.0.1", None);
    let first = state(&play);
    start(&mut play, "pod-2", "10.30.0.2", None);
    admit(&mut play, &first);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Admitted")], "the other one has come since");
}

#[test]
fn the_thirty_seconds_are_the_pods_whoever_leads() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    let clock = |seconds: i64| Time(Timestamp::from_second(seconds).expect("a time"));
    play.rollout.set_clock(clock(0));
    start_old(&mut play, "10.30.0.1", None);
    play.echo(Kind::WanCluster);
    pass(&mut play, &alive, 10);
    play.rollout.set_clock(clock(20));
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    pass(&mut play, &alive, 9);
    assert_eq!(told(&play), []);
    pass(&mut play, &alive, 1);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Timeout")]);
}

/// A pod of the egress gateway, as old as the clock.
fn start_old(play: &mut Play, address: &str, condition: Option<&Value>) {
    let mut pod = mk_pod("secure", "mcwan-egress", "pod-1", address);
    pod["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z".into();
    pod["status"]["conditions"] = condition.into_iter().cloned().collect();
    play.happen(Event::Watch(mk_input(Watched::Pod, pod)));
}

#[test]
fn an_old_pod_has_waited_only_if_the_registry_was_told_of_it() {
    let alive = ["far", "own"];
    let said = json!({"type": CONDITION, "status": "True", "message": "10.30.0.7"});
    let table = [
        (None, None, false, "it came while both replicas were down"),
        (Some(&said), None, false, "it got another address"),
        (None, Some("secure"), true, "it was told of"),
        (None, Some("other"), false, "the address was another namespace's"),
    ];
    for (condition, told_of, is_late, message) in table {
        let mut play = importing(&alive);
        play.rollout.set_clock(Time(Timestamp::from_second(100).expect("a time")));
        let gateways: Vec<_> =
            told_of.iter().map(|namespace| json!({"namespace": namespace, "addresses": ["10.30.0.1"]})).collect();
        let own = mk("WANCluster", REGISTRY, "own", &json!({"egressGateways": gateways}));
        play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), own)));
        start_old(&mut play, "10.30.0.1", condition);
        let late = ("secure/pod-1", "True", "Timeout");
        assert_eq!(told(&play).contains(&late), is_late, "at first sight: {message}");
        pass(&mut play, &alive, 29);
        assert_eq!(told(&play).contains(&late), is_late, "before thirty seconds: {message}");
        pass(&mut play, &alive, 1);
        assert!(told(&play).contains(&late), "in the end: {message}");
    }
}

#[test]
fn a_pod_that_gets_another_address_while_it_waits_is_not_admitted_by_the_one_of_before() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    start(&mut play, "pod-1", "10.30.0.1", None);
    let first = state(&play);
    start(&mut play, "pod-1", "10.30.0.2", None);
    admit(&mut play, &first);
    assert_eq!(told(&play), []);
    let now = state(&play);
    admit(&mut play, &now);
    assert_eq!(told(&play), [("secure/pod-1", "True", "Admitted")]);
}

#[test]
fn a_pod_is_told_of_by_its_own_namespace_alone() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    let gateways = json!([{"namespace": "other", "addresses": ["10.30.0.1"]}]);
    let own = mk("WANCluster", REGISTRY, "own", &json!({"egressGateways": gateways}));
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::WanCluster), own)));
    let of_other = gateways_digest(&serde_json::from_value::<Vec<EgressGateway>>(gateways).expect("gateways"));
    admit(&mut play, &of_other);
    play.happen(Event::Watch(mk_input(Watched::Pod, mk_pod("secure", "mcwan-egress", "pod-1", "10.30.0.1"))));
    assert_eq!(told(&play), [], "the address was another namespace's");
}

#[test]
fn another_pod_with_the_address_of_one_that_is_gone_waits_like_any() {
    let alive = ["far", "own"];
    let mut play = importing(&alive);
    let born = |play: &mut Play, name: &str| {
        let mut pod = mk_pod("secure", "mcwan-egress", name, "10.30.0.1");
        pod["metadata"]["uid"] = name.into();
        play.happen(Event::Watch(mk_input(Watched::Pod, pod)));
        play.echo(Kind::WanCluster);
    };
    born(&mut play, "pod-1");
    let first = state(&play);
    admit(&mut play, &first);
    let (kind, key) = (Watched::Pod, Key::new("secure", "pod-1"));
    play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    play.echo(Kind::WanCluster);
    born(&mut play, "pod-2");
    let admitted = ("secure/pod-1", "True", "Admitted");
    assert_eq!(told(&play), [admitted], "gateways there may have heard that the address is nobody's");
    let now = state(&play);
    admit(&mut play, &now);
    assert_eq!(told(&play), [admitted, ("secure/pod-2", "True", "Admitted")]);
}
