//! What an API server can do to a controller.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::objects::{mk, mk_export, mk_exported, mk_import, mk_namespace, mk_rule, mk_service, mk_tier_ref};
use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const PLUGIN: &str = "WasmPlugin secure/mcwan";
/// How long the API server is gone: "API server gone for a minute".
const AWAY: Duration = Duration::from_mins(1);

#[tokio::test]
async fn kinds_that_come_later_are_used_without_a_restart() -> Result<()> {
    let scene = Scene::start_with(&[Crds::Mcwan, Crds::McsV1Alpha1]).await?;
    let controller = scene.replica("a").await?;
    scene.apply_payment().await?;
    // What cannot be written does not keep from being said that it cannot.
    let message = scene.until_said(IMPORT, "Programmed=False/Pending", "HTTPRoute secure/payment.8080").await?;
    ensure!(message.starts_with("not applied yet: "), "{message}");
    scene.cluster.install_crds(Crds::GatewayApi).await?;
    scene.until_there("HTTPRoute secure/payment.8080").await?;
    scene.until_said(IMPORT, "Programmed=False/Pending", "not applied yet: WasmPlugin secure/mcwan").await?;

    scene.put(&mk_service("secure", "ledger")).await?;
    let mut export = mk_export("secure", "ledger");
    export["apiVersion"] = "multicluster.x-k8s.io/v1alpha1".into();
    scene.put(&export).await?;
    let owner = async || -> Result<Value> {
        let route = scene.get("HTTPRoute secure/ledger.export").await?.unwrap_or_default();
        Ok(route["metadata"]["ownerReferences"][0]["apiVersion"].clone())
    };
    until(PATIENCE, "an older ServiceExport is taken", async || Ok(owner().await? == "multicluster.x-k8s.io/v1alpha1"))
        .await?;
    let filter = "jsonpath={.status.conditions[?(@.type==\"Valid\")].status}";
    let valid = ["get", "serviceexport", "ledger", "-n", "secure", "-o", filter];
    until(PATIENCE, "it is Valid", async || Ok(scene.cluster.kubectl(&valid).await? == "True")).await?;

    scene.cluster.install_crds(Crds::Istio).await?;
    scene.until_delivered(IMPORT).await?;
    let shown = "serviceimports.v1alpha1.multicluster.x-k8s.io/payment";
    let uid = ["get", shown, "-n", "secure", "-o", "jsonpath={.metadata.uid}"];
    let before = scene.cluster.kubectl(&uid).await?;
    scene.cluster.install_crds(Crds::McsV1Beta1).await?;
    scene.until_there(PLUGIN).await?;
    scene.until_there("DestinationRule mc-wan/mcwan-tiers").await?;
    scene.until_there("AuthorizationPolicy secure/mcwan-ingress").await?;
    until(PATIENCE, "the newer ServiceExport is taken", async || Ok(owner().await? == "multicluster.x-k8s.io/v1beta1"))
        .await?;
    let affinity = json!({"spec": {"sessionAffinity": "ClientIP"}});
    let id = "ServiceImport.multicluster.x-k8s.io secure/payment";
    scene.edit(id, &affinity).await?;
    scene.until_field(id, "/spec/sessionAffinity", &json!("None")).await?;
    ensure!(scene.cluster.kubectl(&uid).await? == before, "it is the same one");
    scene.end(controller).await
}

#[tokio::test]
async fn what_the_api_server_does_passes() -> Result<()> {
    let mut scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.apply_payment().await?;
    scene.until_delivered(IMPORT).await?;
    it_refuses_for_a_while(&scene, &controller).await?;
    it_is_away_for_a_while(&mut scene, &controller).await?;
    a_namespace_ends(&scene).await?;
    a_broken_object_harms_itself(&scene).await?;
    scene.end(controller).await
}

async fn metric(controller: &Controller, name: &str) -> Result<f64> {
    Ok(controller.metric(name).await?.unwrap_or_default())
}

/// Sends `/payment` elsewhere, so that the plugin must be written.
async fn change_rule(scene: &Scene, path: &str) -> Result<()> {
    let mut import = scene.get(IMPORT).await?.context("no import")?;
    import["spec"]["http"]["rules"][0]["matches"][0]["path"]["value"] = path.into();
    scene.edit(IMPORT, &json!({"spec": import["spec"]})).await
}

async fn until_rule(scene: &Scene, path: &str) -> Result<()> {
    until(PATIENCE, "the changed rule is in the plugin", async || {
        let plugin = scene.get(PLUGIN).await?.unwrap_or_default();
        Ok(plugin["spec"]["pluginConfig"].to_string().contains(&format!("\"{path}\"")))
    })
    .await?;
    scene.until_delivered(IMPORT).await
}

