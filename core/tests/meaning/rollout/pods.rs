//! The pods of services of several clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::Kind;
use mcwan_core::observed::{Digest, Owner};
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input, no_quota};
use crate::translator::{mk, mk_cluster_scoped, mk_options};

/// The port of the Service.
fn port() -> Value {
    json!({"name": "tcp-vault", "port": 5432})
}

/// This cluster has a Service whose port is not HTTP's, and another cluster is on its network; and something more.
fn told(more: WatchEvent) -> Vec<WatchEvent> {
    let service = json!({"selector": {"app": "vault"}, "ports": [port()], "clusterIP": "10.96.0.9"});
    let spec = json!({"network": "own", "tiers": [{"name": "high", "port": 31_111}]});
    vec![
        mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "data", &json!({}))),
        mk_input(Watched::WanPolicy, mk_cluster_scoped("WANPolicy", "high", &json!({"port": 31_111}))),
        mk_input(Watched::Emitted(Kind::Service), mk("Service", "data", "vault", &service)),
        mk_input(Watched::Emitted(Kind::WanCluster), mk("WANCluster", "mc-wan-registry", "far", &spec)),
        more,
    ]
}

/// What the registry has of its export, by ourselves.
fn exported() -> WatchEvent {
    let spec = json!({"cluster": "own", "namespace": "data", "name": "vault", "readyPods": 1,
        "exportedAt": "2026-11-20T08:00:00Z", "ports": [port()], "defaultTier": "high"});
    let object = mk("ExportedService", "mc-wan-registry", "own.data.vault", &spec);
    let mut event = mk_input(Watched::Emitted(Kind::ExportedService), object);
    if let WatchEvent::Changed { live: Some(live), .. } = &mut event {
        live.owner = Owner::Ours(Digest::of_desired(&json!({})));
    }
    event
}

/// A slice that Kubernetes makes of the Service's pods.
fn slice() -> Event {
    let mut slice = mk("EndpointSlice", "data", "vault-x7k", &json!({}));
    slice["metadata"]["labels"] = json!({"kubernetes.io/service-name": "vault"});
    slice["addressType"] = "IPv4".into();
    slice["ports"] = json!([{"name": "tcp-vault", "port": 6_543, "protocol": "TCP"}]);
    slice["endpoints"] = json!([{"addresses": ["10.1.0.7"], "conditions": {"ready": true}}]);
    Event::Watch(mk_input(Watched::Emitted(Kind::EndpointSlice), slice))
}

fn of_pods(play: &Play) -> usize {
    play.objects.keys().filter(|id| id.kind == Kind::ExportedEndpoints).count()
}

#[test]
fn pods_that_the_registry_does_not_take_are_told_of() {
    let mut export = mk("ServiceExport", "data", "vault", &json!({}));
    export["metadata"]["annotations"] = json!({"mc-wan.l7mp.io/wan-policy": "high"});
    let mut play = Play::new(mk_options(), told(mk_input(Watched::ServiceExport, export)));
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.pass(60);
    play.echo(Kind::WanCluster);
    play.echo(Kind::ExportedService);

    play.refused = Some(no_quota(Kind::ExportedEndpoints));
    play.happen(slice());
    play.pass(60);
    assert_eq!(of_pods(&play), 0);
    let names_it =
        |news: &String| news.contains("ExportedEndpoints mc-wan-registry/own.data.vault.vault-x7k: no quota");
    assert!(play.news.iter().any(names_it), "{:?}", play.news);
    play.refused = None;
    play.pass(60);
    assert_eq!(of_pods(&play), 1);
}

/// Exports cannot be listed, as their definition is missing; what the registry has of them follows the pods.
#[test]
fn pods_are_told_where_exports_were_never_listed() {
    let missing = WatchEvent::NotInstalled { kind: Watched::ServiceExport };
    let mut told = told(exported());
    told.push(missing);
    let mut play = Play::new(mk_options(), told);
    play.pass(60);
    play.echo(Kind::WanCluster);
    assert_eq!(of_pods(&play), 0);
    play.happen(slice());
    play.pass(2);
    assert_eq!(of_pods(&play), 1);
}
