//! The Helm chart.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::tools;
use tempfile::TempDir;
use tokio::process::Command;

use super::{DIGEST, SYSTEM, columns, deployment, manifests, older, ours, run, value};

/// What makes up the controller.
const CONTROLLER: &str = "deployments,services,serviceaccounts,poddisruptionbudgets,roles,rolebindings,clusterroles,\
    clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings";

/// What users' rules and their traffic need.
const LASTING: &str = "namespaces,customresourcedefinitions";

const RULE: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ServiceImport
metadata: {name: payment, namespace: default}
spec: {}
";

/// Helm with files of its own.
struct Helm {
    home: TempDir,
}

impl Helm {
    fn new() -> Result<Self> {
        Ok(Self { home: tempfile::tempdir()? })
    }

    fn command(&self, task: &str) -> Result<Command> {
        let mut helm = Command::new(tools::program("helm")?);
        for folder in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            helm.env(folder, self.home.path());
        }
        helm.args([task, "mcwan", "--namespace", SYSTEM]);
        Ok(helm)
    }

    /// Does something with the release that the README installs.
    async fn release(
        &self,
        cluster: &TestCluster,
        task: &str,
        chart: Option<&Path>,
        values: &[&str],
    ) -> Result<String> {
        let mut helm = self.command(task)?;
        helm.arg("--kubeconfig").arg(cluster.admin_kubeconfig()).args(chart);
        run(with_values(&mut helm, values)).await
    }

    /// What the chart renders with the README's values and `values`.
    async fn template(&self, values: &[&str]) -> Result<String> {
        let mut helm = self.command("template")?;
        run(with_values(helm.arg(chart()), values)).await
    }
}

fn with_values<'a>(helm: &'a mut Command, values: &[&str]) -> &'a mut Command {
    helm.args(values.iter().flat_map(|value| ["--set", value]))
}

/// The values that have no default.
fn required() -> [String; 3] {
    [
        "clusterId=cluster-1".to_owned(),
        format!("image=registry.example.com/mcwan@{DIGEST}"),
        format!("module=oci://registry.example.com/mcwan-filter@{DIGEST}"),
    ]
}

fn chart() -> PathBuf {
    manifests().join("chart")
}

#[tokio::test]
async fn it_installs_upgrades_and_leaves_what_users_wrote() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let helm = Helm::new()?;
    let required = required();
    let required: Vec<_> = required.iter().map(String::as_str).collect();
    let folder = tempfile::tempdir()?;
    let older = older(&chart(), folder.path(), "files").await?;
    cluster.kubectl(&["create", "namespace", SYSTEM]).await?;

    helm.release(&cluster, "install", Some(&older), &required).await.context("install")?;
    let installed = ours(&cluster, CONTROLLER).await?;
    let lasting = ours(&cluster, LASTING).await?;
    assert!(installed.contains(&"deployment.apps/mcwan".to_owned()), "{installed:?}");
    assert_eq!(lasting.len(), 7 + 3, "seven kinds, three namespaces: {lasting:?}");
    assert!(!columns(&cluster).await?.contains("Tunnel"));
    cluster.kubectl(&["wait", "--for=condition=Established", "customresourcedefinition", "--all"]).await?;
    cluster.apply(RULE).await?;

    let changed = [required.as_slice(), &["replicas=3", "dataPlane=native"]].concat();
    helm.release(&cluster, "upgrade", Some(&chart()), &changed).await.context("upgrade")?;
    assert_eq!(value(&cluster, "deployment/mcwan", ".spec.replicas").await?, "3");
    let data_plane = ".spec.template.spec.containers[0].env[?(@.name==\"MCWAN_DATA_PLANE\")].value";
    assert_eq!(value(&cluster, "deployment/mcwan", data_plane).await?, "native");
    assert!(columns(&cluster).await?.contains("Tunnel"));
    assert_eq!(ours(&cluster, CONTROLLER).await?, installed);

    helm.release(&cluster, "uninstall", None, &[]).await.context("uninstall")?;
    assert_eq!(ours(&cluster, CONTROLLER).await?, [""; 0]);
    assert_eq!(ours(&cluster, LASTING).await?, lasting);
    cluster.kubectl(&["get", "serviceimports.mc-wan.l7mp.io", "payment", "--namespace", "default"]).await?;

    helm.release(&cluster, "install", Some(&chart()), &required).await.context("install again")?;
    assert_eq!(ours(&cluster, CONTROLLER).await?, installed);
    cluster.kubectl(&["get", "serviceimports.mc-wan.l7mp.io", "payment", "--namespace", "default"]).await?;
    deployment::check(&cluster).await
}

