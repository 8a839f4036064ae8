//! The registry and the Helm chart on one API server, and the chart in a cluster that has joined.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use tempfile::TempDir;
use tokio::process::Command;

use super::member::{Member, REGISTRY, done, export_of, lease, wan_cluster};
use super::rows::{APPLY, CREATE, MANAGER, admitted, of_controller, owner, patch, play, refused, with};
use crate::command::run;

const SYSTEM: &str = "mc-wan-system";
const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// What both bring.
const SHARED: [&str; 5] = [
    "namespace/mc-wan-registry",
    "customresourcedefinition.apiextensions.k8s.io/exportedservices.mc-wan.l7mp.io",
    "customresourcedefinition.apiextensions.k8s.io/exportedendpoints.mc-wan.l7mp.io",
    "customresourcedefinition.apiextensions.k8s.io/wanclusters.mc-wan.l7mp.io",
    "customresourcedefinition.apiextensions.k8s.io/clusterconnectionpolicies.mc-wan.l7mp.io",
];

/// The working tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Helm with files of its own.
struct Helm<'c> {
    cluster: &'c TestCluster,
    home: TempDir,
}

impl<'c> Helm<'c> {
    fn new(cluster: &'c TestCluster) -> Result<Self> {
        Ok(Self { cluster, home: tempfile::tempdir()? })
    }

    /// Runs a command line in the working tree.
    async fn run(&self, arguments: &str) -> Result<()> {
        let mut helm = Command::new(tools::program("helm")?);
        for folder in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            helm.env(folder, self.home.path());
        }
        helm.arg("--kubeconfig").arg(self.cluster.admin_kubeconfig()).args(arguments.split_whitespace());
        let ran = run(helm.current_dir(root()), "").await?;
        ensure!(ran.status == Some(0), "helm {arguments}: {}", ran.log);
        Ok(())
    }

    /// Installs the chart as `manifests/README.md` does.
    async fn install(&self) -> Result<()> {
        self.cluster.kubectl(&["create", "namespace", SYSTEM]).await?;
        self.run(&format!(
            "install mcwan manifests/chart -n {SYSTEM} --set clusterId=c1 --set \
             image=registry.example.com/mcwan@{DIGEST} --set module=oci://registry.example.com/mcwan-filter@{DIGEST}"
        ))
        .await
    }
}

/// Who manages what both bring.
async fn managers(cluster: &TestCluster) -> Result<Vec<String>> {
    let label = r"--output=jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}";
    let mut managers = Vec::new();
    for object in SHARED {
        managers.push(cluster.kubectl(&["get", object, label]).await?);
    }
    Ok(managers)
}

fn rows(out: &str, word: &str) -> usize {
    SHARED.iter().filter(|object| out.contains(&format!("{object} {word}\n"))).count()
}

#[tokio::test]
async fn the_chart_is_installed_where_the_registry_is() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    assert_eq!(rows(&done(&cluster, &["init"]).await?.out, "created"), SHARED.len());
    let helm = Helm::new(&cluster)?;
    helm.install().await?;
    assert_eq!(managers(&cluster).await?, ["mcwan-registry"; SHARED.len()]);
    let c2 = Member::join(&cluster, "c2").await?;
    c2.publish(&["payment"]).await?;
    helm.run(&format!("upgrade mcwan manifests/chart -n {SYSTEM} --reuse-values --set replicas=1")).await?;
    assert_eq!(rows(&done(&cluster, &["init"]).await?.out, "unchanged"), SHARED.len());
    helm.run(&format!("uninstall mcwan -n {SYSTEM}")).await?;
    c2.publish(&["stats"]).await
}

