//! A registry that is away.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use mcwan_core::translate::gateway_pods::ADMITTED_CONDITION;
use mcwan_testbed::wait::until;
use serde_json::Value;

use super::exchange::add_gateway_pod;
use super::made::{emitted, ensure_emitted};
use super::neighbour::Neighbour;
use super::objects::{mk_exported, mk_import};
use super::split::until_weights;
use super::wan::{LEASE, Wan, until_metric};
use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const EXPORT: &str = "ServiceExport secure/ledger";
const REACHABLE: &str = "mcwan_registry_reachable";

/// What the log says once a registry has not answered for as long as a Lease lasts.
const UNREACHABLE: &str = "the registry cannot be reached";

#[tokio::test]
async fn a_registry_that_is_away_changes_nothing_but_what_is_said_of_it() -> Result<()> {
    let mut wan = Wan::start().await?;
    let three = Neighbour::join(&wan, "cluster-3", 3, "10.60.0.7").await?;
    let four = Neighbour::join(&wan, "cluster-4", 1, "10.70.0.7").await?;
    let (_of_three, of_four) = (three.renew(0), four.renew(0));
    wan.two.put(&mk_import("/payment")).await?;
    for object in mk_exported("ledger") {
        wan.two.put(&object).await?;
    }
    let controller = wan.two.replica("a").await?;
    until_weights(&wan.two, &[3, 1]).await?;
    wan.two.until_reason(EXPORT, "Ready", Some("Pending")).await?;
    until_metric(&controller, REACHABLE, 1.0).await?;

    wan.two.settled().await?;
    // What leads clients to them is made last.
    for name in ["payment", "ledger"] {
        wan.two.until_called(&format!("secure/{name}")).await?;
    }
    let before = emitted(&wan.two).await?;
    wan.one.cluster.stop_api_server();
    wan.two.until_reason(IMPORT, "Stale", Some("RegistryUnreachable")).await?;
    wan.two.until_reason(EXPORT, "Ready", Some("RegistryUnreachable")).await?;
    until_metric(&controller, REACHABLE, 0.0).await?;
    ensure_emitted(&wan.two, &before, "what came from the registry stays as it was").await?;

    // What has nothing to do with the registry goes on.
    wan.two.put(&mk_import("/pay")).await?;
    until_rule(&wan.two, "/pay").await?;
    wan.two.settled().await?;

    // A new process does not know what it imports, and so does nothing.
    let before = emitted(&wan.two).await?;
    controller.stop().await?;
    let controller = wan.two.begun("a", &[]).await?;
    // The metric says so from the start.
    until(PATIENCE, "it was tried for long enough", async || Ok(controller.log()?.contains(UNREACHABLE))).await?;
    until_metric(&controller, REACHABLE, 0.0).await?;
    let waits = controller.unreadiness().await?;
    ensure!(waits.as_deref() == Some("the registry has not told everything yet\n"), "{waits:?}");
    ensure_emitted(&wan.two, &before, "nothing is written or deleted by one who knows nothing").await?;
    let lease = wan.two.get("Lease mc-wan-system/mcwan").await?.context("no Lease")?;
    let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
    ensure!(holder.is_empty(), "nor does he take the lead from one who may know: {holder}");
    // But a pod that takes the place of another does not wait for the registry.
    add_gateway_pod(&wan.two, "mcwan-egress", "10.40.0.9", false).await?;
    let is_open = |pod: &Value| {
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|known| known["type"] == ADMITTED_CONDITION && known["reason"] == "Timeout")
    };
    wan.two.until("Pod secure/mcwan-egress-0", "it takes requests", is_open).await?;
    ensure_emitted(&wan.two, &before, "nothing else is written").await?;

    // It comes back, and one of the clusters does not.
    drop(of_four);
    let back = Instant::now();
    wan.one.cluster.start_api_server().await?;
    until(PATIENCE, "the controller is ready", async || Ok(controller.unreadiness().await?.is_none())).await?;
    until_metric(&controller, REACHABLE, 1.0).await?;
    until_weights(&wan.two, &[3, 0]).await?;
    ensure!(back.elapsed() >= LEASE, "judged after {:?}", back.elapsed());
    wan.two.until_reason(IMPORT, "Stale", Some("ClusterStale")).await?;
    wan.two.until_reason(EXPORT, "Ready", Some("Pending")).await?;

    let _of_four = four.renew(0);
    until_weights(&wan.two, &[3, 1]).await?;
    wan.two.until_reason(IMPORT, "Stale", None).await?;
    controller.stop().await
}

/// Waits until the filter of namespace `secure` has a rule for this path.
async fn until_rule(scene: &Scene, path: &str) -> Result<()> {
    let what = format!("there is a rule for {path}");
    scene
        .until("WasmPlugin secure/mcwan", &what, |plugin| {
            let config = plugin.pointer("/spec/pluginConfig").map(Value::to_string);
            config.is_some_and(|config| config.contains(&format!("\"{path}\"")))
        })
        .await
}
