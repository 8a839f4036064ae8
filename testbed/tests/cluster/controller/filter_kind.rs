//! The resource by which Istio loads the filter, where the cluster does not serve it.

use anyhow::{Result, ensure};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::wait::until;

use crate::scene::{PATIENCE, Scene};

const TOLD: [&str; 2] = ["--filter-kind", "traffic-extension"];
const GROUP: &str = "extensions.istio.io/v1alpha1";
const DEFINITION: &str = "trafficextensions.extensions.istio.io";

#[tokio::test]
async fn a_kind_of_filter_that_is_not_served_is_refused_at_the_start() -> Result<()> {
    let scene = Scene::start_with(&[Crds::Mcwan, Crds::GatewayApi, Crds::McsV1Beta1]).await?;
    is_refused(&scene, "no Istio").await?;

    scene.cluster.install_crds(Crds::Istio).await?;
    scene.cluster.kubectl(&["delete", "customresourcedefinition", DEFINITION]).await?;
    until(PATIENCE, "an Istio before 1.30 is served", async || {
        let served = scene.cluster.client().list_api_group_resources(GROUP).await?;
        let has = |kind| served.resources.iter().any(|resource| resource.kind == kind);
        Ok(has("WasmPlugin") && !has("TrafficExtension"))
    })
    .await?;
    is_refused(&scene, "an Istio before 1.30").await?;
    let controller = scene.replica("a").await?;
    controller.stop().await?;

    scene.cluster.install_crds(Crds::Istio).await?;
    let controller = scene.replica_with("a", &TOLD).await?;
    scene.apply_payment().await?;
    scene.until_delivered("ServiceImport secure/payment").await?;
    scene.until_there("TrafficExtension secure/mcwan").await?;
    scene.end(controller).await
}

async fn is_refused(scene: &Scene, why: &str) -> Result<()> {
    let mut controller = scene.begun("a", &TOLD).await?;
    let status = controller.ended().await?;
    ensure!(!status.success(), "{why}: the controller ended with {status}");
    let log = controller.log()?;
    let told = "the cluster does not serve TrafficExtension: use --filter-kind wasm-plugin";
    ensure!(log.contains(told), "{why}: {log}");
    Ok(())
}
