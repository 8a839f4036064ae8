//! The one name that a service of several clusters has in each, and its address there.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::objects::{mk, mk_export, mk_exported, mk_exported_by, mk_namespace, mk_service, mk_tier};
use crate::scene::{PATIENCE, Scene};

const SHOWN: &str = "ServiceImport.multicluster.x-k8s.io secure/payment";
const SERVICE: &str = "Service secure/payment-clusterset";
const PLUGIN: &str = "WasmPlugin secure/mcwan";
const EXPORTED: &str = "ExportedService mc-wan-registry/cluster-1.secure.payment";
const DEFINITION: &str = "CustomResourceDefinition serviceimports.multicluster.x-k8s.io";

#[tokio::test]
async fn a_service_has_one_name_and_one_address_whatever_happens() -> Result<()> {
    let scene = Scene::start_with(&[Crds::Mcwan, Crds::GatewayApi, Crds::Istio]).await?;
    let controller = scene.replica("a").await?;
    for object in [mk_tier("sd-wan-priority-low", 31112), mk_member("cluster-1"), mk_exported("secure", "payment")] {
        scene.put(&object).await?;
    }
    scene.until_there(SERVICE).await?;
    scene.cluster.install_crds(Crds::McsV1Beta1).await?;
    let address = it_says_what_the_registry_has(&scene).await?;
    a_service_that_is_made_again_keeps_it(&scene, &address).await?;
    so_does_one_that_is_shown_again(&scene, &address).await?;
    what_clusters_disagree_about_is_the_oldest_s(&scene, &address).await?;
    scene.end(controller).await?;

    // Nobody is there to see how it goes.
    scene.delete(SERVICE).await?;
    scene.until_gone(SERVICE).await?;
    let controller = scene.replica("b").await?;
    until_addressed(&scene, &address).await?;
    scene.end(controller).await?;
    let controller = an_address_that_is_taken_is_another(&scene, &address).await?;
    names_of_others_are_left_alone(&scene).await?;
    it_is_there_as_long_as_somebody_exports_it(&scene).await?;
    scene.end(controller).await
}

/// A cluster of the registry.
fn mk_member(name: &str) -> Value {
    mk(
        "WANCluster",
        "mc-wan-registry",
        name,
        json!({"spec": {"tiers": [{"name": "sd-wan-priority-low", "port": 31112}]}}),
    )
}

