//! What this cluster exports: from a Service to what the registry is told.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::Crds;
use serde_json::{Value, json};

use crate::objects::{mk, mk_export, mk_exported, mk_exported_by, mk_service, mk_tier};
use crate::scene::Scene;

const EXPORT: &str = "ServiceExport secure/ledger";
const EXPORTED: &str = "ExportedService mc-wan-registry/cluster-2.secure.ledger";
const CLUSTER: &str = "WANCluster mc-wan-registry/cluster-2";
const GATEWAY: &str = "Gateway secure/mcwan-ingress";
const ADMISSION: &str = "AuthorizationPolicy secure/mcwan-ingress";
const DEFINITION: &str = "CustomResourceDefinition serviceexports.multicluster.x-k8s.io";
const ROUTE: &str = "HTTPRoute secure/ledger.export";

#[tokio::test]
async fn a_service_export_becomes_routes_gateways_and_what_the_registry_is_told() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    exported(&scene).await?;
    gateway_pods_give_addresses(&scene).await?;
    other_clusters_are_admitted_by_address(&scene).await?;
    conditions_say_what_is_so(&scene).await?;
    scene.end(controller).await?;
    a_kind_that_is_lost_takes_nothing_from_the_registry(&scene).await
}

/// Who starts where the definition of `ServiceExport` is gone does not know what was exported, until it is back.
async fn a_kind_that_is_lost_takes_nothing_from_the_registry(scene: &Scene) -> Result<()> {
    scene.delete(DEFINITION).await?;
    scene.until_gone(DEFINITION).await?;
    let told = field(scene, EXPORTED, "/metadata/uid").await?;
    let controller = scene.replica("b").await?;
    scene.settled().await?;
    ensure!(field(scene, EXPORTED, "/metadata/uid").await? == told, "the registry has what it had");
    scene.cluster.install_crds(Crds::McsV1Beta1).await?;
    scene.until_gone(EXPORTED).await?;
    scene.end(controller).await
}

async fn exported(scene: &Scene) -> Result<()> {
    let endpoint = |address: &str, ready: bool| json!({"addresses": [address], "conditions": {"ready": ready}});
    let mut slice = mk("EndpointSlice", "secure", "ledger-x", json!({"addressType": "IPv4"}));
    slice["metadata"]["labels"] = json!({"kubernetes.io/service-name": "ledger"});
    slice["ports"] = json!([{"name": "http", "port": 9080, "protocol": "TCP"}]);
    slice["endpoints"] = json!([endpoint("10.1.0.1", true), endpoint("10.1.0.2", true), endpoint("10.1.0.3", false)]);
    let tiers = [mk_tier("high", 31111), mk_tier("sd-wan-priority-low", 31112)];
    for object in tiers.into_iter().chain([mk_service("secure", "ledger"), slice, mk_export("secure", "ledger")]) {
        scene.put(&object).await?;
    }
    let message = scene.until_condition(EXPORT, "Ready=False/Pending").await?;
    ensure!(message.contains("no pod of the ingress gateway is ready"), "{message}");
    scene.until_condition(EXPORT, "Valid=True/Valid").await?;
    scene.until_condition(EXPORT, "Conflict=False/NoConflicts").await?;

    let created = field(scene, EXPORT, "/metadata/creationTimestamp").await?;
    let spec = json!({"cluster": "cluster-2", "namespace": "secure", "name": "ledger", "exportedAt": created,
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "defaultTier": "sd-wan-priority-low",
        "readyPods": 2});
    scene.until_field(EXPORTED, "/spec", &spec).await?;
    let tiers = json!([{"name": "high", "port": 31111}, {"name": "sd-wan-priority-low", "port": 31112}]);
    scene.until_field(CLUSTER, "/spec/tiers", &tiers).await?;
    let hosts = json!(["ledger.secure.svc.cluster.local", "ledger.secure.svc.clusterset.local"]);
    scene.until_field(ROUTE, "/spec/hostnames", &hosts).await?;
    scene.until_field(ROUTE, "/metadata/ownerReferences/0/kind", &json!("ServiceExport")).await?;
    let ports: Vec<Value> = field(scene, GATEWAY, "/spec/listeners")
        .await?
        .as_array()
        .into_iter()
        .flatten()
        .map(|listener| listener["port"].clone())
        .collect();
    ensure!(ports == [31111, 31112], "a listener for each tier: {ports:?}");
    scene.until_field(ADMISSION, "/spec/rules", &json!([{}])).await?;

    // With the WANCluster, what it exports goes.
    let owner = field(scene, EXPORTED, "/metadata/ownerReferences/0/uid").await?;
    ensure!(owner == field(scene, CLUSTER, "/metadata/uid").await?, "{owner} owns the ExportedService");
    Ok(())
}

