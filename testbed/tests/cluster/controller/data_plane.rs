//! An import that changes its data plane.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::objects::{id_of, mk_exported, mk_import, mk_rule, mk_tier_ref};
use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const ROUTE: &str = "HTTPRoute secure/payment.8080";

#[tokio::test]
async fn an_import_may_change_its_data_plane_and_back() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.apply_payment().await?;
    scene.until_payment_delivered().await?;
    let before = scene.emitted().await?;

    scene.edit(IMPORT, &json!({"spec": {"dataPlane": "Native"}})).await?;
    until_attached(&scene, "mcwan-egress-native").await?;
    for id in ["WasmPlugin secure/mcwan", "Gateway secure/mcwan-egress"] {
        scene.until_gone(id).await?;
    }
    let rules = route(&scene).await?["spec"]["rules"].clone();
    ensure!(rules[0]["matches"][0]["method"] == "GET", "the route has the user's rules: {rules}");
    scene.until_delivered(IMPORT).await?;
    what_a_native_import_lacks_is_not_said_of_others(&scene).await?;

    scene.edit(IMPORT, &json!({"spec": {"dataPlane": null}})).await?;
    until_attached(&scene, "mcwan-egress").await?;
    scene.until_gone("Gateway secure/mcwan-egress-native").await?;
    scene.until_emitted("everything is as it was", &before).await?;
    scene.end(controller).await
}

/// Its route is somebody else's, as it is without our label.
async fn what_a_native_import_lacks_is_not_said_of_others(scene: &Scene) -> Result<()> {
    let (id, other) = ("ServiceImport secure/till", mk_exported("secure", "till"));
    let labelled = |by| json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": by}}});
    scene.edit(ROUTE, &labelled("somebody")).await?;
    let message = scene.until_condition(IMPORT, "Programmed=False/Conflict").await?;
    ensure!(message.contains(ROUTE), "the message names the object: {message}");
    scene.put(&other).await?;
    scene.put(&mk_import("secure", "till", &json!([mk_rule(mk_tier_ref("sd-wan-priority-low"))]))).await?;
    scene.until_delivered(id).await?;
    scene.until_condition(IMPORT, "Programmed=False/Conflict").await?;

    scene.edit(ROUTE, &labelled("mcwan")).await?;
    scene.until_delivered(IMPORT).await?;
    for id in [id, &id_of(&other)] {
        scene.delete(id).await?;
    }
    scene.until_gone("WasmPlugin secure/mcwan").await
}

/// Waits until the import's route is one of this Gateway.
async fn until_attached(scene: &Scene, gateway: &str) -> Result<()> {
    let what = format!("{ROUTE} is attached to {gateway}");
    until(PATIENCE, &what, async || {
        Ok(scene.get(ROUTE).await?.unwrap_or_default()["spec"]["parentRefs"][0]["name"] == gateway)
    })
    .await
}

async fn route(scene: &Scene) -> Result<Value> {
    scene.get(ROUTE).await?.with_context(|| format!("{ROUTE} is not there"))
}