async fn it_says_what_the_registry_has(scene: &Scene) -> Result<String> {
    scene.until_there(SHOWN).await?;
    let service = scene.get(SERVICE).await?.context("no Service")?;
    let address = service["spec"]["clusterIP"].as_str().context("no address")?.to_owned();
    until_addressed(scene, &address).await?;
    let shown = scene.get(SHOWN).await?.context("no ServiceImport")?;
    let spec = json!({"type": "ClusterSetIP", "ips": [address], "ipFamilies": ["IPv4"], "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]});
    ensure!(shown["spec"] == spec, "{}", shown["spec"]);
    let derived = &shown["metadata"]["annotations"]["multicluster.kubernetes.io/derived-service"];
    ensure!(derived == "payment-clusterset", "{derived}");
    scene.until_field(SHOWN, "/status/clusters", &json!([{"cluster": "cluster-1"}])).await?;
    // No gateway runs here.
    scene.until_condition(SHOWN, "Ready=False/Pending").await?;
    Ok(address)
}

/// Everything names this address.
async fn until_addressed(scene: &Scene, address: &str) -> Result<()> {
    scene.until_field(SERVICE, "/spec/clusterIPs", &json!([address])).await?;
    scene.until_field(SHOWN, "/spec/ips", &json!([address])).await?;
    let host = format!("\"{address}\"");
    scene.until(PLUGIN, "the address is a host", |plugin| plugin["spec"].to_string().contains(&host)).await?;
    scene.settled().await
}

async fn a_service_that_is_made_again_keeps_it(scene: &Scene, address: &str) -> Result<()> {
    let before = uid(scene, SERVICE).await?;
    scene.delete(SERVICE).await?;
    scene.until(SERVICE, "it is another one", |service| service["metadata"]["uid"] != before).await?;
    until_addressed(scene, address).await
}

async fn so_does_one_that_is_shown_again(scene: &Scene, address: &str) -> Result<()> {
    let before = uid(scene, SHOWN).await?;
    scene.delete(SHOWN).await?;
    scene.until(SHOWN, "it is another one", |shown| shown["metadata"]["uid"] != before).await?;
    until_addressed(scene, address).await?;
    scene.until_condition(SHOWN, "Ready=False/Pending").await?;

    scene.delete(DEFINITION).await?;
    scene.until_gone(DEFINITION).await?;
    scene.settled().await?;
    scene.cluster.install_crds(Crds::McsV1Beta1).await?;
    scene.until_there(SHOWN).await?;
    until_addressed(scene, address).await
}

async fn what_clusters_disagree_about_is_the_oldest_s(scene: &Scene, address: &str) -> Result<()> {
    let mut older = mk_exported("secure", "payment");
    older["spec"]["properties"] = json!({"sessionAffinity": "ClientIP", "sessionAffinitySeconds": 10,
        "trafficDistribution": "PreferClose", "annotations": {"example.com/by": "payments"},
        "labels": {"team": "payments", "app.kubernetes.io/managed-by": "somebody"}});
    let mut younger = mk_exported_by("cluster-3", "secure", "payment", &json!(["10.60.0.7"]));
    younger["spec"]["exportedAt"] = "2036-11-20T08:00:00Z".into();
    younger["spec"]["ports"] = json!([{"port": 9090, "protocol": "TCP"}]);
    younger["spec"]["properties"] = json!({"labels": {"unit": "shops"}});
    for object in [older, mk_member("cluster-3"), younger] {
        scene.put(&object).await?;
    }
    let ports = json!([{"name": "http", "port": 8080, "protocol": "TCP"},
        {"name": "port-9090", "port": 9090, "protocol": "TCP"}]);
    scene.until_field(SHOWN, "/spec/ports", &ports).await?;
    let clusters = json!([{"cluster": "cluster-1"}, {"cluster": "cluster-3"}]);
    scene.until_field(SHOWN, "/status/clusters", &clusters).await?;
    let shown = scene.get(SHOWN).await?.context("no ServiceImport")?;
    let spec = &shown["spec"];
    let affinity = json!({"clientIP": {"timeoutSeconds": 10}});
    ensure!(spec["sessionAffinity"] == "ClientIP" && spec["sessionAffinityConfig"] == affinity, "{spec}");
    ensure!(spec["trafficDistribution"] == "PreferClose", "{spec}");
    let labels =
        json!({"app.kubernetes.io/managed-by": "mcwan", "mc-wan.l7mp.io/import": "payment", "team": "payments"});
    ensure!(shown["metadata"]["labels"] == labels, "{}", shown["metadata"]["labels"]);
    ensure!(shown["metadata"]["annotations"]["example.com/by"] == "payments", "{}", shown["metadata"]);

    scene.delete("ExportedService mc-wan-registry/cluster-3.secure.payment").await?;
    scene.until_field(SHOWN, "/status/clusters", &json!([{"cluster": "cluster-1"}])).await?;
    until_addressed(scene, address).await
}

/// While nobody looks, somebody else gets the address.
async fn an_address_that_is_taken_is_another(
    scene: &Scene,
    address: &str,
) -> Result<mcwan_testbed::controller::Controller> {
    scene.delete(SERVICE).await?;
    scene.until_gone(SERVICE).await?;
    let ports = json!([{"port": 80, "protocol": "TCP"}]);
    let thief = mk("Service", "marker", "thief", json!({"spec": {"clusterIP": address, "ports": ports}}));
    // The address may be some time in coming back.
    until(PATIENCE, "somebody else has it", async || Ok(scene.put(&thief).await.is_ok())).await?;
    let controller = scene.replica("c").await?;
    scene.until_there(SERVICE).await?;
    let service = scene.get(SERVICE).await?.context("no Service")?;
    let other = service["spec"]["clusterIP"].as_str().context("no address")?;
    ensure!(other != address, "the address is somebody else's");
    until_addressed(scene, other).await?;
    let events = ["get", "events", "-n", "secure", "-o", "jsonpath={.items[*].reason}"];
    until(PATIENCE, "there is an Event", async || Ok(scene.cluster.kubectl(&events).await?.contains("AddressTaken")))
        .await?;
    Ok(controller)
}

async fn names_of_others_are_left_alone(scene: &Scene) -> Result<()> {
    let id = "ServiceImport.multicluster.x-k8s.io secure/orders";
    let theirs = json!({"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport",
        "metadata": {"name": "orders", "namespace": "secure"},
        "spec": {"type": "ClusterSetIP", "ips": ["10.96.7.7"], "ports": [{"port": 1}]}});
    scene.put(&theirs).await?;
    let before = scene.get(id).await?;
    scene.put(&mk_exported("secure", "orders")).await?;
    scene.until_there("Service secure/orders-clusterset").await?;
    scene.settled().await?;
    ensure!(scene.get(id).await? == before, "it is as it was");
    let service = scene.get("Service secure/orders-clusterset").await?.context("no Service")?;
    ensure!(service["spec"]["clusterIP"] != "10.96.7.7", "what others say of addresses is nothing to us");
    // Who exports it is told.
    let export = "ServiceExport secure/orders";
    scene.put(&mk_service("secure", "orders")).await?;
    scene.put(&mk_export("secure", "orders")).await?;
    scene.until_said(export, "Ready=False/Failed", id).await?;
    scene.delete(id).await?;
    scene.until_said(export, "Ready=False/Pending", "no pod of the ingress gateway").await?;
    scene.until(id, "it is ours", |shown| shown["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "mcwan").await
}

/// And where its namespace is.
async fn it_is_there_as_long_as_somebody_exports_it(scene: &Scene) -> Result<()> {
    scene.delete(EXPORTED).await?;
    scene.until_gone(SHOWN).await?;
    scene.until_gone(SERVICE).await?;
    scene.put(&mk_exported("later", "shop")).await?;
    scene.settled().await?;
    scene.put(&mk_namespace("later")).await?;
    scene.until_there("ServiceImport.multicluster.x-k8s.io later/shop").await
}

async fn uid(scene: &Scene, id: &str) -> Result<Value> {
    Ok(scene.get(id).await?.with_context(|| format!("no {id}"))?["metadata"]["uid"].clone())
}
