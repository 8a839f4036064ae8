//! What the controller's service account may do.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use mcwan_core::emit::kubernetes::names::clusterset_service;
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use tokio::process::Command;

use super::{SYSTEM, golden, kustomize, run};

/// Asks whether `user` may do something: `VERB GROUP/RESOURCE[/SUBRESOURCE] NAMESPACE [NAME]`, the core group being
/// `core` and no namespace `*`.
async fn may(cluster: &TestCluster, user: &str, question: &str) -> Result<bool> {
    let mut words = question.split_whitespace();
    let mut word = || words.next().map(str::to_owned);
    let (verb, kind, namespace, name) = (word(), word().context("no kind")?, word(), word());
    let mut kind = kind.split('/').map(str::to_owned);
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            resource_attributes: Some(ResourceAttributes {
                verb,
                group: kind.next().filter(|group| group != "core"),
                resource: kind.next(),
                subresource: kind.next(),
                namespace: namespace.filter(|namespace| namespace != "*"),
                name,
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.client());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.context("the API server does not answer")?.allowed)
}

#[tokio::test]
async fn the_controller_may_do_its_work_and_no_more() -> Result<()> {
    let cluster = TestCluster::start_with(&[Crds::GatewayApi, Crds::Istio]).await?;
    kustomize::install(&cluster).await?;
    its_rights_are_these(&cluster).await?;
    whatever_it_emits_it_may_write_and_delete(&cluster).await
}

async fn its_rights_are_these(cluster: &TestCluster) -> Result<()> {
    let controller = format!("system:serviceaccount:{SYSTEM}:mcwan");
    for (question, expected) in [
        // What users wrote is read, and only its status written.
        ("watch mc-wan.l7mp.io/serviceimports *", true),
        ("patch mc-wan.l7mp.io/serviceimports/status secure payment", true),
        ("patch mc-wan.l7mp.io/serviceimports secure payment", false),
        ("delete mc-wan.l7mp.io/wanpolicies * sd-wan-priority-high", false),
        ("patch multicluster.x-k8s.io/serviceexports/status secure payment", true),
        ("create multicluster.x-k8s.io/serviceexports secure payment", false),
        ("patch multicluster.x-k8s.io/serviceimports secure payment", true),
        // What is named after imports may be written everywhere, what has a fixed name under that only.
        ("patch core/services secure payment-clusterset", true),
        ("patch discovery.k8s.io/endpointslices secure payment-x7k.cluster-1", true),
        ("patch gateway.networking.k8s.io/httproutes secure payment.8080", true),
        ("create gateway.networking.k8s.io/gateways secure mcwan-egress", true),
        ("delete gateway.networking.k8s.io/gateways secure public", false),
        ("patch extensions.istio.io/wasmplugins secure mcwan", true),
        ("patch extensions.istio.io/wasmplugins secure other", false),
        ("patch security.istio.io/authorizationpolicies secure mcwan-ingress", true),
        ("delete security.istio.io/authorizationpolicies secure deny-all", false),
        ("patch telemetry.istio.io/telemetries secure mcwan-egress", true),
        ("patch telemetry.istio.io/telemetries secure mesh-default", false),
        ("patch core/configmaps secure mcwan-ingress", true),
        ("patch core/configmaps secure settings", false),
        // Of pods, only the status is written.
        ("patch core/pods/status secure mcwan-egress-istio-x7k", true),
        ("patch core/pods secure mcwan-egress-istio-x7k", false),
        // What says where requests go is written where nobody else's does.
        ("create gateway.networking.k8s.io/referencegrants mc-wan", true),
        ("create gateway.networking.k8s.io/referencegrants secure", false),
        ("patch networking.istio.io/destinationrules mc-wan mcwan-tiers", true),
        ("create mc-wan.l7mp.io/clusterconnections mc-wan cluster-2", true),
        ("patch mc-wan.l7mp.io/clusterconnections/status mc-wan cluster-2", true),
        ("create mc-wan.l7mp.io/clusterconnections secure cluster-2", false),
        ("watch mc-wan.l7mp.io/clusterconnectionpolicies mc-wan-registry", true),
        ("patch mc-wan.l7mp.io/clusterconnectionpolicies mc-wan-registry default", false),
        ("patch networking.istio.io/destinationrules mc-wan other", false),
        ("patch networking.istio.io/destinationrules secure mcwan-tiers", false),
        // The registry, the lease, the key.
        ("patch mc-wan.l7mp.io/exportedservices mc-wan-registry cluster-1.secure.payment", true),
        ("patch mc-wan.l7mp.io/exportedservices secure", false),
        ("patch mc-wan.l7mp.io/exportedendpoints mc-wan-registry cluster-1.secure.payment.payment-x7k", true),
        ("patch mc-wan.l7mp.io/wanclusters mc-wan-registry cluster-1", true),
        ("delete mc-wan.l7mp.io/wanclusters mc-wan-registry cluster-1", false),
        ("patch coordination.k8s.io/leases mc-wan-registry cluster-1", true),
        ("watch coordination.k8s.io/leases mc-wan-registry", true),
        ("delete coordination.k8s.io/leases mc-wan-registry cluster-1", false),
        ("update coordination.k8s.io/leases mc-wan-system mcwan", true),
        ("update coordination.k8s.io/leases mc-wan-system other", false),
        ("update coordination.k8s.io/leases kube-system", false),
        ("get core/secrets mc-wan-system mcwan-steering-key", true),
        ("watch core/secrets mc-wan-system mcwan-steering-key", true),
        ("get core/secrets mc-wan-system other", false),
        ("list core/secrets mc-wan-system", false),
        ("watch core/secrets mc-wan-system", false),
        ("get core/secrets secure", false),
        // Nothing leads to more.
        ("create core/pods mc-wan-system", false),
        ("create core/pods/exec secure", false),
        ("create core/serviceaccounts/token mc-wan-system mcwan", false),
        ("patch apps/deployments mc-wan-system mcwan", false),
        ("create rbac.authorization.k8s.io/clusterrolebindings *", false),
        ("patch apiextensions.k8s.io/customresourcedefinitions *", false),
        ("delete core/namespaces * secure", false),
    ] {
        assert_eq!(may(cluster, &controller, question).await?, expected, "{question}");
    }
    Ok(())
}

