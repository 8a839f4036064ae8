//! Without its module a gateway refuses, and we say why; with the right one it works again by itself. A module that is not
//! the filter never gets to a gateway that works.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use mcwan_testbed::example::Example;
use mcwan_testbed::tools;
use mcwan_testbed::wan::TestWan;
use mcwan_testbed::wan::play::Play;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::images::{mk_archive, mk_module_of_version};
use crate::objects::mk_import;
use crate::steering::{all_are_refused, hold, hold_at_most};

/// A module that no gateway may have, and what is said of it.
pub(crate) struct Unsound {
    what: &'static str,
    module: String,
    reason: &'static str,
}

/// Pushes what is not the filter, and names what is not there.
pub(crate) async fn unsound_modules(wan: &mut TestWan) -> Result<Vec<Unsound>> {
    let folder = TempDir::new()?;
    let mut unsound = Vec::new();
    let (script, mismatch) = (b"#!/bin/sh\n".to_vec(), "WireVersionMismatch");
    for (what, repository, content, reason) in [
        ("a text", "a-text", script, "NotAModule"),
        ("the next wire version", "newer", mk_module_of_version(1)?, mismatch),
        ("the wire version before", "older", mk_module_of_version(-1)?, mismatch),
    ] {
        let archive = mk_archive(folder.path(), "plugin.wasm", &content)?;
        let image = wan.oci_registry().push_layer(&archive, repository).await?;
        unsound.push(Unsound { what, module: format!("oci://{image}"), reason });
    }
    let (place, _) = wan.module().split_once('@').context("a digest")?;
    let module = format!("{place}@sha256:{}", "0".repeat(64));
    unsound.push(Unsound { what: "a digest that is not there", module, reason: "NotFound" });
    Ok(unsound)
}

/// The registry of the module is down while everything starts for the first time.
pub(crate) async fn with_the_oci_registry_down_nothing_passes(wan: &mut TestWan) -> Result<Play> {
    wan.cluster_mut(2).kill_controllers();
    let registry = wan.oci_registry().address().to_string();
    wan.oci_registry().stop();
    wan.cluster_mut(2).restart_controllers().await?;
    let example = Example::load("payment")?;
    let play = Play::set_up(wan, &example).await?;
    let module = wan.module().to_owned();
    is_said(wan, "ModuleNotFetched", &["FetchFailed", &module, &registry]).await?;
    wan.until("gateways refuse", async || all_are_refused(wan, &play).await).await?;
    wan.restart_oci_registry().await?;
    heals(wan, &play, "the OCI registry was down at first").await?;
    Ok(play)
}

/// A controller with an unsound module takes over from one with a sound one, as in an upgrade: what is in force stays,
/// also where the rules change meanwhile; they are in force with the next sound module.
pub(crate) async fn an_unsound_module_replaces_nothing(
    wan: &mut TestWan,
    play: &Play,
    unsound: &[Unsound],
) -> Result<()> {
    for Unsound { what, module, reason } in unsound {
        wan.cluster_mut(2).change_launch(module, &[]);
        wan.cluster_mut(2).restart_controllers().await?;
        is_said(wan, "ModuleNotFetched", &[reason, module]).await?;
        ensure!(hold(wan, play, None).await?, "{what}: the rules do not hold any more");
        let shipped = filter_field(wan, "{.spec.url}").await?;
        ensure!(shipped == wan.module(), "{what}: gateways are told to load {shipped}");
    }
    let reason = unsound.last().context("no unsound module")?.reason;
    wan.cluster(2).apply(&mk_import("secure", "payment", &json!([])).to_string()).await?;
    is_said(wan, "ModuleNotFetched", &[reason]).await?;
    ensure!(hold(wan, play, None).await?, "the rules that are in force do not hold any more");
    let module = wan.module().to_owned();
    wan.cluster_mut(2).change_launch(&module, &[]);
    wan.cluster_mut(2).restart_controllers().await?;
    wan.until("the new rules refuse everything", async || all_are_refused(wan, play).await).await?;
    let example = Example::load("payment")?;
    Play::set_up(wan, &example).await?;
    heals(wan, play, "a sound module came back").await
}

