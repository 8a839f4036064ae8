//! What two clusters tell each other.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use super::made::{emitted, ensure_emitted};
use super::objects::{mk_exported, mk_gateway_pod, mk_import};
use super::versions;
use super::wan::{Wan, mcwan, until_metric};
use crate::objects::mk;
use crate::scene::{PATIENCE, Scene};

const IMPORT: &str = "ServiceImport secure/payment";
const SLICE: &str = "EndpointSlice mc-wan/payment-secure-high.cluster-1.ipv4";
const PAYMENT: &str = "ExportedService mc-wan-registry/cluster-1.secure.payment";
const LEDGER: &str = "ExportedService mc-wan-registry/cluster-2.secure.ledger";
const STALE: &str = "mcwan_clusters{state=\"stale\"}";
const LIVE: &str = "mcwan_clusters{state=\"live\"}";

#[tokio::test]
async fn an_export_of_one_cluster_is_an_import_of_the_other() -> Result<()> {
    let wan = Wan::start().await?;
    let one = wan.one.replica("a").await?;
    let two = wan.two.replica("a").await?;
    exported_and_imported(&wan).await?;
    each_prunes_its_own_only(&wan).await?;

    // Its gateways may be well, and nobody else has the service.
    for name in ["payment", "ledger"] {
        wan.two.until_called(&format!("secure/{name}")).await?;
    }
    let before = emitted(&wan.two).await?;
    one.stop().await?;
    wan.two.until_reason(IMPORT, "Stale", Some("ClusterStale")).await?;
    until_metric(&two, STALE, 1.0).await?;
    ensure_emitted(&wan.two, &before, "what is known of it stays").await?;
    status_marks_what_is_stale(&wan).await?;

    let one = wan.one.replica("a").await?;
    wan.two.until_reason(IMPORT, "Stale", None).await?;
    until_metric(&two, LIVE, 1.0).await?;
    told_by_an_event(&wan.two).await?;
    wan.two.settled().await?;
    ensure_emitted(&wan.two, &before, "nothing has become of it").await?;
    // What it does not know, it would take out of what is its own.
    one.stop().await?;
    let two = versions::one_knows_more_than_the_other(&wan, two).await?;
    two.stop().await
}

async fn exported_and_imported(wan: &Wan) -> Result<()> {
    for object in mk_exported("payment") {
        wan.one.put(&object).await?;
    }
    wan.two.put(&mk_import("/payment")).await?;
    add_gateway_pod(&wan.one, "mcwan-ingress", "10.40.0.7", true).await?;
    wan.two.until_field(SLICE, "/endpoints/0/addresses", &json!(["10.40.0.7"])).await?;
    wan.two.until_there("HTTPRoute secure/payment.8080").await?;
    wan.one.until_reason("ServiceExport secure/payment", "Ready", Some("Exported")).await?;

    // Who may enter where it is exported: who leaves where it is imported, or soon will. One that is ready would be asked
    // for what it does, by a controller that is outside of its network.
    add_gateway_pod(&wan.two, "mcwan-egress", "10.50.0.9", false).await?;
    let addresses = "/spec/egressGateways/0/addresses";
    wan.one.until_field("WANCluster mc-wan-registry/cluster-2", addresses, &json!(["10.50.0.9"])).await
}