#[tokio::test]
async fn what_the_controller_has_not_made_it_may_not_write() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    kustomize::install(&cluster).await?;
    let service = |name: &str, by: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: default, \
             labels: {{app.kubernetes.io/managed-by: {by}}}}}\nspec: {{ports: [{{port: 80}}]}}\n"
        )
    };
    cluster.apply(&service("theirs", "somebody")).await?;
    cluster.apply(&service("ours", "mcwan")).await?;
    let folder = tempfile::tempdir()?;
    let file = |name: &str, manifest: &str| -> Result<String> {
        let file = folder.path().join(name);
        std::fs::write(&file, manifest)?;
        Ok(file.to_string_lossy().into_owned())
    };
    let kubeconfig = cluster.kubeconfig(SYSTEM, "mcwan").await?;
    let cache = folder.path().join("cache");
    let attempt = async |task: &str| {
        let mut kubectl = Command::new(tools::program("kubectl")?);
        kubectl.arg("--kubeconfig").arg(&kubeconfig).arg("--cache-dir").arg(&cache);
        run(kubectl.args(task.split(' ')).args(["--namespace", "default"])).await
    };
    let apply = "apply --server-side --force-conflicts --filename";
    let (plain, marked) = (file("plain", &service("new", "somebody"))?, file("marked", &service("new", "mcwan"))?);
    let taken = file("taken", &service("theirs", "mcwan"))?;
    let slice = |name: &str, import: &str, of: &str| {
        let labels = format!(
            "{{app.kubernetes.io/managed-by: mcwan, mc-wan.l7mp.io/import: {import}, kubernetes.io/service-name: {of}}}"
        );
        let kind = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice";
        file(
            name,
            &format!(
                "{kind}\nmetadata: {{name: {name}, namespace: default, labels: {labels}}}\naddressType: IPv4\nendpoints: []\n"
            ),
        )
    };
    let (told, leading) = (slice("told", "payment", "clusterset.mcwan")?, slice("leading", "payment", "theirs")?);
    let own = slice("own", "payment", "payment-clusterset")?;
    // The beginning is another's name.
    let long = "n".repeat(60);
    let (own_long, alike) =
        (slice("own-long", &long, &clusterset_service(&long))?, slice("alike", &long, &long[..41])?);
    let given = file("given", &service("ours", "somebody"))?;
    for (name, gateway) in [("egress", "mcwan-egress"), ("ingress", "mcwan-ingress")] {
        let labels =
            format!("{{gateway.networking.k8s.io/gateway-name: {gateway}, app.kubernetes.io/managed-by: mcwan}}");
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default, labels: {labels}}}\n\
             spec: {{containers: [{{name: a, image: a}}], automountServiceAccountToken: false}}\n"
        );
        // A pod needs the service account that a controller makes.
        until(Duration::from_mins(1), "the pod is taken", async || Ok(cluster.apply(&pod).await.is_ok())).await?;
    }
    let say_of = |pod: &str| -> Result<String> {
        let status = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {pod}, namespace: default}}\n\
             status: {{conditions: [{{type: mc-wan.l7mp.io/Admitted, status: 'True'}}]}}\n"
        );
        Ok(format!("{apply} {} --subresource status", file(pod, &status)?))
    };
    // What the API server has been told a moment ago, it does not enforce at once.
    let is_refused = async || Ok(attempt("delete service theirs --dry-run=server").await.is_err());
    until(Duration::from_mins(1), "the policy is in force", is_refused).await?;
    for (task, expected, message) in [
        (format!("{apply} {marked}"), true, "makes what has the label"),
        (format!("{apply} {plain}"), false, "and takes it away"),
        ("delete service new".to_owned(), true, "deletes what has it"),
        (format!("{apply} {plain}"), false, "makes what has not"),
        (format!("{apply} {taken}"), false, "takes over another's"),
        (format!("{apply} {given}"), false, "gives away its own"),
        ("delete service theirs".to_owned(), false, "deletes another's"),
        (format!("{apply} {told}"), true, "tells DNS of endpoints"),
        (format!("{apply} {own}"), true, "leads its own Service's clients to them"),
        (format!("{apply} {own_long}"), true, "of a long name, too"),
        (format!("{apply} {leading}"), false, "leads to other endpoints"),
        (format!("{apply} {alike}"), false, "leads to endpoints of a name like it"),
        (say_of("egress")?, true, "says something of an egress gateway's pod"),
        (say_of("ingress")?, false, "says something of another pod"),
    ] {
        let done = attempt(&task).await;
        assert_eq!(done.is_ok(), expected, "{message}: {done:?}");
        if let Err(refusal) = done {
            let why = match message {
                "leads to other endpoints" | "leads to endpoints of a name like it" => {
                    "mcwan's controller leads no clients but those of its own Services"
                }
                "says something of another pod" => "mcwan's controller says of the pods of its egress gateways",
                _ => "mcwan's controller writes what has the label app.kubernetes.io/managed-by: mcwan",
            };
            assert!(refusal.to_string().contains(why), "{message}: {refusal}");
        }
    }
    // Others are bound by their own rights.
    cluster.kubectl(&["delete", "service", "theirs", "--namespace", "default"]).await.map(drop)
}

