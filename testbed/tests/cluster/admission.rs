//! What a real API server makes of our resources: it refuses slips, and `mcwan validate` finds the same ones.

mod connections;
mod objects;
mod slips;

use std::fs;

use anyhow::Result;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use mcwan_core::api::{GROUP, McsVersion, VERSION};
use mcwan_core::problem::Severity;
use mcwan_core::snapshot::Gathered;
use mcwan_core::snapshot::Snapshot;
use mcwan_core::translate::{self, FrontEnds, Options, RouteOptions, Steering, Translation, Trust};
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::example::Example;
use serde_json::{Value, json};

use crate::shared::on_shared_cluster;
use slips::Row;

const NAMESPACES: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: secure}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: mc-wan-registry}}
";

#[test]
fn a_slip_is_refused_and_found() -> Result<()> {
    on_shared_cluster(async |cluster| {
        cluster.apply(NAMESPACES).await?;
        let mut wrong = Vec::new();
        for Row { what, refusal, bad, good } in slips::refused() {
            match admit(cluster, &bad).await {
                Err(answer) if answer.contains(refusal) => {}
                answer => wrong.push(format!("{what}: want a refusal with `{refusal}`, got {answer:?}")),
            }
            if let Err(answer) = admit(cluster, &good).await {
                wrong.push(format!("{what}: its twin is refused: {answer}"));
            }
            if errors(&bad).is_empty() {
                wrong.push(format!("{what}: `mcwan validate` finds nothing wrong"));
            }
            let errors = errors(&good);
            if !errors.is_empty() {
                wrong.push(format!("{what}: `mcwan validate` finds its twin wrong: {errors:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
}

#[test]
fn what_is_told_in_a_condition_is_admitted_and_found() -> Result<()> {
    on_shared_cluster(async |cluster| {
        cluster.apply(NAMESPACES).await?;
        for (what, object) in slips::admitted_all_the_same() {
            assert_eq!(admit(cluster, &object).await, Ok(()), "{what}");
            assert!(!errors(&object).is_empty(), "{what}: `mcwan validate` finds nothing wrong");
        }
        Ok(())
    })
}

#[tokio::test]
async fn what_is_written_is_kept_and_listed() {
    let cluster = TestCluster::start_with(&[Crds::Mcwan, Crds::GatewayApi]).await.unwrap();
    cluster.apply(NAMESPACES).await.unwrap();
    our_kinds_are_listed_together_with_their_state(&cluster).await;
    what_comes_back_means_what_was_written(&cluster).await;
}

async fn what_comes_back_means_what_was_written(cluster: &TestCluster) {
    let kinds =
        "wanpolicies,serviceimports.mc-wan.l7mp.io,exportedservices,wanclusters,clusterconnectionpolicies,httproutes";
    for name in Example::names().unwrap() {
        let written = manifests(&name);
        cluster.apply(&written).await.unwrap();
        let all = format!("{kinds},services,endpointslices");
        let kept = cluster.kubectl(&["get", &all, "--all-namespaces", "--output", "yaml"]).await.unwrap();
        let [written, kept] = [written, kept].map(|text| {
            let gathered = Gathered::from_text("test.yaml", &text);
            translation(&gathered.snapshot).imports.into_iter().map(|import| import.wire).collect::<Vec<_>>()
        });
        assert_eq!(kept, written, "{name}");
        // What one example says is not to hold for the next.
        cluster.kubectl(&["delete", kinds, "--all", "--all-namespaces"]).await.unwrap();
    }
}

#[test]
fn an_import_may_have_ten_thousand_rules() -> Result<()> {
    on_shared_cluster(async |cluster| {
        cluster.apply(NAMESPACES).await?;
        let rules = |count: usize| {
            let rule = |n| json!({"matches": [{"path": {"value": format!("/{n}")}}], "backendRefs": [{"name": "a"}]});
            objects::import(&json!({"http": {"rules": (0..count).map(rule).collect::<Vec<_>>()}}))
        };
        assert_eq!(admit(cluster, &rules(10_000)).await, Ok(()));
        let refusal = admit(cluster, &rules(10_001)).await.unwrap_err();
        assert!(refusal.contains("spec.http.rules: Too many"), "{refusal}");
        Ok(())
    })
}

async fn our_kinds_are_listed_together_with_their_state(cluster: &TestCluster) {
    cluster.apply(&manifests("payment")).await.unwrap();
    let all = cluster.kubectl(&["get", "mcwan", "--all-namespaces", "--output", "name"]).await.unwrap();
    for kind in ["wanpolicy", "serviceimport", "exportedservice", "wancluster"] {
        assert!(all.contains(&format!("{kind}.{GROUP}/")), "{kind} is not among\n{all}");
    }
    let short = cluster.kubectl(&["api-resources", "--api-group", GROUP, "--no-headers"]).await.unwrap();
    for line in short.lines() {
        assert_eq!(line.split_whitespace().count(), 4, "a short name: {line}");
    }
    let conditions = json!({"status": {"conditions": [
        condition("Accepted", "True", "Accepted"), condition("ResolvedRefs", "False", "BackendNotFound"),
        condition("Programmed", "False", "Pending"),
    ]}});
    let import = ["serviceimports.mc-wan.l7mp.io", "payment", "--namespace", "secure"];
    let patch = conditions.to_string();
    let patch = ["patch", "--subresource", "status", "--type", "merge", "--patch", &patch];
    cluster.kubectl(&[&patch[..1], &import, &patch[1..]].concat()).await.unwrap();
    let table = [
        (&["get", "wanpolicies"][..], "NAME PORT TUNNEL ACCEPTED AGE", "sd-wan-priority-high 31111 business"),
        (
            &["get", "exportedservices", "--namespace", "mc-wan-registry"],
            "NAME CLUSTER DEFAULT TIER READY PODS AGE",
            "cluster-1.secure.payment cluster-1 sd-wan-priority-low 3",
        ),
        (&["get", "wanclusters", "--namespace", "mc-wan-registry"], "NAME REGION NETWORK AGE", "cluster-1 eu"),
        (
            &["get", "serviceimports.mc-wan.l7mp.io", "--namespace", "secure"],
            "NAME ACCEPTED REFS PROGRAMMED AGE",
            "payment True False False",
        ),
    ];
    for (arguments, header, first) in table {
        let printed = cluster.kubectl(arguments).await.unwrap();
        let mut lines = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(lines.next().as_deref(), Some(header));
        assert!(lines.next().is_some_and(|line| line.starts_with(first)), "{first}: {printed}");
    }
    let wide = cluster.kubectl(&[&["get", "--output", "wide"], &import[..]].concat()).await.unwrap();
    assert!(wide.contains("BackendNotFound   because BackendNotFound"), "{wide}");
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    let message = format!("because {reason}");
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-11-20T08:00:00Z"})
}

fn manifests(example: &str) -> String {
    fs::read_to_string(Example::load(example).unwrap().manifests).unwrap()
}

/// Says whether the API server would admit an object, and why not.
async fn admit(cluster: &TestCluster, object: &Value) -> Result<(), String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, kind));
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let api: Api<DynamicObject> = match object.metadata.namespace.as_deref() {
        Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &resource),
        None => Api::all_with(cluster.client(), &resource),
    };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&dry_run, &object).await.map(drop).map_err(|error| error.to_string())
}

fn translation(snapshot: &Snapshot) -> Translation {
    let options = Options {
        cluster: None,
        steering_key: "0123456789abcdef".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    };
    translate::translate(snapshot, &options)
}

/// The errors of an object that `mcwan validate` finds, among what it needs to be sound.
fn errors(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let surroundings = match kind {
        "ServiceImport" => manifests("canary"),
        "ExportedService" => objects::cluster("c", &json!({})).to_string(),
        _ => String::new(),
    };
    let documents = surroundings.split("\n---\n").filter(|document| !document.contains("kind: ServiceImport"));
    let text: Vec<_> = documents.chain([object.to_string().as_str()]).map(str::to_owned).collect();
    let gathered = Gathered::from_text("test.yaml", &text.join("\n---\n"));
    let problems = translation(&gathered.snapshot).problems.into_iter().map(|problem| gathered.locate(problem));
    let errors = gathered.findings.iter().cloned().chain(problems).filter(|finding| {
        finding.severity == Severity::Error && finding.object.as_ref().is_none_or(|object| object.kind == kind)
    });
    errors.map(|finding| finding.message).collect()
}
