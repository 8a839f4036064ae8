//! Whose word the labels of a cluster are, by which administrators say who may use which tier.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_core::api::{ClusterTier, WanClusterSpec};
use mcwan_core::emit::kubernetes::cluster_object_of;
use mcwan_core::observed::Live;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use super::member::{Member, REGISTRY, done, export_of, wan_cluster};
use super::rows::{APPLY, CREATE, MANAGER, admitted, of_controller, owner, patch, play, refused, with};

const SOON: Duration = Duration::from_mins(2);

const LABELS: &str = "cluster c1 does not label itself";
const LASTING: &str = "cluster c1 neither deletes itself nor is owned by anything";
const NAMED: &str = "cluster c1 writes the one of the wanclusters that has its name";
const TIERS: &str = "cluster c1 does not say which clusters may use which tier";

/// A role that somebody has given a cluster by mistake.
const LAX: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lax, namespace: mc-wan-registry}
rules: [{apiGroups: [mc-wan.l7mp.io], resources: ['*'], verbs: ['*']}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lax, namespace: mc-wan-registry}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: lax}
subjects: [{kind: ServiceAccount, name: c1, namespace: mc-wan-registry}]
";

fn policy(name: &str) -> String {
    format!(
        "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ClusterConnectionPolicy\nmetadata: {{name: {name}}}\n\
         spec: {{tiers: []}}\n"
    )
}

