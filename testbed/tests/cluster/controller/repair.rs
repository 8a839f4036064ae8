//! What others do to what we have emitted, and what they have where we would emit.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::objects::{mk, mk_export, mk_exported, mk_import, mk_rule, mk_service, mk_tier_ref};
use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const EXPORT: &str = "ServiceExport secure/ledger";
const EXPORTED: &str = "ExportedService mc-wan-registry/cluster-2.secure.ledger";

#[tokio::test]
async fn what_others_change_is_repaired_and_what_they_own_is_left_alone() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    what_others_own_is_left_alone(&scene).await?;
    so_it_is_where_something_is_exported(&scene).await?;
    so_it_is_where_all_share_it(&scene).await?;
    a_route_that_cannot_be_written_holds_up_no_neighbour(&scene).await?;
    scene.until_called("secure/payment").await?;
    what_others_change_is_repaired(&scene).await?;
    what_others_add_is_undone(&scene).await?;
    what_somebody_writes_into_a_route_is_not_granted(&scene).await?;
    what_others_delete_is_made_again(&scene).await?;
    another_steering_key_is_followed(&scene).await?;
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
    // Without its admission, the gateway would be open to all.
    let (admission, gateway) = ("AuthorizationPolicy secure/mcwan-ingress", "Gateway secure/mcwan-ingress");
    scene.put(&mk("AuthorizationPolicy", "secure", "mcwan-ingress", json!({"spec": {}}))).await?;
    scene.put(&mk_service("secure", "ledger")).await?;
    scene.put(&mk_export("secure", "ledger")).await?;
    scene.until_said(EXPORT, "Ready=False/Failed", admission).await?;
    scene.settled().await?;
    ensure!(scene.get(gateway).await?.is_none(), "there is no gateway without its admission");
    scene.delete(admission).await?;
    scene.until_there(gateway).await?;
    let made = scene.get(admission).await?.context("no AuthorizationPolicy")?;
    ensure!(made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "mcwan", "{made}");

    let message = scene.until_condition(EXPORT, "Ready=False/Failed").await?;
    ensure!(message.contains(id) && message.contains("(Conflict)"), "the message names the object: {message}");
    scene.settled().await?;
    ensure!(scene.get(id).await? == before, "the object is as it was");
    ensure!(scene.get(EXPORTED).await?.is_none(), "other clusters hear of it when its gateway has the route");

    scene.delete(id).await?;
    scene.until_condition(EXPORT, "Valid=True/Valid").await?;
    scene.until_said(EXPORT, "Ready=False/Pending", "no pod of the ingress gateway").await?;
    ensure!(scene.get(EXPORTED).await?.is_some(), "other clusters hear of it");
    let made = scene.get(id).await?.context("no HTTPRoute")?;
    ensure!(made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "mcwan", "{made}");
    Ok(())
}

/// What is without our label is somebody else's.
async fn so_it_is_where_all_share_it(scene: &Scene) -> Result<()> {
    for id in ["WANCluster mc-wan-registry/cluster-2", "DestinationRule mc-wan/mcwan-tiers"] {
        let labelled = |by| json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": by}}});
        scene.edit(id, &labelled("somebody")).await?;
        for (user, condition) in [(IMPORT, "Programmed=False/Conflict"), (EXPORT, "Ready=False/Failed")] {
            let message = scene.until_condition(user, condition).await?;
            ensure!(message.contains(id), "the message names the object: {message}");
        }
        scene.edit(id, &labelled("mcwan")).await?;
        scene.until_delivered(IMPORT).await?;
        scene.until_said(EXPORT, "Ready=False/Pending", "no pod of the ingress gateway").await?;
    }
    Ok(())
}

/// It is about to go and cannot, as somebody keeps it.
async fn a_route_that_cannot_be_written_holds_up_no_neighbour(scene: &Scene) -> Result<()> {
    let (route, neighbour) = ("HTTPRoute secure/payment.8080", "ServiceImport secure/till");
    let rules = |path: &str| {
        let mut rule = mk_rule(mk_tier_ref("sd-wan-priority-low"));
        rule["matches"] = json!([{"path": {"type": "PathPrefix", "value": path}}]);
        json!([rule])
    };
    scene.put(&mk_exported("secure", "till")).await?;
    scene.put(&mk_import("secure", "till", &rules("/before"))).await?;
    scene.until_delivered(neighbour).await?;

    scene.edit(route, &json!({"metadata": {"finalizers": ["example.com/anchor"]}})).await?;
    scene.delete(route).await?;
    scene.until_said(IMPORT, "Programmed=False/Pending", &format!("not applied yet: {route}")).await?;
    scene.put(&mk_import("secure", "till", &rules("/after"))).await?;
    let plugin = async || anyhow::Ok(scene.get("WasmPlugin secure/mcwan").await?.unwrap_or_default().to_string());
    until(PATIENCE, "the neighbour's rule is written", async || Ok(plugin().await?.contains("/after"))).await?;
    scene.until_delivered(neighbour).await?;

    scene.edit(route, &json!({"metadata": {"finalizers": null}})).await?;
    scene.until_delivered(IMPORT).await?;
    for id in [neighbour, "ExportedService mc-wan-registry/cluster-1.secure.till"] {
        scene.delete(id).await?;
    }
    // What its routes led to outlasts them.
    for id in ["HTTPRoute secure/till.8080", "ReferenceGrant mc-wan/secure.till"] {
        scene.until_gone(id).await?;
    }
    for tier in ["sd-wan-priority-high", "sd-wan-priority-low"] {
        scene.until_gone(&format!("Service mc-wan/till-secure-{tier}")).await?;
    }
    Ok(())
}

