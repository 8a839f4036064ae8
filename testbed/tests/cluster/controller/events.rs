//! What is told as Events.

use anyhow::{Context, Result};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use mcwan_testbed::wait::until;
use serde_json::json;

use crate::objects::{mk_export, mk_import, mk_rule, mk_tier, mk_tier_ref};
use crate::scene::{PATIENCE, Scene};

#[tokio::test]
async fn what_becomes_of_a_users_object_is_told_as_an_event_on_it() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.apply_payment().await?;
    until_told(&scene, "ServiceImport payment", "Normal", "Accepted", "").await?;

    let rules = json!([mk_rule(mk_tier_ref("sd-wan-priority-none"))]);
    scene.put(&mk_import("secure", "ledger", &rules)).await?;
    until_told(&scene, "ServiceImport ledger", "Warning", "BackendNotFound", "sd-wan-priority-none").await?;

    scene.put(&mk_export("secure", "nothing")).await?;
    until_told(&scene, "ServiceExport nothing", "Warning", "NoService", "secure/nothing").await?;

    for name in ["one", "other"] {
        scene.put(&mk_tier(name, 4_000)).await?;
    }
    until_told(&scene, "WANPolicy other", "Warning", "PortConflict", "one").await?;
    scene.end(controller).await
}

/// Waits for an Event on `KIND NAME` whose note has these words.
async fn until_told(scene: &Scene, object: &str, type_: &str, reason: &str, words: &str) -> Result<()> {
    let events: Api<Event> = Api::all(scene.cluster.client());
    let mut told = Vec::new();
    let what = format!("{object} has an event {type_}/{reason}: {words}");
    let waited = until(PATIENCE, &what, async || {
        told = events.list(&ListParams::default()).await?.into_iter().filter_map(described).collect();
        Ok(told
            .iter()
            .any(|event: &String| event.starts_with(&format!("{object} {type_}/{reason}:")) && event.contains(words)))
    });
    waited.await.with_context(|| told.join("\n"))
}

fn described(event: Event) -> Option<String> {
    let Event { regarding, type_, reason, note, .. } = event;
    let object = regarding?;
    Some(format!("{} {} {}/{}: {}", object.kind?, object.name?, type_?, reason?, note.unwrap_or_default()))
}
