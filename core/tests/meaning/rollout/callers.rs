//! Imports whose requests go to a cluster that does not know the pods here yet.

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::translate::gateways_digest;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::readiness::{REGISTRY, admit, admit_by, importing, lease, pass, start, state};
use super::{Play, mk_input};
use crate::translator::{mk, mk_pod};

/// `secure/billing` of `away` is imported, too, by a namespace with pods that take requests.
fn importing_more(alive: &[&str], data_plane: &str) -> Play {
    let mut play = importing(&["far", "own"]);
    let ready = json!({"type": "Ready", "status": "True"});
    start(&mut play, "pod-1", "10.30.0.1", Some(&ready));
    let native = mk_pod("secure", "mcwan-egress-native", "native-1", "10.30.0.9");
    play.happen(Event::Watch(mk_input(Watched::Pod, native)));
    play.echo(Kind::WanCluster);
    let now = state(&play);
    admit(&mut play, &now);
    admit_by(&mut play, "away", &gateways_digest(&[]));
    play.happen(lease("away", 0));
    pass(&mut play, alive, 60);
    let exported = json!({"cluster": "away", "namespace": "secure", "name": "billing", "readyPods": 1,
        "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high", "gateways": ["10.20.1.7"]});
    let exported = mk("ExportedService", REGISTRY, "away.secure.billing", &exported);
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::ExportedService), exported)));
    let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"});
    let spec = json!({"dataPlane": data_plane, "http": {"rules": [{"backendRefs": [backend]}]}});
    let import = mk("ServiceImport", "secure", "billing", &spec);
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, import)));
    play.echo(Kind::WanCluster);
    play
}

/// How many targets the filter has beside those of `secure/payment`.
fn more_targets(play: &Play) -> usize {
    play.steering_values().len() - 2
}

#[test]
fn a_cluster_that_is_called_for_the_first_time_admits_the_pods_before() {
    let alive = ["far", "away", "own"];
    let mut play = importing_more(&alive, "Wasm");
    pass(&mut play, &alive, 20);
    assert_eq!(more_targets(&play), 0, "its gateways would refuse the pod");
    let now = state(&play);
    admit_by(&mut play, "away", &now);
    pass(&mut play, &alive, 5);
    assert_eq!(more_targets(&play), 1);
}

#[test]
fn a_cluster_that_does_not_say_so_is_waited_for_for_the_grace() {
    let alive = ["far", "away", "own"];
    let mut play = importing_more(&alive, "Wasm");
    pass(&mut play, &alive, 29);
    assert_eq!(more_targets(&play), 0);
    pass(&mut play, &alive, 10);
    assert_eq!(more_targets(&play), 1);
}

#[test]
fn a_cluster_that_is_silent_is_not_waited_for() {
    let alive = ["far", "own"];
    let mut play = importing_more(&alive, "Wasm");
    pass(&mut play, &alive, 10);
    assert_eq!(more_targets(&play), 1);
}

#[test]
fn a_native_import_is_programmed_once_gateways_are_told_of_its_routes() {
    let alive = ["far", "away", "own"];
    let mut play = importing_more(&alive, "Native");
    let programmed = |play: &Play| {
        let statuses = play.told.iter().rev().filter(|(key, _)| key == "secure/billing");
        let conditions = statuses.filter_map(|(_, status)| status["conditions"].as_array()).flatten();
        conditions.into_iter().find(|known| known["type"] == "Programmed").cloned().unwrap_or_default()
    };
    pass(&mut play, &alive, 20);
    let waiting = programmed(&play);
    let message = waiting["message"].as_str().unwrap_or_default();
    assert!(waiting["status"] == "False" && message.contains("where its routes will lead"), "{waiting}");
    let now = state(&play);
    admit_by(&mut play, "away", &now);
    pass(&mut play, &alive, 10);
    assert_eq!(programmed(&play)["status"], "True", "{}", programmed(&play));
}