async fn whatever_it_emits_it_may_write_and_delete(cluster: &TestCluster) -> Result<()> {
    cluster.kubectl(&["create", "namespace", "secure"]).await?;
    let kubeconfig = cluster.kubeconfig(SYSTEM, "mcwan").await?;
    let folder = tempfile::tempdir()?;
    let (cache, file) = (folder.path().join("cache"), folder.path().join("emitted.yaml"));
    // It is cluster-1 here, which writes no other and deletes not even itself.
    let (other, itself) = ("mc-wan.l7mp.io/cluster: cluster-2", "kind: WANCluster");
    for (task, left) in [
        ("apply --server-side --force-conflicts", &[other][..]),
        ("delete --wait=false --ignore-not-found", &[other, itself]),
    ] {
        let mut emitted = String::new();
        for entry in std::fs::read_dir(golden()?)? {
            emitted += &std::fs::read_to_string(entry?.path())?;
            emitted += "---\n";
        }
        let is_left = |document: &&str| document.lines().any(|line| left.contains(&line.trim()));
        let documents: Vec<_> = emitted.split("---\n").filter(|document| !is_left(document)).collect();
        std::fs::write(&file, documents.join("---\n"))?;
        let mut kubectl = Command::new(tools::program("kubectl")?);
        kubectl.arg("--kubeconfig").arg(&kubeconfig).arg("--cache-dir").arg(&cache);
        run(kubectl.args(task.split(' ')).arg("--filename").arg(&file)).await?;
    }
    Ok(())
}
