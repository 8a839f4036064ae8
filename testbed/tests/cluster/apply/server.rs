//! What becomes of the watches when the API server, or what it serves, comes and goes.

use std::collections::BTreeSet;

use anyhow::Result;
use mcwan_core::api::McsVersion;
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::outcome::{WriteError, WriteOutcome};
use mcwan_core::problem::Reason;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, input};
use mcwan_core::status::{StatusKind, StatusPatch};
use mcwan_core::watched::Watched;
use mcwan_testbed::cluster::{Crds, TestCluster};
use serde_json::{Value, json};

use super::edge::Edge;
use super::emitted::mk_service;
use crate::shared::on_shared_cluster;

const SERVICES: Watched = Watched::Emitted(Kind::Service);

fn mk_wan_policy(name: &str, port: u16) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy", "metadata": {"name": name},
        "spec": {"port": port, "tunnel": "business"}})
}

fn mk_gateway() -> Object {
    let key = Key::new("default", "mcwan-egress");
    let body = json!({
        "apiVersion": Kind::Gateway.api_version(), "kind": "Gateway",
        "metadata": {"name": "mcwan-egress", "namespace": "default", "labels": {"app.kubernetes.io/managed-by": "mcwan"}},
        "spec": {"gatewayClassName": "istio", "listeners": [
            {"name": "http-80", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "Same"}}},
        ]},
    });
    Object { id: ObjectId { kind: Kind::Gateway, key }, body }
}

#[tokio::test]
async fn an_api_server_may_be_away() -> Result<()> {
    let mut cluster = TestCluster::start_with(&[]).await?;
    let mut edge = Edge::synced(&cluster.client()).await?;
    let (stays, goes) = (mk_service("stays"), mk_service("goes"));
    for service in [&stays, &goes] {
        assert_eq!(edge.apply(service).await, WriteOutcome::Applied);
    }
    let missed = |edge: &Edge, service: &Object| edge.observed.get(&service.id).is_none();

    cluster.stop_api_server();
    let unreachable = edge.apply(&mk_service("late")).await;
    assert!(matches!(unreachable, WriteOutcome::Retry { .. }), "nobody is there: {unreachable:?}");
    edge.until("watches complain", |edge| !edge.events.is_empty()).await?;
    assert!(!missed(&edge, &stays) && !missed(&edge, &goes), "unknown is not gone");

    // The watches wait before they try again: they miss it, and the API server no longer knows their place.
    cluster.start_api_server().await?;
    cluster.kubectl(&["delete", "service", "goes", "-n", "default"]).await?;
    cluster.kubectl(&["create", "service", "clusterip", "theirs", "--tcp=80", "-n", "default"]).await?;
    edge.until("the deletion is noticed", |edge| missed(edge, &goes)).await?;
    let theirs = (SERVICES, Key::new("default", "theirs"));
    edge.until("what came is noticed", |edge| edge.inputs.contains_key(&theirs)).await?;
    let of_services = |(kind, _): &&(Watched, Key)| *kind == SERVICES;
    let deleted: Vec<_> = edge.deleted.iter().filter(of_services).map(|(_, key)| key.to_string()).collect();
    assert_eq!(deleted, ["default/goes"], "nothing else is gone");
    edge.apply_until_done(&mk_service("late")).await?;
    assert!(edge.observed.is_same(&stays), "what stayed");
    Ok(())
}

#[tokio::test]
async fn kinds_may_come_later() -> Result<()> {
    let cluster = TestCluster::start_with(&[Crds::McsV1Alpha1]).await?;
    let mut edge = Edge::synced(&cluster.client()).await?;
    assert_eq!(edge.events, ["v1alpha1"; 2], "what is served of either kind of the Multi-Cluster Services API");
    let emitted = [Kind::WanCluster, Kind::ExportedEndpoints, Kind::ExportedService].map(Watched::Emitted);
    let registry: BTreeSet<_> = emitted.into_iter().chain([Watched::ConnectionPolicy]).collect();
    assert_eq!(edge.unprepared, registry, "a registry that lacks kinds is none");
    let gateway = mk_gateway();
    let outcome = edge.apply(&gateway).await;
    assert!(matches!(outcome, WriteOutcome::Retry { reason: Reason::NotInstalled, .. }), "no Gateway API: {outcome:?}");

    cluster.install_crds(Crds::GatewayApi).await?;
    edge.apply_until_done(&gateway).await?;
    an_unknown_field_is_refused(&mut edge, &gateway).await;
    edge.synced.clear();
    edge.until("the watch finds it", |edge| edge.synced.contains(&Watched::Emitted(Kind::Gateway))).await?;

    cluster.install_crds(Crds::Mcwan).await?;
    edge.until("the registry is found", |edge| registry.iter().all(|kind| edge.synced.contains(kind))).await?;
    cluster.apply(&mk_wan_policy("high", 31111).to_string()).await?;
    let high = (Watched::WanPolicy, Key::new("", "high"));
    edge.until("the watch finds a policy", |edge| edge.inputs.contains_key(&high)).await?;
    a_broken_object_harms_itself(&cluster, &mut edge).await?;
    conditions_of_others_stay(&cluster, &mut edge).await?;

    cluster.install_crds(Crds::McsV1Beta1).await?;
    let is_newer = |edge: &Edge| edge.events.last().is_some_and(|event| event == "v1beta1");
    edge.until("the newer version is found", is_newer).await?;

    // With the definition, all of its objects go.
    cluster.kubectl(&["delete", "crd", "wanpolicies.mc-wan.l7mp.io"]).await?;
    edge.until("the policies are gone", |edge| !edge.inputs.keys().any(|(kind, _)| *kind == Watched::WanPolicy)).await
}

