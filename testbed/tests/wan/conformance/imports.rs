//! What is imported, and what is told of it.

use anyhow::{Result, ensure};
use futures_util::future::LocalBoxFuture;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{Case, NAME, PORT, Suite, mk_headless, mk_hello, mk_port};

pub(super) fn cases<'w>(suite: &'w Suite<'w>) -> Vec<LocalBoxFuture<'w, Result<()>>> {
    vec![
        suite.case("lifetime", it_is_there_while_anybody_exports_it),
        suite.case("fields", it_has_what_the_service_has),
        suite.case("ports-more", a_port_that_one_has_is_imported),
        suite.case("ports-other", the_oldest_ports_hold),
        suite.case("headless", a_headless_service_has_no_address),
        suite.case("external-name", a_name_elsewhere_is_not_exported),
        suite.case("types", the_oldest_type_holds),
        suite.case("labels", exported_labels_are_imported),
        suite.case("labels-other", the_oldest_labels_hold),
        suite.case("slices", slices_are_there_while_anybody_exports_it),
    ]
}

/// Spec 1.
async fn it_is_there_while_anybody_exports_it(case: Case<'_>) -> Result<()> {
    for cluster in [1, 2] {
        case.start(cluster, 0, json!({})).await?;
    }
    case.export_one_by_one([json!({}), json!({})]).await?;
    let by = |clusters: &'static [&str]| {
        move |import: &Value| {
            let told = import.pointer("/status/clusters").and_then(Value::as_array).into_iter().flatten();
            told.filter_map(|told| told["cluster"].as_str()).eq(clusters.iter().copied())
        }
    };
    case.import(2, by(&["cluster-1", "cluster-2"])).await?;
    case.unexport(1).await?;
    for cluster in [1, 2] {
        case.import(cluster, by(&["cluster-2"])).await?;
    }
    case.unexport(2).await?;
    case.until_gone().await
}

/// Specs 2 to 7, of a Service that nobody writes for it: it stays as it was, node ports and all.
async fn it_has_what_the_service_has(case: Case<'_>) -> Result<()> {
    let fields = json!({"type": "NodePort", "internalTrafficPolicy": "Local", "trafficDistribution": "PreferClose"});
    case.start(1, 0, fields).await?;
    let service = case.api(1, "v1", "Service");
    let before = service.get(NAME).await?;
    case.export(1, json!({})).await?;
    for cluster in [1, 2] {
        let import = case.import(cluster, |_| true).await?;
        let spec = &import["spec"];
        ensure!(spec["type"] == "ClusterSetIP", "{spec}");
        ensure!(spec["sessionAffinity"] == "ClientIP", "{spec}");
        ensure!(spec["sessionAffinityConfig"] == json!({"clientIP": {"timeoutSeconds": 10}}), "{spec}");
        ensure!(spec["internalTrafficPolicy"] == "Local", "{spec}");
        ensure!(spec["trafficDistribution"] == "PreferClose", "{spec}");
        let addresses: Vec<std::net::IpAddr> = serde_json::from_value(spec["ips"].clone())?;
        let families = addresses.iter().map(|address| if address.is_ipv4() { "IPv4" } else { "IPv6" });
        ensure!(!addresses.is_empty() && spec["ipFamilies"] == families.collect::<Value>(), "{spec}");
        ensure!(has_ports(&import, &[("tcp", PORT, "TCP"), ("udp", PORT, "UDP")]), "{spec}");
    }
    case.until_condition(1, "Valid", "True").await?;
    case.unexport(1).await?;
    case.until_gone().await?;
    ensure!(service.get(NAME).await? == before, "somebody has written the Service");
    Ok(())
}

/// Whether an import has these ports, in any order.
fn has_ports(import: &Value, ports: &[(&str, u16, &str)]) -> bool {
    let found = import["spec"]["ports"].as_array();
    let is_there = |(name, port, protocol): &(&str, u16, &str)| {
        let is_same =
            |found: &Value| found["name"] == *name && found["port"] == *port && found["protocol"] == *protocol;
        found.is_some_and(|found| found.iter().any(is_same))
    };
    found.is_some_and(|found| found.len() == ports.len()) && ports.iter().all(is_there)
}

/// Spec 8.
async fn a_port_that_one_has_is_imported(case: Case<'_>) -> Result<()> {
    case.start(1, 0, json!({})).await?;
    let ports = json!([mk_port("tcp", PORT, "TCP"), mk_port("udp", PORT, "UDP"), mk_port("sctp", PORT, "SCTP")]);
    case.start(2, 0, json!({"ports": ports})).await?;
    case.export_one_by_one([json!({}), json!({})]).await?;
    for cluster in [1, 2] {
        let all = [("tcp", PORT, "TCP"), ("udp", PORT, "UDP"), ("sctp", PORT, "SCTP")];
        case.import(cluster, |import| has_ports(import, &all)).await?;
        let conflict = case.until_condition(cluster, "Conflict", "True").await?;
        ensure!(conflict["reason"] == "PortConflict", "{conflict}");
    }
    Ok(())
}

