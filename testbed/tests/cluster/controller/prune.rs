//! What has lost its cause goes away; its neighbours stay, and so does everything of which not all is known.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::objects::{mk_export, mk_exported, mk_import, mk_namespace, mk_rule, mk_service, mk_tier, mk_tier_ref};
use crate::scene::{PATIENCE, Scene};

const NEIGHBOUR: &str = "ServiceImport retail/shop";

#[tokio::test]
async fn what_has_lost_its_cause_goes_away_and_its_neighbours_stay() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    neighbours(&scene).await?;
    let of_neighbours = ids(&scene).await?;
    let exists = |more: &[&str]| {
        let mut all = of_neighbours.clone();
        all.extend(more.iter().map(|id| (*id).to_owned()));
        all
    };

    // An import: while its service is exported, it has the default tier, then nothing.
    scene.put(&mk_exported("secure", "payment")).await?;
    scene.put(&mk_import("secure", "payment", &json!([mk_rule(mk_tier_ref("high"))]))).await?;
    scene.until_delivered("ServiceImport secure/payment").await?;
    until_ids(&scene, "the import is emitted", &exists(&IMPORT)).await?;
    scene.delete("ServiceImport secure/payment").await?;
    let route = "HTTPRoute secure/payment.8080";
    until(PATIENCE, "the default tier is left", async || {
        let route = scene.get(route).await?.unwrap_or_default().to_string();
        Ok(route.contains("sd-wan-priority-low") && !route.contains("secure-high"))
    })
    .await?;
    scene.delete("ExportedService mc-wan-registry/cluster-1.secure.payment").await?;
    until_ids(&scene, "the import is gone", &of_neighbours).await?;

    // An import of local Services only.
    scene.put(&mk_service("secure", "local")).await?;
    scene.put(&mk_import("secure", "alias", &json!([mk_rule(json!({"name": "local", "port": 8080}))]))).await?;
    scene.until_delivered("ServiceImport secure/alias").await?;
    scene.delete("ServiceImport secure/alias").await?;
    until_ids(&scene, "the local import is gone", &of_neighbours).await?;

    // An export.
    scene.put(&mk_export("secure", "local")).await?;
    scene.until_condition("ServiceExport secure/local", "Valid=True/Valid").await?;
    until_ids(&scene, "the export is emitted", &exists(&EXPORT)).await?;
    scene.delete("ServiceExport secure/local").await?;
    until_ids(&scene, "the export is gone", &of_neighbours).await?;

    // A tier in use.
    scene.delete("WANPolicy high").await?;
    let message = scene.until_condition(NEIGHBOUR, "ResolvedRefs=False/BackendNotFound").await?;
    ensure!(message.contains("high"), "{message}");
    let is_left = |id: &&String| !id.contains("shop-retail-high") && *id != "HTTPRoute retail/shop.8080";
    let without_tier = of_neighbours.iter().filter(is_left).cloned().collect();
    until_ids(&scene, "the tier is gone", &without_tier).await?;
    scene.put(&mk_tier("high", 31111)).await?;
    scene.until_condition(NEIGHBOUR, "ResolvedRefs=True/ResolvedRefs").await?;
    until_ids(&scene, "the tier is back", &of_neighbours).await?;

    namespaces_and_definitions(&scene).await?;
    controller.stop().await
}

/// What the import adds.
const IMPORT: [&str; 13] = [
    "ConfigMap secure/mcwan-egress",
    "EndpointSlice mc-wan/payment-secure-high.cluster-1.ipv4",
    "EndpointSlice mc-wan/payment-secure-sd-wan-priority-low.cluster-1.ipv4",
    "Gateway secure/mcwan-egress",
    "HTTPRoute secure/payment.8080",
    "ReferenceGrant mc-wan/secure.payment",
    "Service mc-wan/payment-secure-high",
    "Service mc-wan/payment-secure-sd-wan-priority-low",
    "Service secure/payment-clusterset",
    "ServiceImport.multicluster.x-k8s.io secure/payment",
    "Telemetry secure/mcwan-egress",
    "WasmPlugin secure/mcwan",
    "WANCluster mc-wan-registry/cluster-2",
];