/// A patch of the labels of a cluster.
fn label(cluster: &str, labels: &str) -> String {
    patch(&format!("wancluster/{cluster}"), &format!(r#"{{"metadata":{{"labels":{labels}}}}}"#))
}

/// What there is of a cluster.
async fn read(cluster: &TestCluster, name: &str) -> Result<Value> {
    let task = ["get", "wancluster", name, REGISTRY, "--output=json", "--show-managed-fields"];
    Ok(serde_json::from_str(&cluster.kubectl(&task).await?)?)
}

/// The labels of a cluster, but for those that its controller gives it.
async fn labels(cluster: &TestCluster, name: &str) -> Result<BTreeMap<String, String>> {
    let mut labels: BTreeMap<_, String> =
        serde_json::from_value(read(cluster, name).await?["metadata"]["labels"].take())?;
    labels
        .retain(|key: &String, _| !["app.kubernetes.io/managed-by", "mc-wan.l7mp.io/cluster"].contains(&key.as_str()));
    Ok(labels)
}

fn mk<const N: usize>(labels: [(&str, &str); N]) -> BTreeMap<String, String> {
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

#[tokio::test]
async fn no_cluster_labels_itself_or_says_who_uses_which_tier() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    done(&cluster, &["init"]).await?;
    let c1 = Member::join_with(&cluster, "c1", &["--label", "env=cloud"]).await?;
    Member::join(&cluster, "c2").await?.publish(&[]).await?;
    wrong_rights(&cluster, &c1).await?;
    let own = of_controller(&wan_cluster("c1"), "c1");
    let gone = owner("WANCluster", "c1", "00000000-0000-0000-0000-000000000000");
    let spec = patch("wancluster/c1", r#"{"spec":{"tiers":[{"name":"high","port":31112}]}}"#);
    let unmanaged = label("c1", r#"{"app.kubernetes.io/managed-by":null,"mc-wan.l7mp.io/cluster":null}"#);
    let rows = vec![
        admitted("itself, and its labels left alone", MANAGER, own.as_str()),
        admitted("its tiers", &spec, ""),
        refused(LABELS, "a label more", &label("c1", r#"{"region":"eu"}"#), ""),
        refused(LABELS, "another's name", &label("c1", r#"{"kubernetes.io/metadata.name":"c2"}"#), ""),
        refused(LABELS, "a label, changed", &label("c1", r#"{"env":"edge"}"#), ""),
        refused(LABELS, "a label, emptied", &label("c1", r#"{"env":""}"#), ""),
        refused(LABELS, "a label, taken away", &label("c1", r#"{"env":null}"#), ""),
        refused(LABELS, "all labels, taken away", &label("c1", "null"), ""),
        refused(LABELS, "a label, replaced by another", &label("c1", r#"{"env":null,"site":"cloud"}"#), ""),
        refused(LABELS, "a label in what it applies", MANAGER, own.replace("labels: {", "labels: {env: edge, ")),
        refused(
            LABELS,
            "as the administrator, with one less",
            "apply --server-side --force-conflicts --field-manager=mcwan-registry -f -",
            own.as_str(),
        ),
        refused(LABELS, "all of it, replaced", "replace -f -", wan_cluster("c1")),
        refused(LABELS, "a label more, where it is there", CREATE, with(&wan_cluster("c1"), "labels: {env: edge}")),
        admitted("the labels of its controller, taken away", &unmanaged, ""),
        admitted("and back again", MANAGER, own.as_str()),
        refused(LASTING, "itself, deleted", "delete wancluster/c1", ""),
        refused(LASTING, "all clusters, deleted", "delete wanclusters --field-selector=metadata.name=c1", ""),
        refused(LASTING, "an owner that is not there", APPLY, with(&wan_cluster("c1"), &gone)),
        refused(NAMED, "another cluster, labelled", &label("c2", r#"{"env":"edge"}"#), ""),
        refused(NAMED, "another cluster, deleted", "delete wancluster/c2", ""),
        refused(TIERS, "a policy", CREATE, policy("open")),
        refused(TIERS, "a policy of its name", APPLY, policy("c1")),
        refused(
            TIERS,
            "a policy, changed",
            &patch("clusterconnectionpolicy/default", r#"{"spec":{"tiers":null}}"#),
            "",
        ),
        refused(TIERS, "a policy, deleted", "delete clusterconnectionpolicy/default", ""),
        admitted("policies, read", "get clusterconnectionpolicy/default", ""),
    ];
    play(&c1, rows).await?;
    assert_eq!(labels(&cluster, "c1").await?, mk([("env", "cloud")]));
    the_administrator_does(&cluster, &c1).await
}

/// Gives c1 all rights to our kinds, and the API server a policy.
async fn wrong_rights(cluster: &TestCluster, c1: &Member) -> Result<()> {
    let kind = "customresourcedefinition/clusterconnectionpolicies.mc-wan.l7mp.io";
    cluster.kubectl(&["wait", "--for=condition=Established", kind]).await?;
    cluster.apply(LAX).await?;
    until(SOON, "c1 has the rights, and the kind is served", async || {
        Ok(c1.kubectl("get clusterconnectionpolicies", "").await?.status == Some(0))
    })
    .await?;
    cluster.apply(&with(&policy("default"), "namespace: mc-wan-registry")).await
}

/// The administrator labels and deletes clusters; what a deleted one exports, the garbage collector takes along. Back again,
/// it has no labels.
async fn the_administrator_does(cluster: &TestCluster, c1: &Member) -> Result<()> {
    cluster.kubectl(&["label", "wancluster/c1", REGISTRY, "site=zh", "env=edge", "--overwrite"]).await?;
    play(c1, vec![admitted("itself, once more", MANAGER, of_controller(&wan_cluster("c1"), "c1"))]).await?;
    assert_eq!(labels(cluster, "c1").await?, mk([("env", "edge"), ("site", "zh")]));
    let uid = read(cluster, "c1").await?["metadata"]["uid"].as_str().context("no uid")?.to_owned();
    let owned = with(&export_of("c1.secure.payment", "c1", "payment"), &owner("WANCluster", "c1", &uid));
    play(c1, vec![admitted("an export with its owner", APPLY, owned)]).await?;
    cluster.kubectl(&["delete", "wancluster/c1", REGISTRY]).await?;
    until(SOON, "what the cluster exported is gone", async || {
        Ok(cluster.kubectl(&["get", "exportedservices", REGISTRY, "--output=name"]).await?.is_empty())
    })
    .await?;
    let own = of_controller(&wan_cluster("c1"), "c1");
    let rows = vec![
        refused(LABELS, "a new one with labels", CREATE, own.replace("labels: {", "labels: {env: cloud, ")),
        admitted("a new one without", MANAGER, own),
    ];
    play(c1, rows).await?;
    assert_eq!(labels(cluster, "c1").await?, mk([]));
    Ok(())
}

#[tokio::test]
async fn labels_are_given_to_who_joins_and_outlast_what_its_controller_applies() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    done(&cluster, &["init"]).await?;
    let c1 = Member::join_with(&cluster, "c1", &["--label", "env=cloud", "--label", "example.com/site="]).await?;
    let (before, after) = c1.hints.split_once("serviceaccount/c1 created\n").context("no account")?;
    assert_eq!((before, after.contains("wancluster")), ("wancluster.mc-wan.l7mp.io/c1 created\n", false));
    let given = mk([("env", "cloud"), ("example.com/site", "")]);
    assert_eq!(labels(&cluster, "c1").await?, given);

    // Its controller takes it for its own, and tells more of it.
    let ours = Live::of(&read(&cluster, "c1").await?);
    ensure!(ours.is_ours() && !ours.has_additions, "{ours:?}");
    let tier = ClusterTier { name: "high".to_owned(), port: 31111.try_into()?, cable_driver: None };
    let told = cluster_object_of("c1", &WanClusterSpec { tiers: vec![tier], ..WanClusterSpec::default() }).body;
    play(&c1, vec![admitted("what it is", MANAGER, told.to_string())]).await?;
    assert_eq!(labels(&cluster, "c1").await?, given);
    let live = read(&cluster, "c1").await?;
    assert_eq!(live["spec"], json!({"tiers": [{"name": "high", "port": 31111}]}));
    assert_eq!((live["metadata"]["uid"].as_str(), Live::of(&live).is_ours()), (Some(&*ours.uid), true));

    // Again: without labels, with the same, with others.
    let again = done(&cluster, &["join", "c1"]).await?;
    assert!(!again.log.contains("wancluster"), "{}", again.log);
    assert_eq!(labels(&cluster, "c1").await?, given);
    let again = done(&cluster, &["join", "c1", "--label", "example.com/site=", "--label", "env=cloud"]).await?;
    assert!(again.log.contains("wancluster.mc-wan.l7mp.io/c1 unchanged\n"), "{}", again.log);
    let again = done(&cluster, &["join", "c1", "--label", "env=edge"]).await?;
    assert!(again.log.contains("wancluster.mc-wan.l7mp.io/c1 configured\n"), "{}", again.log);
    assert_eq!(labels(&cluster, "c1").await?, mk([("env", "edge")]));
    assert_eq!(read(&cluster, "c1").await?["spec"], live["spec"], "what it told stays");

    // One that has told something before it has labels.
    let c2 = Member::join(&cluster, "c2").await?;
    play(&c2, vec![admitted("itself", MANAGER, of_controller(&wan_cluster("c2"), "c2"))]).await?;
    done(&cluster, &["join", "c2", "--label", "env=edge"]).await?;
    assert_eq!(labels(&cluster, "c2").await?, mk([("env", "edge")]));
    assert_eq!(read(&cluster, "c2").await?["spec"]["tiers"][0]["port"], 31111);

    let left = done(&cluster, &["leave", "c1"]).await?;
    assert!(left.out.contains("wancluster.mc-wan.l7mp.io/c1 deleted\n"), "{}", left.out);
    Ok(())
}