/// The same where there is no filter yet: nothing passes.
pub(crate) async fn with_an_unsound_module_at_first_nothing_passes(
    wan: &mut TestWan,
    play: &Play,
    Unsound { what, module, reason }: &Unsound,
) -> Result<()> {
    wan.cluster_mut(2).kill_controllers();
    wan.cluster(2).kubectl(&["delete", "wasmplugin/mcwan", "--namespace", "secure"]).await?;
    wan.cluster_mut(2).change_launch(module, &[]);
    wan.cluster_mut(2).restart_controllers().await?;
    is_said(wan, "ModuleNotFetched", &[reason, module]).await?;
    wan.until(&format!("gateways refuse with {what}"), async || all_are_refused(wan, play).await).await
}

/// The digest that was not there comes, and nobody restarts or touches anything.
pub(crate) async fn a_digest_that_comes_late_heals(wan: &mut TestWan, play: &Play) -> Result<()> {
    let address = wan.oci_registry().address();
    let (_, digest) = wan.module().split_once('@').context("a digest")?;
    let module = format!("oci://{address}/late@{digest}");
    wan.cluster_mut(2).change_launch(&module, &[]);
    wan.cluster_mut(2).restart_controllers().await?;
    is_said(wan, "ModuleNotFetched", &["NotFound", &module]).await?;
    wan.until("gateways refuse", async || all_are_refused(wan, play).await).await?;
    wan.oci_registry().push(&tools::image("module")?, "late").await?;
    heals(wan, play, "the digest was not there").await
}

/// A new pod of the egress gateway while the OCI registry is down: it refuses, and learns by itself that it is back.
pub(crate) async fn a_new_pod_without_the_oci_registry_refuses(wan: &mut TestWan, play: &Play) -> Result<()> {
    wan.oci_registry().stop();
    let pod = wan.cluster(2).gateway_pods("secure", "mcwan-egress").await?.pop().context("an egress pod")?;
    let (name, before) = (pod.name_any(), play.gateways(wan).await?);
    wan.cluster(2).kubectl(&["delete", "pod", "--namespace", "secure", "--wait=false", &name]).await?;
    wan.until("there is a new pod", async || {
        hold_at_most(wan, play, None).await?;
        let gateways = play.gateways(wan).await?;
        Ok(gateways.len() == 2 && gateways.iter().any(|gateway| !before.contains(gateway)))
    })
    .await?;
    is_said(wan, "ConfigNotLoaded", &["1 of 2 pods", "mcwan-egress"]).await?;
    wan.restart_oci_registry().await?;
    heals(wan, play, "a pod started without the OCI registry").await
}

/// Waits until all requests are as the rules say, and the import says so.
async fn heals(wan: &TestWan, play: &Play, what: &str) -> Result<()> {
    let start = Instant::now();
    wan.until("the rules hold again", async || {
        hold_at_most(wan, play, None).await?;
        hold(wan, play, None).await
    })
    .await?;
    eprintln!("measured: {what}: {:?} until the rules held", start.elapsed());
    is_said(wan, "Programmed", &[]).await
}

/// Waits until the import, as it is now, is said to be programmed or not for this reason, in a message with these parts.
async fn is_said(wan: &TestWan, reason: &str, parts: &[&str]) -> Result<()> {
    let mut last = String::new();
    let what = format!("the import says {reason}");
    let said = wan.until(&what, async || {
        let arguments =
            ["get", "serviceimports.mc-wan.l7mp.io", "payment", "--namespace", "secure", "--output", "json"];
        let import: Value = serde_json::from_str(&wan.cluster(2).kubectl(&arguments).await?)?;
        let conditions = import.pointer("/status/conditions").and_then(Value::as_array);
        let is_it = |condition: &&Value| condition["type"] == "Programmed";
        let Some(condition) = conditions.into_iter().flatten().find(is_it) else { return Ok(false) };
        last = condition.to_string();
        let message = condition["message"].as_str().unwrap_or_default();
        let is_current = condition["observedGeneration"] == import["metadata"]["generation"];
        Ok(is_current && condition["reason"] == reason && parts.iter().all(|part| message.contains(part)))
    });
    said.await.with_context(|| format!("it says {last}"))
}

async fn filter_field(wan: &TestWan, path: &str) -> Result<String> {
    let output = format!("jsonpath={path}");
    wan.cluster(2).kubectl(&["get", "wasmplugin/mcwan", "--namespace", "secure", "--output", &output]).await
}
