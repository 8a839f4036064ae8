//! What the API server takes from a cluster that has joined, and what it refuses, and how.

use std::fs;
use std::path::Path;

use anyhow::Result;
use mcwan_testbed::cluster::TestCluster;

use super::member::{Member, REGISTRY, done, export_of, lease, pods_of, wan_cluster};
use super::rows::{APPLY, CREATE, MANAGER, admitted, owner, patch, play, refused, with};

const NAMED: &str = "cluster c1 writes the one of the wanclusters that has its name";
const NAMED_LEASE: &str = "cluster c1 writes the one of the leases that has its name";
const OWN_EXPORT: &str =
    "cluster c1 writes exportedservices of its own only: spec.cluster is c1, and metadata.name begins with c1.";
const OWN_PODS: &str =
    "cluster c1 writes exportedendpoints of its own only: spec.cluster is c1, and metadata.name begins with c1.";
const SLICE: &str = "metadata.name must be CLUSTER.NAMESPACE.NAME.SLICE";
const OWNED: &str = "what cluster c1 writes is owned by WANCluster c1 or by nothing, and keeps its owner from nothing";
/// It has not the right to delete itself, whatever the policy says.
const UNDELETED: &str = "cannot set an ownerRef on a resource you can't delete";
const AGEING: &str = "cluster c1 says of what it exports no earlier exportedAt than it has said before";
const LABELLED: &str = "what cluster c1 writes has the label mc-wan.l7mp.io/cluster: c1 or none";
const LASTING: &str = "what cluster c1 writes has no finalizers";
const DEFINITION: &str = "metadata.name must be CLUSTER.NAMESPACE.NAME";
const POLICY: &str = "ValidatingAdmissionPolicy 'mcwan-registry' with binding 'mcwan-registry' denied request: ";

async fn uid(cluster: &TestCluster, object: &str) -> Result<String> {
    cluster.kubectl(&["get", object, REGISTRY, "--output=jsonpath={.metadata.uid}"]).await
}

/// Two clusters that have joined; c2 has published something.
async fn scene(cluster: &TestCluster) -> Result<Member> {
    done(cluster, &["init"]).await?;
    let c1 = Member::join(cluster, "c1").await?;
    Member::join(cluster, "c2").await?.publish(&["payment"]).await?;
    Ok(c1)
}

#[tokio::test]
async fn clusters_are_kept_apart() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let c1 = scene(&cluster).await?;
    a_cluster_does_not_write_what_is_anothers(&cluster, &c1).await?;
    a_cluster_does_nothing_else(&c1).await?;
    a_cluster_writes_what_is_its_own_and_reads_all(&cluster, &c1).await?;
    what_a_controller_publishes_is_admitted(&cluster).await
}

