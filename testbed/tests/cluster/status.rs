//! `mcwan status` and `mcwan diff` as a person runs them, on a real API server. What the controller would make is
//! applied by the test.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use crate::command::mcwan;

const WORLD: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: secure}
---
apiVersion: v1
kind: Namespace
metadata: {name: mc-wan}
---
apiVersion: v1
kind: Namespace
metadata: {name: mc-wan-registry}
---
apiVersion: v1
kind: Namespace
metadata: {name: mc-wan-system}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANPolicy
metadata: {name: high}
spec: {port: 31111}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: c1, namespace: mc-wan-registry}
spec: {tiers: [{name: high, port: 31111}]}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: c1.secure.payment, namespace: mc-wan-registry}
spec:
  cluster: c1
  namespace: secure
  name: payment
  exportedAt: '2026-11-20T08:00:00Z'
  ports: [{port: 8080}]
  defaultTier: high
  gateways: [10.20.0.7]
  readyPods: 3
";

const IMPORT: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ServiceImport
metadata: {name: payment, namespace: secure}
spec:
  http:
    rules:
    - matches: [{method: GET, path: {type: PathPrefix, value: /payment}}]
      backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]
";

/// Applies what the controller would make of these manifests.
async fn apply_as_controller(cluster: &TestCluster, manifests: &str) -> Result<()> {
    let render = ["render", "-", "--to", "kubernetes", "--cluster", "c2", "--module", "https://example.com/a.wasm"];
    let rendered = mcwan(cluster, &render, manifests).await?;
    ensure!(rendered.status == Some(0), "{rendered:?}");
    cluster.apply(&rendered.out).await
}

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn status_leads_from_an_empty_cluster_to_one_that_works() -> Result<()> {
    let cluster = TestCluster::start_with(&[Crds::GatewayApi, Crds::Istio]).await?;
    let ran = mcwan(&cluster, &["status", "-A"], "").await?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.log.contains("no CustomResourceDefinition of WANPolicy: install mcwan first"), "{}", ran.log);

    cluster.install_crds(Crds::Mcwan).await?;
    let ran = mcwan(&cluster, &["status", "-A"], "").await?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.log.contains("warning: there is no controller"), "{}", ran.log);
    assert!(ran.log.contains("warning: Deployment mc-wan-system/mcwan is not there: its settings"), "{}", ran.log);
    assert!(ran.log.contains("nothing is imported"), "{}", ran.log);

    cluster.apply(WORLD).await?;
    let ran = mcwan(&cluster, &["status", "-n", "secure"], "").await?;
    let expected = [
        vec!["NAME", "TIERS", "SOURCES", "ACCEPTED", "RESOLVEDREFS", "PROGRAMMED", "AGE"],
        vec!["payment", "high", "c1", "-", "-", "-", "-"],
    ];
    assert_eq!(words(&ran.out), expected, "an import that nobody wrote rules for");
    let ran = mcwan(&cluster, &["status", "-n", "mc-wan"], "").await?;
    assert!(ran.log.contains("there are 1 imports in other namespaces: mcwan status -A"), "{}", ran.log);
    let ran = mcwan(&cluster, &["status", "stats", "-n", "secure"], "").await?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.log.contains("there is no import stats in namespace secure"), "{}", ran.log);
    assert!(ran.log.contains("there are payment"), "{}", ran.log);

    cluster.apply(IMPORT).await?;
    let ran = mcwan(&cluster, &["status", "payment", "-n", "secure"], "").await?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    for line in [
        "broken  controller    there is no controller",
        "ok      export        c1: 3 ready pods, gateways at 10.20.0.7",
        "broken  tier service  there is no Service mc-wan/payment-secure-high",
        "broken  endpoints     mc-wan/payment-secure-high has none",
        "broken  route         there is no HTTPRoute of this import",
        "broken  plugin        there is no WasmPlugin in namespace secure",
        "broken  gateway       there is no Gateway secure/mcwan-egress",
        "broken  service       there is no Service secure/payment-clusterset",
        "broken  status        the ServiceImport has no status",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }

    apply_as_controller(&cluster, &format!("{WORLD}---{IMPORT}")).await?;
    make_the_gateway_work(&cluster).await?;
    let ran = mcwan(&cluster, &["status", "payment", "-n", "secure"], "").await?;
    assert_eq!(ran.status, Some(0), "{ran:?}");
    for line in [
        "ok      controller    mcwan-0 leads",
        "ok      endpoints     mc-wan/payment-secure-high has 10.20.0.7",
        "ok      route         HTTPRoute payment.8080 is accepted",
        "ok      plugin        WasmPlugin secure/mcwan has 1 rules of it",
        "ok      gateway       1 of 1 pods of Gateway secure/mcwan-egress are ready",
        "ok      service       secure/payment-clusterset has 10.",
        "ok      rules         ServiceImport secure/payment, spec.http.rules[0]",
        "ok      status        Programmed is True (Programmed): fine",
        "secure/payment works",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }

    let ran = mcwan(&cluster, &["status", "-A", "-o", "wide"], "").await?;
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let row = words(&ran.out).remove(1);
    assert_eq!(row[..7], ["secure", "payment", "high", "c1", "True", "True", "True"], "{}", ran.out);
    assert_eq!(row[8..], ["1", "8080", "Wasm", "-"], "rules, ports, data plane, hosts: {}", ran.out);
    let ran = mcwan(&cluster, &["status", "-A", "-o", "json"], "").await?;
    let all: Value = serde_json::from_str(&ran.out)?;
    assert_eq!((&all[0]["name"], &all[0]["ok"]), (&json!("payment"), &json!(true)), "{all:#}");
    assert_eq!(all[0]["conditions"][2]["type"], "Programmed", "{all:#}");
    let ran = mcwan(&cluster, &["status", "payment", "-n", "secure", "-o", "yaml"], "").await?;
    assert!(ran.out.contains("ok: true"), "{}", ran.out);
    Ok(())
}