/// What a definition lacks is not left out.
async fn an_unknown_field_is_refused(edge: &mut Edge, gateway: &Object) {
    let mut newer = gateway.clone();
    newer.body["spec"]["infrastructur"] = json!({});
    let outcome = edge.apply(&newer).await;
    let is_told = |message: &str| message.contains("field not declared in schema");
    let is_refused = matches!(&outcome, WriteOutcome::Retry { message, .. } if is_told(message));
    assert!(is_refused, "{outcome:?}");
}

/// A definition may be older or newer than we are, so that what it lets through has not our form.
async fn a_broken_object_harms_itself(cluster: &TestCluster, edge: &mut Edge) -> Result<()> {
    let anything = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]);
    let crd = "wanpolicies.mc-wan.l7mp.io";
    cluster.kubectl(&["patch", "crd", crd, "--type=json", "-p", &anything.to_string()]).await?;
    let mut broken = mk_wan_policy("broken", 0);
    broken["spec"]["port"] = json!("much");
    // The API server takes a while to forget the old definition.
    mcwan_testbed::wait::until(std::time::Duration::from_mins(1), "the broken policy is taken", async || {
        Ok(cluster.apply(&broken.to_string()).await.is_ok())
    })
    .await?;
    cluster.apply(&mk_wan_policy("low", 31112).to_string()).await?;
    let policy = |name| (Watched::WanPolicy, Key::new("", name));
    edge.until("both are told", |edge| ["broken", "low"].iter().all(|name| edge.inputs.contains_key(&policy(*name))))
        .await?;
    let error = input::read(InputKind::WanPolicy, &edge.inputs[&policy("broken")]).unwrap_err();
    assert_eq!(error.metadata.name.as_deref(), Some("broken"), "it is told which one it is");
    assert!(input::read(InputKind::WanPolicy, &edge.inputs[&policy("low")]).is_ok(), "its neighbour is sound");
    Ok(())
}

async fn conditions_of_others_stay(cluster: &TestCluster, edge: &mut Edge) -> Result<()> {
    let export = json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport",
        "metadata": {"name": "payment", "namespace": "default"}});
    cluster.apply(&export.to_string()).await?;
    let condition = |type_, status| {
        json!({"type": type_, "status": status, "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let theirs = json!({"status": {"conditions": [condition("Theirs", "True")]}}).to_string();
    cluster
        .kubectl(&["patch", "serviceexport", "payment", "--subresource=status", "--type=merge", "-p", &theirs])
        .await?;

    let id = (Watched::ServiceExport, Key::new("default", "payment"));
    edge.until("the export is told", |edge| edge.inputs.contains_key(&id)).await?;
    let status = |value| StatusPatch {
        kind: StatusKind::ServiceExport(McsVersion::V1Alpha1),
        key: id.1.clone(),
        uid: None,
        body: json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport",
            "metadata": {"name": "payment", "namespace": "default"},
            "status": {"conditions": [condition("Valid", value)]}}),
        news: Vec::new(),
    };
    for value in ["False", "True"] {
        assert_eq!(edge.applier.apply_status(&status(value)).await, Ok(()), "{value}");
    }
    let conditions = |edge: &Edge| edge.inputs[&id]["status"]["conditions"].clone();
    let both = [("Theirs", "True"), ("Valid", "True")].map(|(type_, status)| condition(type_, status));
    edge.until("both conditions are there", |edge| conditions(edge) == json!(both)).await?;

    cluster.kubectl(&["delete", "serviceexport", "payment"]).await?;
    let gone = edge.applier.apply_status(&status("False")).await;
    assert!(
        matches!(gone, Err(WriteError::Conflict | WriteError::NotFound { .. })),
        "an object that is gone: {gone:?}"
    );
    Ok(())
}

#[test]
fn what_may_not_be_watched_is_not_empty() -> Result<()> {
    on_shared_cluster(async |cluster| {
        cluster.kubectl(&["create", "serviceaccount", "stranger"]).await?;
        let stranger = cluster.client_for("default", "stranger").await?;
        let mut edge = Edge::new(&stranger);
        let watched = [SERVICES, Watched::WanPolicy, Watched::ServiceImport];
        edge.until("watches are forbidden", |edge| watched.iter().all(|kind| edge.forbidden.contains(kind))).await?;
        assert!(watched.iter().all(|kind| !edge.synced.contains(kind)), "what is there is unknown: {:?}", edge.synced);
        let outcome = edge.apply(&mk_service("forbidden")).await;
        assert!(matches!(outcome, WriteOutcome::Refused { reason: Reason::Forbidden, .. }), "{outcome:?}");

        let binding = [
            "create",
            "clusterrolebinding",
            "stranger",
            "--clusterrole=cluster-admin",
            "--serviceaccount=default:stranger",
        ];
        cluster.kubectl(&binding).await?;
        edge.until("the watches go on", |edge| watched.iter().all(|kind| edge.synced.contains(kind))).await
    })
}
