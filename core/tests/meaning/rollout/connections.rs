//! What is told of which tiers this cluster and each other one may use.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input};
use crate::translator::{mk, mk_options};

const REGISTRY: &str = "mc-wan-registry";

fn id(cluster: &str) -> ObjectId {
    ObjectId { kind: Kind::ClusterConnection, key: Key::new("mc-wan", cluster) }
}

fn policy(name: &str, cluster: &str, tiers: &Value) -> WatchEvent {
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": cluster}});
    let spec = json!({"leftClusterSelector": selector, "tiers": tiers});
    mk_input(Watched::ConnectionPolicy, mk("ClusterConnectionPolicy", REGISTRY, name, &spec))
}

fn cluster(name: &str) -> WatchEvent {
    labelled(name, &json!({}))
}

fn labelled(name: &str, labels: &Value) -> WatchEvent {
    let tiers = json!([{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]);
    let mut cluster = mk("WANCluster", REGISTRY, name, &json!({"tiers": tiers}));
    cluster["metadata"]["labels"] = labels.clone();
    mk_input(Watched::Emitted(Kind::WanCluster), cluster)
}

fn lease(name: &str, renewal: u64) -> WatchEvent {
    let spec = json!({"renewTime": renewal.to_string(), "leaseDurationSeconds": 30});
    mk_input(Watched::Lease, mk("Lease", REGISTRY, name, &spec))
}

/// What was told since of each cluster: the state, and the tiers that may be used.
fn told(play: &mut Play) -> Vec<String> {
    let told = std::mem::take(&mut play.told).into_iter().filter(|(_, status)| !status["state"].is_null());
    let text = |(key, status): (String, Value)| {
        let tiers = status["tiers"].as_array().into_iter().flatten().filter(|tier| tier["permitted"] == true);
        let names: Vec<_> = tiers.filter_map(|tier| tier["name"].as_str()).collect();
        let (state, policy) = (status["state"].as_str().unwrap_or_default(), status["policy"].as_str());
        format!("{key} {state} {} by {}", names.join(","), policy.unwrap_or("none"))
    };
    let mut told: Vec<_> = told.map(text).collect();
    told.sort();
    told
}

/// A cluster with two others, of which everything is told.
fn mk_play() -> Play {
    let mut play = Play::of_payment_and(vec![cluster("near"), lease("own", 0), lease("far", 0), lease("near", 0)]);
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.echo(Kind::ClusterConnection);
    play.pass(1);
    play
}

#[test]
fn there_is_one_for_each_other_cluster_as_long_as_it_is_there() {
    let mut play = mk_play();
    let of_kind = |play: &Play| -> Vec<_> {
        let ids = play.objects.keys().filter(|id| id.kind == Kind::ClusterConnection);
        ids.map(|id| id.key.name.to_string()).collect()
    };
    assert_eq!(of_kind(&play), ["far", "near"]);
    assert_eq!(told(&mut play), ["mc-wan/far Connected high,low by none", "mc-wan/near Connected high,low by none"]);
    let (kind, key) = (Watched::Emitted(Kind::WanCluster), Key::new(REGISTRY, "near"));
    play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    play.pass(60);
    assert_eq!(of_kind(&play), ["far"], "it has left");
}

#[test]
fn only_what_has_changed_is_written() {
    let mut play = mk_play();
    told(&mut play);
    play.written.clear();
    let steps = [
        (policy("elsewhere", "stranger", &json!([])), vec![], "a policy of other pairs"),
        (policy("p", "far", &json!(["low"])), vec!["mc-wan/far Connected low by p"], "a policy of one pair"),
        (policy("p", "far", &json!(["low"])), vec![], "the same again"),
        (policy("p", "far", &json!([])), vec!["mc-wan/far NotConnected  by p"], "it permits nothing"),
        (policy("q", "far", &json!(["low"])), vec!["mc-wan/far Conflict  by none"], "another one matches, too"),
        (lease("own", 1), vec![], "a renewal"),
    ];
    for (event, expected, message) in steps {
        play.happen(Event::Watch(event));
        play.pass(1);
        assert_eq!(told(&mut play), expected, "{message}");
    }
    play.written.retain(|id| id.kind == Kind::ClusterConnection);
    assert_eq!(play.written, [], "they say nothing but status");
}

#[test]
fn what_changes_nothing_here_writes_nothing() {
    let mut play = mk_play();
    play.pass(60);
    play.happen(Event::Watch(policy("p", "far", &json!(["low"]))));
    play.pass(60);
    let (none, nothing) = (json!({}), json!([]));
    let between_others = |tiers: &Value| {
        let selector = |name: &str| json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
        let spec =
            json!({"leftClusterSelector": selector("far"), "rightClusterSelector": selector("near"), "tiers": tiers});
        mk_input(Watched::ConnectionPolicy, mk("ClusterConnectionPolicy", REGISTRY, "q", &spec))
    };
    let of_clouds = || {
        let spec = json!({"leftClusterSelector": {"matchLabels": {"env": "cloud"}}, "tiers": []});
        mk_input(Watched::ConnectionPolicy, mk("ClusterConnectionPolicy", REGISTRY, "r", &spec))
    };
    let steps = [
        (policy("p", "far", &json!(["low"])), "the same policy again"),
        (cluster("far"), "the same cluster again"),
        (between_others(&nothing), "a policy of other pairs comes"),
        (between_others(&json!(["high"])), "it is changed"),
        (of_clouds(), "a policy of clusters that there are not"),
        (labelled("near", &json!({"env": "edge"})), "a cluster gets a label that no policy goes by"),
        (labelled("near", &json!({"env": "edge", "site": "zh"})), "and another"),
        (labelled("far", &json!({"site": "zh"})), "so does the cluster that exports"),
        (labelled("near", &none), "the labels are taken away"),
    ];
    for (event, message) in steps {
        play.told.clear();
        play.written.clear();
        play.happen(Event::Watch(event));
        play.pass(60);
        assert_eq!((&*play.written, &*play.told), (&[][..], &[][..]), "{message}");
    }
    play.happen(Event::Watch(labelled("far", &json!({"env": "cloud"}))));
    play.pass(60);
    assert!(!play.written.is_empty() && !play.told.is_empty(), "this label counts");
}

#[test]
fn a_cluster_that_is_silent_is_told_of() {
    let mut play = mk_play();
    told(&mut play);
    for second in (10..=40).step_by(10) {
        play.now = play.now + Duration::from_secs(10);
        play.happen(Event::Watch(lease("near", second)));
        play.happen(Event::Watch(lease("own", second)));
    }
    assert_eq!(told(&mut play), ["mc-wan/far Stale high,low by none"]);
    play.happen(Event::Watch(lease("far", 50)));
    assert_eq!(told(&mut play), ["mc-wan/far Connected high,low by none"]);
}

#[test]
fn without_the_kind_nothing_is_written() {
    let missing = Watched::Emitted(Kind::ClusterConnection);
    let mut play = Play::new(mk_options(), vec![cluster("far"), WatchEvent::NotInstalled { kind: missing }]);
    play.pass(60);
    // It is asked for again and again.
    play.happen(Event::Watch(WatchEvent::Listing { kind: missing }));
    play.pass(60);
    assert!(!play.written.contains(&id("far")), "{:?}", play.written);
    play.happen(Event::Watch(WatchEvent::Synced { kind: missing }));
    assert!(play.written.contains(&id("far")), "the kind has come");
}