/// What the controller, istiod and the kubelet would write.
async fn make_the_gateway_work(cluster: &TestCluster) -> Result<()> {
    let pod = "
apiVersion: v1
kind: Pod
metadata: {name: gateway, namespace: secure, labels: {gateway.networking.k8s.io/gateway-name: mcwan-egress}}
spec: {containers: [{name: a, image: a}], automountServiceAccountToken: false}
";
    let now = k8s_openapi::jiff::Timestamp::now();
    let lease = format!(
        "
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: mcwan, namespace: mc-wan-system}}
spec: {{holderIdentity: mcwan-0, leaseDurationSeconds: 3600, renewTime: '{now:.6}'}}
"
    );
    // A pod needs the service account that a controller makes.
    until(Duration::from_mins(1), "the pod is taken", async || Ok(cluster.apply(pod).await.is_ok())).await?;
    cluster.apply(&lease).await?;
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": kind, "message": "fine",
            "lastTransitionTime": "2026-11-20T08:00:00Z", "observedGeneration": 1,
        })
    };
    let parent = json!({
        "controllerName": "example.com/a",
        "parentRef": {"name": "mcwan-egress"},
        "conditions": [condition("Accepted"), condition("ResolvedRefs")],
    });
    let conditions: Vec<_> = ["Accepted", "ResolvedRefs", "Programmed"].map(condition).into();
    for (object, status) in [
        ("pods/gateway", json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})),
        ("httproutes/payment.8080", json!({"parents": [parent]})),
        ("serviceimports.mc-wan.l7mp.io/payment", json!({"conditions": conditions})),
    ] {
        let patch = json!({"status": status}).to_string();
        let arguments = ["patch", object, "-n", "secure", "--subresource", "status", "--type", "merge", "-p", &patch];
        cluster.kubectl(&arguments).await?;
    }
    Ok(())
}

#[tokio::test]
async fn diff_shows_what_applying_files_would_change() -> Result<()> {
    let cluster = TestCluster::start().await?;
    cluster.apply(WORLD).await?;
    cluster.apply(IMPORT).await?;
    let ran = mcwan(&cluster, &["diff", "-"], &format!("{WORLD}---{IMPORT}")).await?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), ""), "the same: {ran:?}");

    let changed = IMPORT.replace("value: /payment", "value: /pay");
    let ran = mcwan(&cluster, &["diff", "-"], &changed).await?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    for line in [
        "--- live/ServiceImport/secure/payment",
        "+++ files/ServiceImport/secure/payment",
        "-          value: /payment",
        "+          value: /pay",
        "# rules of secure/payment: ServiceImport secure/payment, spec.http.rules[0]",
        "--- now/WasmPlugin/secure/mcwan",
    ] {
        assert!(ran.out.lines().any(|known| known == line), "{line}\n{}", ran.out);
    }
    assert!(!ran.out.contains("HTTPRoute/"), "the targets stay: {}", ran.out);
    assert!(!ran.out.contains("resourceVersion"), "{}", ran.out);

    let ran = mcwan(&cluster, &["diff", "-", "-o", "json"], &IMPORT.replace("name: high", "name: hihg")).await?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.out)?;
    assert_eq!(answer["problems"][0]["reason"], "BackendNotFound", "{answer:#}");
    assert_eq!(answer["problems"][0]["file"], "<stdin>", "{answer:#}");
    let changed: Vec<_> = answer["changes"].as_array().context("no changes")?.iter().map(|one| &one["kind"]).collect();
    assert!(changed.contains(&&json!("HTTPRoute")), "a target goes: {changed:?}");

    let odd = "{cluster: c9, namespace: secure, name: odd, exportedAt: '2026-11-20T08:00:00Z', ports: [{port: 1}], \
        properties: {labels: {'bad key!': a}}}";
    let odd = format!(
        "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ExportedService\n\
         metadata: {{name: c9.secure.odd, namespace: mc-wan-registry}}\nspec: {odd}\n"
    );
    cluster.apply(&odd).await?;
    let ran = mcwan(&cluster, &["diff", "-"], IMPORT).await?;
    let warning = "warning: ExportedService mc-wan-registry/c9.secure.odd: it cannot be read, and is not used: \
        spec.properties.labels.bad key!: ";
    assert!(ran.status == Some(0) && ran.log.contains(warning), "{ran:?}");

    let new = IMPORT.replace("name: payment,", "name: other,").replace(", namespace: secure", "");
    let ran = mcwan(&cluster, &["diff", "-", "-n", "secure"], &new).await?;
    assert!(ran.out.contains("--- /dev/null\n+++ files/ServiceImport/secure/other"), "{}", ran.out);

    let ran = mcwan(&cluster, &["diff", "-"], "kind: ServiceImport\n").await?;
    assert_eq!(ran.status, Some(2), "files that cannot be read: {ran:?}");
    let ran = mcwan(&cluster, &["diff", "-", "--context", "missing"], IMPORT).await?;
    assert_eq!(ran.status, Some(2), "no cluster: {ran:?}");
    Ok(())
}