#[tokio::test]
async fn the_registry_is_prepared_where_the_chart_is_and_a_cluster_moves_there() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let helm = Helm::new(&cluster)?;
    helm.install().await?;
    assert_eq!(rows(&done(&cluster, &["init"]).await?.out, "unchanged"), SHARED.len());
    assert_eq!(managers(&cluster).await?, ["Helm"; SHARED.len()]);
    let c1 = Member::join(&cluster, "c1").await?;
    c1.publish(&["payment"]).await?;

    // The commands that it prints.
    let mut commands = c1.hints.lines().filter_map(|line| line.strip_prefix("  "));
    let secret = commands.next().and_then(|line| line.strip_prefix("kubectl ")).context("no kubectl")?;
    let upgrade = commands.next().and_then(|line| line.strip_prefix("helm ")).context("no helm")?;
    let mut kubectl = Command::new(tools::program("kubectl")?);
    kubectl.arg("--kubeconfig").arg(cluster.admin_kubeconfig()).args(secret.split_whitespace());
    let ran = run(kubectl.current_dir(c1.folder()), "").await?;
    assert_eq!(ran.status, Some(0), "{ran:?}");
    helm.run(upgrade).await?;

    let value = async |object: &str, path: &str| {
        let output = format!("--output=jsonpath={{{path}}}");
        cluster.kubectl(&["get", object, "-n", SYSTEM, &output]).await
    };
    let container = ".spec.template.spec.containers[0]";
    let variable = format!("{container}.env[?(@.name==\"MCWAN_REGISTRY_KUBECONFIG\")].value");
    let file = value("deployment/mcwan", &variable).await?;
    let folder = value("deployment/mcwan", &format!("{container}.volumeMounts[0].mountPath")).await?;
    assert_eq!(file, format!("{folder}/kubeconfig"), "the key of the Secret, as a file");
    assert_eq!(value("deployment/mcwan", ".spec.template.spec.volumes[0].secret.secretName").await?, "mcwan-registry");
    assert!(value("secret/mcwan-registry", ".data").await?.contains("kubeconfig"));
    // What stands here is another registry's now: no rights to it are left, and it stays.
    let ours = cluster.kubectl(&["get", "roles,rolebindings", REGISTRY, "--output=name"]).await?;
    let expected = "role.rbac.authorization.k8s.io/mcwan-cluster\n\
                    rolebinding.rbac.authorization.k8s.io/mcwan-cluster.c1\n";
    assert_eq!(ours, expected);
    c1.publish(&["stats"]).await
}

#[tokio::test]
async fn the_cluster_that_holds_the_registry_is_bound_like_those_that_join() -> Result<()> {
    const POLICY: &str =
        "ValidatingAdmissionPolicy 'mcwan-registry-host' with binding 'mcwan-registry-host' denied request: ";
    let cluster = TestCluster::start_with(&[]).await?;
    Helm::new(&cluster)?.install().await?;
    let host = Member::host(&cluster, "c1", SYSTEM).await?;
    let of = |name: &str| of_controller(&wan_cluster(name), name);
    // What the API server has been told a moment ago, it does not enforce at once.
    until(Duration::from_mins(1), "the policy is in force", async || {
        Ok(host.kubectl("create --dry-run=server -f -", &of("c9")).await?.log.contains(POLICY))
    })
    .await?;
    cluster.apply(&with(&of("c2"), "namespace: mc-wan-registry")).await?;
    play(&host, vec![admitted("itself", MANAGER, of("c1"))]).await?;
    cluster.kubectl(&["label", "wancluster/c1", REGISTRY, "env=cloud"]).await?;
    let label = |label: &str| patch("wancluster/c1", &format!(r#"{{"metadata":{{"labels":{{"env":{label}}}}}}}"#));
    let gone = owner("WANCluster", "c1", "00000000-0000-0000-0000-000000000000");
    let export = |name: &str, cluster: &str| of_controller(&export_of(name, cluster, "payment"), cluster);
    let (named, labels) = ("writes the one of the wanclusters that has its name", "does not label itself");
    // It has not the rights, either.
    let owned = "cannot set an ownerRef on a resource you can't delete";
    let forbidden = "User \"system:serviceaccount:mc-wan-system:mcwan\" cannot delete resource";
    let rows = vec![
        admitted("itself again, labelled", MANAGER, of("c1")),
        admitted("its lease", MANAGER, lease("c1")),
        admitted("an export", MANAGER, export("c1.secure.payment", "c1")),
        admitted("an export, deleted", "delete exportedservice/c1.secure.payment", ""),
        refused(named, "another cluster, new", CREATE, of("c3")),
        refused(named, "another cluster", MANAGER, of("c2").replace("31111", "31112")),
        refused("exportedservices of its own only", "another's export", MANAGER, export("c2.secure.payment", "c2")),
        refused("writes the one of the leases", "another's lease", MANAGER, lease("c2")),
        refused(labels, "a label, changed", &label(r#""edge""#), ""),
        refused(labels, "a label, taken away", &label("null"), ""),
        refused(forbidden, "itself, deleted", "delete wancluster/c1", ""),
        refused(owned, "an owner that is not there", APPLY, with(&of("c1"), &gone)),
    ];
    for row in rows.iter().filter(|row| row.refusal.is_some_and(|refusal| ![owned, forbidden].contains(&refusal))) {
        let ran = host.kubectl(&row.task, &row.manifest).await?;
        assert!(ran.log.contains(&format!("{POLICY}cluster c1 ")), "{}: {ran:?}", row.what);
    }
    play(&host, rows).await
}