async fn gateway_pods_give_addresses(scene: &Scene) -> Result<()> {
    add_gateway_pod(scene, "mcwan-ingress", "10.40.0.7", true).await?;
    scene.until_field(EXPORTED, "/spec/gateways", &json!(["10.40.0.7"])).await?;
    scene.until_condition(EXPORT, "Ready=True/Exported").await?;
    add_gateway_pod(scene, "mcwan-ingress", "10.40.0.8", false).await?;
    add_gateway_pod(scene, "mcwan-ingress", "10.40.0.9", true).await?;
    scene.until_field(EXPORTED, "/spec/gateways", &json!(["10.40.0.7", "10.40.0.9"])).await?;

    // Where an import is, requests leave from.
    scene.put(&mk("WANCluster", "mc-wan-registry", "cluster-1", json!({"spec": {}}))).await?;
    scene.put(&mk_exported("secure", "payment")).await?;
    add_gateway_pod(scene, "mcwan-egress", "10.40.0.20", false).await?;
    scene.until_field(CLUSTER, "/spec/egressGateways/0/namespace", &json!("secure")).await?;
    scene.until_field(CLUSTER, "/spec/egressGateways/0/addresses", &json!(["10.40.0.20"])).await
}

async fn other_clusters_are_admitted_by_address(scene: &Scene) -> Result<()> {
    let gateways = |addresses: Value| {
        json!([{"namespace": "secure", "addresses": addresses},
        {"namespace": "other", "addresses": ["10.60.0.99"]}])
    };
    for addresses in [json!(["10.60.0.4"]), json!(["10.60.0.4", "10.60.0.5"])] {
        let spec = json!({"spec": {"egressGateways": gateways(addresses.clone())}});
        scene.put(&mk("WANCluster", "mc-wan-registry", "cluster-1", spec)).await?;
        let rules = json!([{"from": [{"source": {"notIpBlocks": addresses}}]}]);
        scene.until_field(ADMISSION, "/spec/rules", &rules).await?;
    }
    scene.put(&mk("WANCluster", "mc-wan-registry", "cluster-1", json!({"spec": {}}))).await?;
    scene.until_field(ADMISSION, "/spec/rules", &json!([{}])).await
}

async fn conditions_say_what_is_so(scene: &Scene) -> Result<()> {
    let theirs = json!({"type": "example.com/Theirs", "status": "True", "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    scene.say(EXPORT, &json!([theirs])).await?;
    let mut differing = mk_exported_by("cluster-1", "secure", "ledger", &json!([]));
    differing["spec"]["ports"] = json!([{"port": 9090}]);
    differing["spec"]["properties"] = json!({"type": "Headless"});
    scene.put(&differing).await?;
    let message = scene.until_condition(EXPORT, "Conflict=True/PortConflict,TypeConflict").await?;
    ensure!(
        message.starts_with("the clusters differ in ports, type; the oldest export holds, that of cluster-"),
        "{message}"
    );

    scene.delete("Service secure/ledger").await?;
    let message = scene.until_condition(EXPORT, "Valid=False/NoService").await?;
    ensure!(message.contains("secure/ledger"), "{message}");
    scene.until_condition(EXPORT, "Ready=False/Failed").await?;
    for gone in [EXPORTED, ROUTE, GATEWAY, ADMISSION] {
        scene.until_gone(gone).await?;
    }
    scene.put(&mk_service("secure", "ledger")).await?;
    scene.until_condition(EXPORT, "Ready=True/Exported").await?;
    let conditions = field(scene, EXPORT, "/status/conditions").await?;
    let kept = conditions.as_array().is_some_and(|all| all.contains(&theirs));
    ensure!(kept, "conditions of others are kept: {conditions}");
    Ok(())
}

/// A pod of a gateway of the namespace `secure`.
async fn add_gateway_pod(scene: &Scene, gateway: &str, address: &str, ready: bool) -> Result<()> {
    let name = format!("{gateway}-{}", address.replace('.', "-"));
    let containers = json!([{"name": "istio-proxy", "image": "registry.invalid/proxy"}]);
    let mut pod = mk("Pod", "secure", &name, json!({"spec": {"containers": containers}}));
    pod["metadata"]["labels"] = json!({"gateway.networking.k8s.io/gateway-name": gateway});
    scene.put(&pod).await?;
    let ready = if ready { "True" } else { "False" };
    let status =
        json!({"podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": ready}]});
    scene.edit_status(&format!("Pod secure/{name}"), &json!({"status": status})).await
}

async fn field(scene: &Scene, id: &str, pointer: &str) -> Result<Value> {
    let object = scene.get(id).await?.with_context(|| format!("no {id}"))?;
    Ok(object.pointer(pointer).cloned().unwrap_or_default())
}