/// One field of ours of each kind, as somebody may change it.
fn slips() -> [(&'static str, Value); 13] {
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
        ("ServiceImport.multicluster.x-k8s.io secure/payment", json!({"spec": {"sessionAffinity": "ClientIP"}})),
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

/// By an update, and by an apply under another name.
async fn what_others_add_is_undone(scene: &Scene) -> Result<()> {
    let before = scene.emitted().await?;
    let service = json!({"data": {"service": "spec: {type: LoadBalancer}"}});
    scene.edit("ConfigMap secure/mcwan-egress", &service).await?;
    let listener = json!({"name": "theirs", "port": 9999, "protocol": "HTTP"});
    scene.put(&mk("Gateway", "secure", "mcwan-egress", json!({"spec": {"listeners": [listener]}}))).await?;
    scene.until_emitted("what others added is undone", &before).await
}

/// Whoever may write routes of a namespace names another tenant's tier service.
async fn what_somebody_writes_into_a_route_is_not_granted(scene: &Scene) -> Result<()> {
    let id = "HTTPRoute secure/payment.8080";
    let before = scene.emitted().await?;
    let mut rules = scene.get(id).await?.context("no HTTPRoute")?["spec"]["rules"].take();
    let stranger = "orders-other-sd-wan-priority-high";
    rules[0]["backendRefs"].as_array_mut().context("no backends")?.push(
        json!({"group": "", "kind": "Service", "name": stranger, "namespace": "mc-wan", "port": 31111, "weight": 0}),
    );
    scene.edit(id, &json!({"spec": {"rules": rules}})).await?;
    scene.until_emitted("the route is repaired, and the grant is as it was", &before).await
}

async fn what_others_delete_is_made_again(scene: &Scene) -> Result<()> {
    let before = scene.emitted().await?;
    let versions = scene.versions().await?;
    // An address outlives its Service or the object that shows it, but neither both nor what the registry has.
    let is_kept = |id: &&String| id.starts_with("ServiceImport.") || id.contains(" mc-wan-registry/");
    for id in before.keys().filter(|id| !is_kept(id)) {
        // With their owner, some are gone already.
        if scene.get(id).await?.is_some() {
            scene.delete(id).await?;
        }
    }
    scene.until_emitted("everything is made again", &before).await?;
    let changes = versions.changes(&scene.versions().await?);
    ensure!(before.keys().all(|id| is_kept(&id) || changes.contains(id)), "each was deleted: {changes:?}");
    for id in ["ExportedService mc-wan-registry/cluster-2.secure.ledger", "WANCluster mc-wan-registry/cluster-2"] {
        scene.delete(id).await?;
        until(PATIENCE, "the registry is told again", async || Ok(scene.emitted().await?.get(id) == before.get(id)))
            .await?;
    }
    scene.until_delivered(IMPORT).await?;
    Ok(())
}

/// The filter has values of the new key, and those of the old one leave the route, while the controller runs on.
async fn another_steering_key_is_followed(scene: &Scene) -> Result<()> {
    let value = |filter: &Value| filter.pointer("/spec/pluginConfig/imports/0/targets/0/digest").cloned();
    let filter = "WasmPlugin secure/mcwan";
    let before = scene.get(filter).await?.as_ref().and_then(value).context("no steering value")?;
    scene
        .edit("Secret mc-wan-system/mcwan-steering-key", &json!({"stringData": {"key": "another key, as long"}}))
        .await?;
    scene.until(filter, "another value", |filter| value(filter).is_some_and(|now| now != before)).await?;
    let old = before.as_str().context("no text")?;
    scene.until("HTTPRoute secure/payment.8080", "its value", |route| !route.to_string().contains(old)).await?;
    scene.until_delivered(IMPORT).await
}