#[tokio::test]
async fn values_that_are_wrong_are_refused_by_name() -> Result<()> {
    let helm = Helm::new()?;
    let required = required();
    let required: Vec<_> = required.iter().map(String::as_str).collect();
    helm.template(&required).await?;
    for (wrong, named) in [
        ("replica=3", "replica"),
        ("replicas=0", "/replicas"),
        ("replicas=two", "/replicas"),
        ("staleGatewaySeconds=-1", "/staleGatewaySeconds"),
        ("clusterId=Cluster_1", "/clusterId"),
        ("clusterId=null", "clusterId"),
        ("image=mcwan", "/image"),
        ("image=null", "image"),
        ("module=null", "module"),
        ("module=oci://registry.example.com/mcwan-filter:latest", "/module"),
        ("module=http://example.com/mcwan-filter.wasm", "/module"),
        ("module=https://example.com/mcwan-filter.wasm", "/moduleSha256"),
        ("moduleSha256=0000000000000000000000000000000000000000000000000000000000000000", "/moduleSha256"),
        ("dataPlane=Wasm", "/dataPlane"),
        ("gatewayClass=", "/gatewayClass"),
        ("logFormat=yaml", "/logFormat"),
        ("resources.memory=1Gi", "/resources"),
        ("env[0].name=mcwan log level", "/env/0/name"),
        ("volumes[0].mode=x", "name"),
        ("frontEnds[0]=TCPRoute", "/frontEnds/0"),
        ("crds=false", "/crds"),
        ("imports.namespaces[0]=A", "/imports/namespaces/0"),
        ("imports.denied=kube-*", "/imports"),
        ("registry.secret=mcwan-registry", "/registry"),
        ("registry.kubeconfigSecret=mcwan_registry", "/registry/kubeconfigSecret"),
    ] {
        let values = [required.as_slice(), &[wrong]].concat();
        let refusal = helm.template(&values).await.map(drop).expect_err(wrong).to_string();
        assert!(refusal.contains("specifications of the schema"), "{wrong}: {refusal}");
        assert!(refusal.contains(&format!("{named}'")), "{wrong}: {refusal}");
    }
    Ok(())
}

#[tokio::test]
async fn the_controller_is_told_which_kinds_give_rules() -> Result<()> {
    let helm = Helm::new()?;
    let required = required();
    for (front_ends, expected) in
        [(None, "HTTPRoute,GRPCRoute"), (Some("frontEnds={GRPCRoute,Route}"), "GRPCRoute,Route")]
    {
        let values: Vec<_> = required.iter().map(String::as_str).chain(front_ends).collect();
        let manifests = helm.template(&values).await?;
        let told = format!("name: MCWAN_FRONT_ENDS\n          value: \"{expected}\"\n");
        assert!(manifests.contains(&told), "{front_ends:?}: {manifests}");
    }
    Ok(())
}

#[tokio::test]
async fn a_module_may_stand_on_a_web_server() -> Result<()> {
    let helm = Helm::new()?;
    let required = required();
    let sha256 = format!("moduleSha256={}", "0".repeat(64));
    let module = ["module=https://example.com/mcwan-filter.wasm", &sha256];
    let values: Vec<_> = required.iter().map(String::as_str).chain(module).collect();
    let manifests = helm.template(&values).await?;
    assert!(manifests.contains("MCWAN_MODULE_SHA256"));
    Ok(())
}
