//! Two replicas: one works, the other stands by.

use anyhow::{Context, Result, ensure};
use mcwan_core::emit::object::Kind;
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use serde_json::json;

use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const LEASE: &str = "Lease mc-wan-system/mcwan";
const LEASE_SECONDS: [&str; 2] = ["--lease-seconds", "5"];

#[tokio::test]
async fn a_dead_leader_is_replaced_and_nothing_is_written_twice() -> Result<()> {
    let scene = Scene::start().await?;
    let first = scene.replica_with("first", &LEASE_SECONDS).await?;
    first.leads().await?;
    let second = scene.replica_with("second", &LEASE_SECONDS).await?;
    scene.apply_payment().await?;
    scene.until_payment_delivered().await?;
    scene.settled().await?;
    ensure!(holder(&scene).await? == "first", "the first one leads");
    writes_nothing(&second, "who follows").await?;
    let before = scene.versions().await?;

    // A process that is dropped is killed.
    drop(first);
    second.leads().await?;
    ensure!(holder(&scene).await? == "second", "the second one leads");
    scene.settled().await?;
    writes_nothing(&second, "who takes over").await?;
    let mut changes = before.changes(&scene.versions().await?);
    // Kubernetes' own controller may still be making the slices of what was delivered last.
    changes.retain(|id| !id.ends_with(" marker/marker") && !id.starts_with("EndpointSlice secure/"));
    ensure!(changes.is_empty(), "the second one has written {changes:?}");

    let third = scene.replica_with("third", &LEASE_SECONDS).await?;
    scene.edit(IMPORT, &json!({"spec": {"hostnames": ["pay.example.com"]}})).await?;
    scene
        .until("WasmPlugin secure/mcwan", "it has the host", |one| one.to_string().contains("pay.example.com"))
        .await?;
    scene.until_delivered(IMPORT).await?;
    scene.settled().await?;
    ensure!(holder(&scene).await? == "second", "who leads goes on");
    scene.end(second).await?;
    until(PATIENCE, "the third one holds the lease", async || Ok(holder(&scene).await? == "third")).await?;
    third.leads().await?;
    scene.settled().await?;
    writes_nothing(&third, "who takes over what was let go").await?;

    scene.end(third).await?;
    ensure!(holder(&scene).await?.is_empty(), "who ends well lets the lease go");
    Ok(())
}

async fn holder(scene: &Scene) -> Result<String> {
    let lease = scene.get(LEASE).await?.context("no lease")?;
    Ok(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().split('_').next().unwrap_or_default().to_owned())
}

async fn writes_nothing(controller: &Controller, who: &str) -> Result<()> {
    for kind in Kind::ALL {
        for metric in ["applied", "pruned"] {
            let metric = format!("mcwan_objects_{metric}_total{{kind=\"{}\"}}", kind.name());
            let count = controller.metric(&metric).await?;
            ensure!(count.is_none(), "{who} writes no {}: {count:?}", kind.name());
        }
    }
    Ok(())
}