/// Spec 9.
async fn the_oldest_ports_hold(case: Case<'_>) -> Result<()> {
    case.start(1, 0, json!({})).await?;
    case.start(2, 0, json!({"ports": [mk_port("tcp", 4_242, "TCP"), mk_port("udp", PORT, "UDP")]})).await?;
    case.export_one_by_one([json!({}), json!({})]).await?;
    for cluster in [1, 2] {
        case.until_condition(cluster, "Conflict", "True").await?;
        case.import(cluster, |import| has_ports(import, &[("tcp", PORT, "TCP"), ("udp", PORT, "UDP")])).await?;
    }
    Ok(())
}

/// Specs 10 and 11.
async fn a_headless_service_has_no_address(case: Case<'_>) -> Result<()> {
    case.start(1, 0, mk_headless()).await?;
    case.export(1, json!({})).await?;
    for cluster in [1, 2] {
        case.import(cluster, |import| import["spec"]["type"] == "Headless").await?;
    }
    case.stays_without_import(|import| import["spec"].get("ips").is_some_and(|ips| *ips != json!([]))).await?;
    case.unexport(1).await?;
    case.until_gone().await
}

/// Spec 12.
async fn a_name_elsewhere_is_not_exported(case: Case<'_>) -> Result<()> {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME},
        "spec": {"type": "ExternalName", "externalName": "example.com"}});
    case.put(1, service).await?;
    case.export(1, json!({})).await?;
    case.until_condition(1, "Valid", "False").await?;
    case.stays_without_import(|_| true).await
}

/// Spec 13.
async fn the_oldest_type_holds(case: Case<'_>) -> Result<()> {
    case.start(1, 0, json!({})).await?;
    case.start(2, 0, mk_headless()).await?;
    case.export_one_by_one([json!({}), json!({})]).await?;
    for cluster in [1, 2] {
        case.until_condition(cluster, "Conflict", "True").await?;
        case.import(cluster, |import| import["spec"]["type"] == "ClusterSetIP").await?;
    }
    Ok(())
}

/// Spec 15.
async fn exported_labels_are_imported(case: Case<'_>) -> Result<()> {
    let mut service = mk_hello(json!({}));
    service["metadata"]["labels"] = json!({"own": "label"});
    service["metadata"]["annotations"] = json!({"own": "annotation"});
    case.put(1, service).await?;
    case.export(1, mk_exported("one")).await?;
    for cluster in [1, 2] {
        case.import(cluster, |import| is_exported(import, "one")).await?;
    }
    Ok(())
}

/// Spec 16.
async fn the_oldest_labels_hold(case: Case<'_>) -> Result<()> {
    for cluster in [1, 2] {
        case.start(cluster, 0, json!({})).await?;
    }
    case.export_one_by_one([mk_exported("one"), mk_exported("two")]).await?;
    for cluster in [1, 2] {
        let conflict = case.until_condition(cluster, "Conflict", "True").await?;
        let mut reasons: Vec<_> = conflict["reason"].as_str().unwrap_or_default().split(',').collect();
        reasons.sort_unstable();
        ensure!(reasons == ["AnnotationsConflict", "LabelsConflict"], "{conflict}");
        case.import(cluster, |import| is_exported(import, "one")).await?;
    }
    Ok(())
}

/// What an export says of labels and annotations: one that each export has, and one of its own.
fn mk_exported(whose: &str) -> Value {
    let map = json!({"shared": whose, whose: ""});
    json!({"exportedLabels": map, "exportedAnnotations": map})
}

/// Whether an import has those of an export, and none of another, nor any of a Service.
fn is_exported(import: &Value, whose: &str) -> bool {
    ["labels", "annotations"].iter().all(|kind| {
        let map = &import["metadata"][kind];
        let others = ["own", "one", "two"].into_iter().filter(|key| *key != whose);
        map["shared"] == whose && map[whose] == "" && others.into_iter().all(|key| map.get(key).is_none())
    })
}

/// Spec 17.
async fn slices_are_there_while_anybody_exports_it(case: Case<'_>) -> Result<()> {
    case.start(1, 1, json!({})).await?;
    case.export(1, json!({})).await?;
    let is_sound = |slice: &DynamicObject| {
        let labels = slice.labels();
        labels.get("multicluster.kubernetes.io/source-cluster").is_some_and(|cluster| cluster == "cluster-1")
            && labels
                .get("endpointslice.kubernetes.io/managed-by")
                .is_some_and(|by| by != "endpointslice-controller.k8s.io")
            && slice.data["endpoints"].as_array().is_some_and(|endpoints| !endpoints.is_empty())
    };
    for cluster in [1, 2] {
        let there = async || Ok(case.slices(cluster).await?.iter().any(is_sound));
        case.until("there is a slice", there).await?;
        case.import(cluster, |import| import["status"]["endpointSliceObjects"] == "Present").await?;
    }
    case.unexport(1).await?;
    for cluster in [1, 2] {
        case.until("there is no slice", async || Ok(case.slices(cluster).await?.is_empty())).await?;
    }
    Ok(())
}