async fn each_prunes_its_own_only(wan: &Wan) -> Result<()> {
    for object in mk_exported("ledger") {
        wan.two.put(&object).await?;
    }
    for (export, cluster) in [(PAYMENT, "cluster-1"), (LEDGER, "cluster-2")] {
        let owner = wan.one.get(&format!("WANCluster mc-wan-registry/{cluster}")).await?.context("a WANCluster")?;
        wan.one.until_field(export, "/metadata/ownerReferences/0/uid", &owner["metadata"]["uid"]).await?;
    }
    // What it finds and has no cause for, it deletes.
    let two = wan.one.get("WANCluster mc-wan-registry/cluster-2").await?;
    wan.two.delete("ServiceExport secure/ledger").await?;
    wan.one.until_gone(LEDGER).await?;
    wan.one.until_there(PAYMENT).await?;
    for object in mk_exported("ledger") {
        wan.two.put(&object).await?;
    }
    wan.one.until_there(LEDGER).await?;
    wan.one.delete("ServiceExport secure/payment").await?;
    wan.one.until_gone(PAYMENT).await?;
    wan.one.until_there(LEDGER).await?;
    wan.two.until_reason(IMPORT, "ResolvedRefs", Some("BackendNotFound")).await?;
    ensure!(uid(two.as_ref()) == uid(wan.one.get("WANCluster mc-wan-registry/cluster-2").await?.as_ref()), "it stays");
    for object in mk_exported("payment") {
        wan.one.put(&object).await?;
    }
    wan.two.until_reason(IMPORT, "ResolvedRefs", Some("ResolvedRefs")).await?;
    wan.two.until_field(SLICE, "/endpoints/0/addresses", &json!(["10.40.0.7"])).await
}

fn uid(object: Option<&Value>) -> Option<&str> {
    object?.pointer("/metadata/uid")?.as_str()
}

/// `mcwan status` finds the registry where the controller has it from.
async fn status_marks_what_is_stale(wan: &Wan) -> Result<()> {
    let kubeconfig = wan.kubeconfig(wan.two.id);
    let kubeconfig = kubeconfig.to_str().context("a folder whose name is not text")?;
    let file = ["--registry-kubeconfig", kubeconfig];
    let status = ["status", "-n", "secure", "--cluster", wan.two.id];
    let told = mcwan(&wan.two, &[&status[..], &file].concat()).await?;
    ensure!(told.contains("cluster-1(stale)"), "{told}");
    let mut chain = [&status[..], &file].concat();
    chain.insert(1, "payment");
    let told = mcwan(&wan.two, &chain).await?;
    ensure!(told.contains("is not seen to renew its Lease"), "{told}");
    ensure!(told.contains("broken  status        Stale is True (ClusterStale)"), "{told}");

    let text = std::fs::read_to_string(kubeconfig)?;
    let secret = json!({"stringData": {"kubeconfig": text}});
    wan.two.put(&mk("Secret", "mc-wan-system", "mcwan-registry", secret)).await?;
    let container = json!({"name": "mcwan", "volumeMounts": [{"name": "registry", "mountPath": "/etc/mcwan/registry"}],
        "env": [{"name": "MCWAN_REGISTRY_KUBECONFIG", "value": "/etc/mcwan/registry/kubeconfig"}]});
    let volumes = json!([{"name": "registry", "secret": {"secretName": "mcwan-registry"}}]);
    let spec = json!({"spec": {"template": {"spec": {"containers": [container], "volumes": volumes}}}});
    wan.two.put(&mk("Deployment", "mc-wan-system", "mcwan", spec)).await?;
    let told = mcwan(&wan.two, &status).await?;
    ensure!(told.contains("cluster-1(stale)"), "{told}");
    Ok(())
}

async fn told_by_an_event(scene: &Scene) -> Result<()> {
    let reasons = ["get", "events", "-n", "secure", "--output=jsonpath={.items[*].reason}"];
    until(PATIENCE, "events say that it was stale, and is no more", async || {
        let reasons = scene.cluster.kubectl(&reasons).await?;
        Ok(["ClusterStale", "UpToDate"].iter().all(|reason| reasons.split(' ').any(|known| known == *reason)))
    })
    .await
}

pub(crate) async fn add_gateway_pod(scene: &Scene, gateway: &str, address: &str, ready: bool) -> Result<()> {
    let (pod, status) = mk_gateway_pod(gateway, address, ready);
    // A pod needs the service account that a controller makes.
    until(PATIENCE, "the pod is taken", async || Ok(scene.put(&pod).await.is_ok())).await?;
    scene.edit_status(&format!("Pod secure/{gateway}-0"), &status).await
}
