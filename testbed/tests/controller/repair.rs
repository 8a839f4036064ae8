//! What others do to what we have emitted, and what they have where we would emit.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::Scene;
use crate::objects::{mk, mk_export, mk_service};

const IMPORT: &str = "ServiceImport secure/payment";
const EXPORT: &str = "ServiceExport secure/ledger";

#[tokio::test]
async fn what_others_change_is_repaired_and_what_they_own_is_left_alone() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    what_others_own_is_left_alone(&scene).await?;
    so_it_is_where_something_is_exported(&scene).await?;
    scene.settled().await?;
    what_others_change_is_repaired(&scene).await?;
    what_others_delete_is_made_again(&scene).await?;
    scene.end(controller).await
}

async fn what_others_own_is_left_alone(scene: &Scene) -> Result<()> {
    let id = "Service secure/payment-clusterset";
    scene.put(&mk_service("secure", "payment-clusterset")).await?;
    let before = scene.get(id).await?;
    scene.apply_payment().await?;
    let message = scene.until_condition(IMPORT, "Programmed=False/Conflict").await?;
    ensure!(message.contains(id), "the message names the object: {message}");
    scene.settled().await?;
    ensure!(scene.get(id).await? == before, "the object is as it was");

    scene.delete(id).await?;
    scene.until_delivered(IMPORT).await?;
    let made = scene.get(id).await?.context("no Service")?;
    ensure!(made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "mcwan", "{made}");
    Ok(())
}

async fn so_it_is_where_something_is_exported(scene: &Scene) -> Result<()> {
    let id = "HTTPRoute secure/ledger.export";
    scene.put(&mk("HTTPRoute", "secure", "ledger.export", json!({"spec": {"hostnames": ["example.com"]}}))).await?;
    let before = scene.get(id).await?;
    scene.put(&mk_service("secure", "ledger")).await?;
    scene.put(&mk_export("secure", "ledger")).await?;
    let message = scene.until_condition(EXPORT, "Ready=False/Failed").await?;
    ensure!(message.contains(id) && message.contains("(Conflict)"), "the message names the object: {message}");
    scene.settled().await?;
    ensure!(scene.get(id).await? == before, "the object is as it was");

    scene.delete(id).await?;
    scene.until_condition(EXPORT, "Valid=True/Valid").await?;
    scene.until_said(EXPORT, "Ready=False/Pending", "no pod of the ingress gateway").await?;
    let made = scene.get(id).await?.context("no HTTPRoute")?;
    ensure!(made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "mcwan", "{made}");
    Ok(())
}

/// One field of ours of each kind, as somebody may change it.
fn slips() -> [(&'static str, Value); 12] {
    let ports = json!([{"name": "http", "port": 1, "protocol": "TCP"}]);
    [
        ("ReferenceGrant mc-wan/secure.payment", json!({"spec": {"to": [{"group": "", "kind": "Secret"}]}})),
        ("DestinationRule mc-wan/mcwan-tiers", json!({"spec": {"host": "*.example.com"}})),
        ("Service mc-wan/payment-secure-sd-wan-priority-high", json!({"spec": {"ports": ports}})),
        ("EndpointSlice mc-wan/payment-secure-sd-wan-priority-high.cluster-1.ipv4", json!({"endpoints": []})),
        ("ConfigMap secure/mcwan-egress", json!({"data": {"deployment": null}})),
        ("AuthorizationPolicy secure/mcwan-ingress", json!({"spec": {"action": "ALLOW"}})),
        ("Telemetry secure/mcwan-egress", json!({"spec": {"accessLogging": [{"disabled": true}]}})),
        ("WasmPlugin secure/mcwan", json!({"spec": {"pluginConfig": {"imports": []}}})),
        ("Gateway secure/mcwan-egress", json!({"spec": {"gatewayClassName": "other"}})),
        ("HTTPRoute secure/payment.8080", json!({"spec": {"hostnames": ["example.com"]}})),
        ("WANCluster mc-wan-registry/cluster-2", json!({"spec": {"tiers": []}})),
        ("ExportedService mc-wan-registry/cluster-2.secure.ledger", json!({"spec": {"readyPods": 7}})),
    ]
}

async fn what_others_change_is_repaired(scene: &Scene) -> Result<()> {
    let before = scene.emitted().await?;
    for (id, slip) in slips() {
        ensure!(before.contains_key(id), "{id} is emitted, beside {:?}", before.keys());
        scene.edit(id, &slip).await?;
    }
    scene.until_emitted("everything is repaired", &before).await
}

async fn what_others_delete_is_made_again(scene: &Scene) -> Result<()> {
    let before = scene.emitted().await?;
    let versions = scene.versions().await?;
    for id in before.keys() {
        // With their owner, some are gone already.
        if scene.get(id).await?.is_some() {
            scene.delete(id).await?;
        }
    }
    scene.until_emitted("everything is made again", &before).await?;
    let changes = versions.changes(&scene.versions().await?);
    ensure!(before.keys().all(|id| changes.contains(id)), "each was deleted: {changes:?}");
    scene.until_delivered(IMPORT).await?;
    Ok(())
}