async fn a_cluster_writes_what_is_its_own_and_reads_all(cluster: &TestCluster, c1: &Member) -> Result<()> {
    play(c1, vec![admitted("itself", APPLY, wan_cluster("c1"))]).await?;
    let owned = owner("WANCluster", "c1", &uid(cluster, "wancluster/c1").await?);
    let payment = export_of("c1.secure.payment", "c1", "payment");
    let rows = vec![
        admitted("its lease", APPLY, lease("c1")),
        admitted("its lease, renewed", &patch("lease/c1", r#"{"spec":{"leaseDurationSeconds":60}}"#), ""),
        admitted("an export", APPLY, payment.as_str()),
        admitted("an export with its owner", APPLY, with(&payment, &owned)),
        admitted("an export with its label", APPLY, with(&payment, "labels: {mc-wan.l7mp.io/cluster: c1}")),
        admitted("an export, changed", &patch("exportedservice/c1.secure.payment", r#"{"spec":{"readyPods":3}}"#), ""),
        admitted(
            "an export that is made again",
            &patch("exportedservice/c1.secure.payment", r#"{"spec":{"exportedAt":"2026-11-20T09:00:00Z"}}"#),
            "",
        ),
        refused(
            AGEING,
            "an export that grows older",
            &patch("exportedservice/c1.secure.payment", r#"{"spec":{"exportedAt":"2026-11-20T08:59:59Z"}}"#),
            "",
        ),
        admitted("pods behind it", APPLY, pods_of("c1.secure.payment.payment-x7k", "c1")),
        admitted("another one", CREATE, export_of("c1.secure.stats", "c1", "stats")),
        admitted("an export, deleted", "delete exportedservice/c1.secure.stats", ""),
        admitted("what others publish, read", "get exportedservice/c2.secure.payment wancluster/c2 lease/c2", ""),
        admitted("its lease, deleted", "delete lease/c1", ""),
    ];
    play(c1, rows).await?;
    // The administrator is no cluster.
    let both = wan_cluster("c3") + &export_of("c2.secure.stats", "c2", "stats");
    cluster.apply(&both.replace("metadata: {", "metadata: {namespace: mc-wan-registry, ")).await
}

async fn what_a_controller_publishes_is_admitted(cluster: &TestCluster) -> Result<()> {
    let member = Member::join(cluster, "cluster-1").await?;
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../controller/tests/golden/kubernetes/export.yaml");
    let golden = fs::read_to_string(golden)?;
    let is_published = |document: &&str| {
        ["kind: WANCluster", "kind: ExportedService"].iter().any(|kind| document.lines().any(|line| line == *kind))
    };
    let published: Vec<_> = golden.split("---\n").filter(is_published).collect();
    assert!(published.len() >= 2, "{golden}");
    play(&member, vec![admitted("what the controller emits", MANAGER, published.join("---\n"))]).await
}

async fn a_cluster_does_not_write_what_is_anothers(cluster: &TestCluster, c1: &Member) -> Result<()> {
    c1.publish(&["payment"]).await?;
    let export = "exportedservice/c2.secure.payment";
    let others = owner("WANCluster", "c2", &uid(cluster, "wancluster/c2").await?);
    let own = owner("WANCluster", "c1", &uid(cluster, "wancluster/c1").await?);
    let account = owner("Secret", "c2", &uid(cluster, "secret/c2").await?);
    let payment = export_of("c1.secure.payment", "c1", "payment");
    let label = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    let rows = vec![
        refused(NAMED, "a cluster of another name", APPLY, wan_cluster("c3")),
        refused(NAMED, "a cluster whose name begins as its own", CREATE, wan_cluster("c10")),
        refused(NAMED, "another cluster, changed", APPLY, wan_cluster("c2").replace("31111", "31112")),
        refused(NAMED, "another cluster, labelled", &patch("wancluster/c2", label), ""),
        refused(NAMED_LEASE, "a lease of any name", APPLY, lease("leader")),
        refused(NAMED_LEASE, "another's lease, renewed", APPLY, lease("c2").replace("30", "60")),
        refused(NAMED_LEASE, "another's lease, deleted", "delete lease/c2", ""),
        refused(OWN_EXPORT, "another's export, new", APPLY, export_of("c2.secure.stats", "c2", "stats")),
        refused(OWN_EXPORT, "an export of who begins as it", APPLY, export_of("c10.secure.stats", "c10", "stats")),
        refused(DEFINITION, "its name, another's cluster", APPLY, export_of("c1.secure.stats", "c2", "stats")),
        refused(DEFINITION, "another's name, its cluster", APPLY, export_of("c2.secure.stats", "c1", "stats")),
        refused(OWN_EXPORT, "another's export, changed", &patch(export, r#"{"spec":{"readyPods":9}}"#), ""),
        refused(DEFINITION, "another's export, made its own", &patch(export, r#"{"spec":{"cluster":"c1"}}"#), ""),
        refused(DEFINITION, "its own, made another's", APPLY, payment.replace("cluster: c1", "cluster: c2")),
        refused(OWN_EXPORT, "another's export, deleted", "delete exportedservice/c2.secure.payment", ""),
        refused(OWN_PODS, "another's pods", APPLY, pods_of("c2.secure.payment.a", "c2")),
        refused(SLICE, "its name, another's pods", APPLY, pods_of("c1.secure.payment.a", "c2")),
        refused(SLICE, "pods of no slice", APPLY, pods_of("c1.secure.payment", "c1")),
        refused(OWNED, "owned by another cluster", APPLY, with(&payment, &others)),
        refused(UNDELETED, "itself, owned by another cluster", APPLY, with(&wan_cluster("c1"), &others)),
        refused(OWNED, "its lease, owned by another cluster", APPLY, with(&lease("c1"), &others)),
        refused(OWNED, "owned by something else", APPLY, with(&payment, &account)),
        refused(
            "cannot set blockOwnerDeletion",
            "that keeps its owner",
            APPLY,
            with(&payment, &own.replace("}]", ", blockOwnerDeletion: true}]")),
        ),
        refused(LASTING, "what cannot be deleted", APPLY, with(&payment, "finalizers: [example.com/never]")),
        refused(LABELLED, "what passes for another's", APPLY, with(&payment, "labels: {mc-wan.l7mp.io/cluster: c2}")),
    ];
    for row in &rows {
        let by_policy = [NAMED, NAMED_LEASE, OWN_EXPORT, OWN_PODS, OWNED, LASTING, LABELLED];
        let Some(refusal) = row.refusal else { continue };
        if by_policy.contains(&refusal) {
            let ran = c1.kubectl(&row.task, &row.manifest).await?;
            assert!(ran.log.contains(&format!("{POLICY}{refusal}")), "{}: {ran:?}", row.what);
        }
    }
    play(c1, rows).await
}

async fn a_cluster_does_nothing_else(c1: &Member) -> Result<()> {
    const FORBIDDEN: &str = "User \"system:serviceaccount:mc-wan-registry:c1\" cannot";
    let elsewhere = |manifest: String| with(&manifest, "namespace: default");
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: c3, annotations: \
        {kubernetes.io/service-account.name: c2}}\ntype: kubernetes.io/service-account-token\n";
    let rights = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: more}\n\
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}\n\
        subjects: [{kind: ServiceAccount, name: c1, namespace: mc-wan-registry}]\n";
    let open =
        "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ClusterConnectionPolicy\nmetadata: {name: open}\nspec: {}\n";
    let exports = "/apis/mc-wan.l7mp.io/v1alpha1/namespaces/mc-wan-registry/exportedservices";
    let rows = vec![
        refused(FORBIDDEN, "its own token", "get secret/c1", ""),
        refused(FORBIDDEN, "another's token", "get secret/c2", ""),
        refused(FORBIDDEN, "all tokens", "get secrets", ""),
        refused(FORBIDDEN, "a token made for another", CREATE, secret),
        refused(FORBIDDEN, "a token asked for another", "create token c2", ""),
        refused(FORBIDDEN, "a new account", "create serviceaccount c3", ""),
        refused(FORBIDDEN, "more rights", CREATE, rights),
        refused(FORBIDDEN, "another role", "get roles", ""),
        refused(FORBIDDEN, "other kinds", "create configmap settings", ""),
        refused(FORBIDDEN, "pods", "get pods", ""),
        refused(FORBIDDEN, "itself, deleted", "delete wancluster/c1", ""),
        refused(FORBIDDEN, "another cluster, deleted", "delete wancluster/c2", ""),
        refused(FORBIDDEN, "a policy", CREATE, open),
        refused(FORBIDDEN, "a policy, deleted", "delete clusterconnectionpolicy/default", ""),
        refused(FORBIDDEN, "many at once", &format!("delete --raw {exports}"), ""),
        refused(FORBIDDEN, "exports of other namespaces", "get exportedservices -n default", ""),
        refused(FORBIDDEN, "exports of all namespaces", "get exportedservices -A", ""),
        refused(FORBIDDEN, "an export elsewhere", CREATE, elsewhere(export_of("c1.secure.payment", "c1", "payment"))),
        refused(FORBIDDEN, "itself elsewhere", CREATE, elsewhere(wan_cluster("c1"))),
        refused(FORBIDDEN, "its lease elsewhere", CREATE, elsewhere(lease("c1"))),
        refused(FORBIDDEN, "leases elsewhere", "get leases -n kube-system", ""),
        refused(FORBIDDEN, "namespaces", "get namespaces", ""),
        refused(FORBIDDEN, "nodes", "get nodes", ""),
        refused(FORBIDDEN, "the policy", "delete validatingadmissionpolicy/mcwan-registry", ""),
        refused(FORBIDDEN, "its binding", "delete validatingadmissionpolicybinding/mcwan-registry", ""),
        refused(FORBIDDEN, "the kinds", "delete customresourcedefinition/wanclusters.mc-wan.l7mp.io", ""),
        refused(FORBIDDEN, "to be somebody else", "get wanclusters --as=system:serviceaccount:mc-wan-registry:c2", ""),
    ];
    play(c1, rows).await
}