/// What the export adds: it is imported, too.
const EXPORT: [&str; 12] = [
    "AuthorizationPolicy secure/mcwan-ingress",
    "ConfigMap secure/mcwan-egress",
    "ConfigMap secure/mcwan-ingress",
    "ExportedService mc-wan-registry/cluster-2.secure.local",
    "Gateway secure/mcwan-egress",
    "Gateway secure/mcwan-ingress",
    "HTTPRoute secure/local.8080",
    "HTTPRoute secure/local.export",
    "Service secure/local-clusterset",
    "ServiceImport.multicluster.x-k8s.io secure/local",
    "Telemetry secure/mcwan-egress",
    "WasmPlugin secure/mcwan",
];

/// An import and an export in a namespace of their own.
async fn neighbours(scene: &Scene) -> Result<()> {
    let spec = json!({"tiers": [{"name": "high", "port": 31111}, {"name": "sd-wan-priority-low", "port": 31112}]});
    for object in [
        mk_namespace("retail"),
        mk_tier("high", 31111),
        mk_tier("sd-wan-priority-low", 31112),
        crate::objects::mk("WANCluster", "mc-wan-registry", "cluster-1", json!({"spec": spec})),
        mk_import("retail", "shop", &json!([mk_rule(mk_tier_ref("high"))])),
        mk_exported("retail", "shop"),
        mk_service("retail", "ledger"),
        mk_export("retail", "ledger"),
    ] {
        scene.put(&object).await?;
    }
    scene.until_delivered(NEIGHBOUR).await?;
    scene.until_condition("ServiceExport retail/ledger", "Valid=True/Valid").await?;
    scene.until_called("retail/ledger").await?;
    scene.until_called(NEIGHBOUR.trim_start_matches("ServiceImport ")).await
}

async fn namespaces_and_definitions(scene: &Scene) -> Result<()> {
    scene.put(&mk_exported("secure", "payment")).await?;
    scene.until_called("secure/payment").await?;
    scene.settled().await?;
    let all = ids(scene).await?;
    scene.delete("Namespace retail").await?;
    let is_left = |id: &&String| !id.contains("retail");
    until_ids(scene, "what the namespace caused is gone", &all.iter().filter(is_left).cloned().collect()).await?;
    scene.until_gone("Namespace retail").await?;

    let folder = Crds::Mcwan.folder()?;
    scene.cluster.kubectl(&["delete", "--wait=false", "-f", folder.to_str().context("no text")?]).await?;
    let shared = BTreeSet::from(["DestinationRule mc-wan/mcwan-tiers".to_owned()]);
    until_ids(scene, "only what all imports share is left", &shared).await
}

#[tokio::test]
async fn absence_before_everything_is_known_deletes_nothing() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    neighbours(&scene).await?;
    scene.end(controller).await?;
    let before = scene.emitted().await?;

    let role = scene.get("ClusterRole mcwan").await?.context("no ClusterRole")?;
    let mut narrow = role["rules"].clone();
    for rule in narrow.as_array_mut().into_iter().flatten() {
        if let Some(resources) = rule["resources"].as_array_mut() {
            resources.retain(|resource| resource != "serviceimports");
        }
    }
    let has_resources = |rule: &Value| rule["resources"].as_array().is_some_and(|resources| !resources.is_empty());
    let rules = narrow.as_array().into_iter().flatten().filter(|rule| has_resources(rule));
    scene.edit("ClusterRole mcwan", &json!({"rules": rules.collect::<Vec<_>>()})).await?;
    let blind = scene.begun("blind", &[]).await?;
    until(PATIENCE, "the watch has failed twice", async || {
        Ok(blind.log()?.lines().filter(|line| line.contains("cannot watch")).count() >= 2)
    })
    .await?;
    ensure!(scene.emitted().await? == before, "imports cannot be listed, and something was written");
    scene.edit("ClusterRole mcwan", &json!({"rules": role["rules"]})).await?;
    blind.leads().await?;
    scene.settled().await?;
    scene.until_emitted("nothing is written once everything is known", &before).await?;
    blind.stop().await
}

async fn ids(scene: &Scene) -> Result<BTreeSet<String>> {
    Ok(scene.emitted().await?.into_keys().collect())
}

async fn until_ids(scene: &Scene, what: &str, expected: &BTreeSet<String>) -> Result<()> {
    let mut last = BTreeSet::new();
    let waited = until(PATIENCE, what, async || {
        last = ids(scene).await?;
        Ok(last == *expected)
    });
    waited.await.with_context(|| {
        let (more, less) = (last.difference(expected), expected.difference(&last));
        format!("too much: {:?}; too little: {:?}", more.collect::<Vec<_>>(), less.collect::<Vec<_>>())
    })
}
