//! What is right is left alone, and what changes is written once.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use mcwan_core::emit::kubernetes::steering_value_of;
use mcwan_core::emit::object::Kind;
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use super::delivery::payment;
use super::history::History;
use super::state::Versions;
use crate::objects::{id_of, mk_export, mk_service};
use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const ROUTE: &str = "HTTPRoute secure/payment.8080";
const PLUGIN: &str = "WasmPlugin secure/mcwan";
/// What the tests themselves write to learn that the controller is done.
const MARKER: &str = "ServiceImport marker/marker";

#[tokio::test]
async fn what_is_right_is_left_alone_and_what_changes_is_written_once() -> Result<()> {
    let mut scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.apply_payment().await?;
    scene.put(&mk_service("secure", "ledger")).await?;
    scene.put(&mk_export("secure", "ledger")).await?;
    scene.until_payment_delivered().await?;
    scene.until_condition("ServiceExport secure/ledger", "Valid=True/Valid").await?;
    scene.until_called("secure/ledger").await?;
    settled_routes(&scene, 2).await?;
    nothing_waits_for_us_to_go(&scene).await?;
    let versions = scene.versions().await?;

    unchanged(&scene, &versions, "nothing has happened").await?;
    scene.end(controller).await?;
    let controller = scene.replica("b").await?;
    unchanged(&scene, &versions, "the controller has started anew").await?;
    ensure!(applied(&controller).await?.is_empty(), "it has written objects: {:?}", applied(&controller).await?);
    all_watches_begin_anew(&mut scene, &controller).await?;
    unchanged(&scene, &versions, "all watches have begun anew").await?;

    a_changed_rule_writes_a_plugin_and_a_status(&scene, &controller).await?;
    a_new_target_is_in_the_route_before_the_plugin_names_it(&scene).await?;
    scene.end(controller).await
}

/// Neither what we wrote nor what users did: it goes where the controller is gone, too.
async fn nothing_waits_for_us_to_go(scene: &Scene) -> Result<()> {
    let mut ids: Vec<_> = scene.emitted().await?.into_keys().collect();
    ids.extend(payment()?.iter().map(id_of));
    ids.extend(["Namespace secure", "Service secure/ledger", "ServiceExport secure/ledger"].map(str::to_owned));
    for id in ids {
        let object = scene.get(&id).await?.with_context(|| format!("no {id}"))?;
        let finalizers = &object["metadata"]["finalizers"];
        ensure!(finalizers.is_null(), "{id} has finalizers: {finalizers}");
    }
    Ok(())
}

/// Breaks every watch; the API server then has no memory of what was before.
async fn all_watches_begin_anew(scene: &mut Scene, controller: &Controller) -> Result<()> {
    let breaks = async || -> Result<f64> {
        Ok(controller.metric("mcwan_watch_restarts_total{kind=\"HTTPRoute\"}").await?.unwrap_or_default())
    };
    let before = breaks().await?;
    scene.cluster.stop_api_server();
    until(PATIENCE, "the watch of routes breaks", async || Ok(breaks().await? > before)).await?;
    scene.cluster.start_api_server().await
}

/// Waits until the route has so many rules and everything is done.
async fn settled_routes(scene: &Scene, rules: usize) -> Result<()> {
    let what = format!("{ROUTE} has {rules} rules");
    until(PATIENCE, &what, async || Ok(targets(&scene.get(ROUTE).await?.unwrap_or_default()).len() == rules)).await?;
    scene.settled().await
}

async fn unchanged(scene: &Scene, before: &Versions, why: &str) -> Result<()> {
    scene.settled().await?;
    let mut changes = before.changes(&scene.versions().await?);
    changes.retain(|id| id != MARKER);
    ensure!(changes.is_empty(), "{why}, and {changes:?} were written");
    Ok(())
}

/// How often objects of each kind were written.
async fn applied(controller: &Controller) -> Result<Vec<(String, f64)>> {
    let mut applied = Vec::new();
    for kind in Kind::ALL {
        let metric = format!("mcwan_objects_applied_total{{kind=\"{}\"}}", kind.title());
        applied.extend(controller.metric(&metric).await?.map(|count| (kind.title().to_owned(), count)));
    }
    Ok(applied)
}

async fn a_changed_rule_writes_a_plugin_and_a_status(scene: &Scene, controller: &Controller) -> Result<()> {
    let before = scene.versions().await?;
    let mut import = scene.get(IMPORT).await?.context("no import")?;
    import["spec"]["http"]["rules"][0]["matches"][0]["path"]["value"] = "/pay".into();
    scene.edit(IMPORT, &json!({"spec": import["spec"]})).await?;
    scene.until_delivered(IMPORT).await?;
    scene.settled().await?;
    let changes = before.changes(&scene.versions().await?);
    ensure!(changes == [MARKER, IMPORT, PLUGIN], "a changed rule has written {changes:?}");
    let applied = applied(controller).await?;
    ensure!(applied == [("WasmPlugin".to_owned(), 1.0)], "a changed rule has written {applied:?}");
    let config = scene.get(PLUGIN).await?.context("no plugin")?["spec"]["pluginConfig"].to_string();
    ensure!(config.contains("/pay\"") && !config.contains("/payment\""), "{config}");
    Ok(())
}

/// Routes and plugins reach a gateway by two channels without an order: at any time, what the plugin names is in
/// the route.
async fn a_new_target_is_in_the_route_before_the_plugin_names_it(scene: &Scene) -> Result<()> {
    let before = scene.versions().await?;
    let history = History::begin(scene, &[ROUTE, PLUGIN]).await?;
    let mut import = scene.get(IMPORT).await?.context("no import")?;
    import["spec"]["http"]["rules"][0]["timeouts"] = json!({"request": "2s"});
    let old = targets(&scene.get(ROUTE).await?.context("no route")?);
    scene.edit(IMPORT, &json!({"spec": import["spec"]})).await?;
    until(PATIENCE, "the route has the new target only", async || {
        let now = targets(&scene.get(ROUTE).await?.context("no route")?);
        Ok(now.len() == old.len() && now != old)
    })
    .await?;
    scene.settled().await?;
    let new = targets(&scene.get(ROUTE).await?.context("no route")?);
    let both: BTreeSet<_> = old.union(&new).cloned().collect();

    let written = history.end(scene).await?;
    let told: Vec<_> = written.iter().map(|object| (object["kind"].as_str(), targets(object))).collect();
    let expected = [(Some("HTTPRoute"), both), (Some("WasmPlugin"), BTreeSet::new()), (Some("HTTPRoute"), new)];
    ensure!(told == expected, "written in this order: {told:?}");
    let changes = before.changes(&scene.versions().await?);
    ensure!(changes == [ROUTE, MARKER, IMPORT, PLUGIN], "a changed target has written {changes:?}");
    Ok(())
}

/// The targets that a route is for.
fn targets(route: &Value) -> BTreeSet<String> {
    let rules = route.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    let values = rules.filter_map(steering_value_of);
    values.map(str::to_owned).collect()
}