/// 429, as where the API server is overloaded: of the controller's patches it takes one at a time.
async fn it_refuses_for_a_while(scene: &Scene, controller: &Controller) -> Result<()> {
    let limited = json!({"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"}});
    let level = json!({"spec": {"type": "Limited", "limited": limited}});
    scene.put(&mk("PriorityLevelConfiguration", "", "overloaded", level)).await?;
    let account = json!({"kind": "ServiceAccount", "serviceAccount": {"name": "mcwan", "namespace": "mc-wan-system"}});
    let patches = json!({"verbs": ["patch"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
        "clusterScope": true});
    let schema = json!({"spec": {"matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "overloaded"},
        "rules": [{"subjects": [account], "resourceRules": [patches]}]}});
    scene.put(&mk("FlowSchema", "", "overloaded", schema)).await?;

    let refused = "mcwan_api_errors_total{reason=\"TooManyRequests\"}";
    let mut number = 0;
    until(PATIENCE, "the API server refuses", async || {
        number += 1;
        let name = format!("busy-{number}");
        scene.put(&mk_import("secure", &name, &json!([mk_rule(mk_tier_ref("sd-wan-priority-low"))]))).await?;
        scene.put(&mk_exported("secure", &name)).await?;
        Ok(metric(controller, refused).await? > 0.0)
    })
    .await?;
    for number in 1..=number {
        scene.until_delivered(&format!("ServiceImport secure/busy-{number}")).await?;
    }
    scene.delete("FlowSchema overloaded").await
}

/// Watches break, and break again while they are begun anew. What has changed meanwhile is seen all the same.
async fn it_is_away_for_a_while(scene: &mut Scene, controller: &Controller) -> Result<()> {
    let breaks = "mcwan_watch_restarts_total{kind=\"ServiceImport\"}";
    let before = metric(controller, breaks).await?;
    scene.cluster.stop_api_server();
    let since = Instant::now();
    until(PATIENCE, "it is away for long, and the watch has broken several times", async || {
        Ok(since.elapsed() >= AWAY && metric(controller, breaks).await? >= before + 3.0)
    })
    .await?;
    scene.cluster.start_api_server().await?;
    change_rule(scene, "/away").await?;
    scene.delete("HTTPRoute secure/payment.8080").await?;
    until_rule(scene, "/away").await?;
    scene.until_there("HTTPRoute secure/payment.8080").await
}

/// A namespace that cannot end takes nothing new, and keeps nobody else from anything.
async fn a_namespace_ends(scene: &Scene) -> Result<()> {
    let mut anchor = mk("ConfigMap", "ending", "anchor", json!({}));
    anchor["metadata"]["finalizers"] = json!(["example.com/anchor"]);
    for object in [mk_namespace("ending"), anchor, mk_exported("ending", "shop")] {
        scene.put(&object).await?;
    }
    scene.put(&mk_import("ending", "shop", &json!([mk_rule(mk_tier_ref("sd-wan-priority-low"))]))).await?;
    scene.until_delivered("ServiceImport ending/shop").await?;
    scene.delete("Namespace ending").await?;
    for gone in ["WasmPlugin ending/mcwan", "HTTPRoute ending/shop.8080", "Service ending/shop-clusterset"] {
        scene.until_gone(gone).await?;
    }
    scene.until_gone("Service mc-wan/shop-ending-sd-wan-priority-low").await?;
    change_rule(scene, "/ending").await?;
    until_rule(scene, "/ending").await?;
    scene.edit("ConfigMap ending/anchor", &json!({"metadata": {"finalizers": null}})).await?;
    scene.until_gone("Namespace ending").await
}

/// A definition may be older or newer than we are, so that what it lets through has not our form.
async fn a_broken_object_harms_itself(scene: &Scene) -> Result<()> {
    let anything = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]);
    let crd = "serviceimports.mc-wan.l7mp.io";
    scene.cluster.kubectl(&["patch", "crd", crd, "--type=json", "-p", &anything.to_string()]).await?;
    scene.put(&mk_exported("secure", "broken")).await?;
    let broken = mk("ServiceImport", "secure", "broken", json!({"spec": {"http": {"rules": "none"}}}));
    // The API server takes a while to forget the old definition.
    until(PATIENCE, "the broken import is taken", async || Ok(scene.put(&broken).await.is_ok())).await?;
    let message = scene.until_condition("ServiceImport secure/broken", "Accepted=False/Unreadable").await?;
    ensure!(message.contains("spec.http.rules"), "{message}");

    scene.settled().await?;
    let plugin = scene.get(PLUGIN).await?.context("no plugin")?;
    let config = &plugin["spec"]["pluginConfig"];
    let mut imports = config["imports"].as_array().into_iter().flatten();
    let is_refusing = |import: &Value| import["name"] == "broken" && import.get("rules").is_none();
    ensure!(imports.any(is_refusing), "its rules may forbid what nobody knows: {config}");
    change_rule(scene, "/broken").await?;
    until_rule(scene, "/broken").await
}
