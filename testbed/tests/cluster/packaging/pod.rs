//! The controller's image, run as the kubelet would run a pod of its Deployment: its user, its empty root, its
//! environment, its service account's token, its probes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use k8s_openapi::api::core::v1::{Container, Pod, Probe};
use kube::Api;
use kube::api::ListParams;
use kube::config::Kubeconfig;
use mcwan_testbed::child::mortal;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::wait::until;

use super::{SYSTEM, deployment, images, kustomize, value};

/// Where a pod finds its service account.
const ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";

/// Runs its arguments and stays, so that what ends it ends them.
const STAY: [&str; 4] = ["sh", "-c", "\"$@\" & wait $!", "sh"];

const START: Duration = Duration::from_mins(2);

#[tokio::test]
async fn the_image_runs_as_the_deployment_says() -> Result<()> {
    let cluster = TestCluster::start().await?;
    kustomize::install(&cluster).await?;
    let pod = pod(&cluster).await?;
    let name = pod.metadata.name.clone().context("the pod has no name")?;
    let spec = pod.spec.clone().context("the pod has no specification")?;
    let [container] = spec.containers.as_slice() else { panic!("one container: {spec:?}") };
    assert_eq!(spec.automount_service_account_token, Some(true));
    deployment::check_pod(&spec)?;

    let mut registry = OciRegistry::new()?;
    registry.start().await?;
    let reference = images::push(&registry, "controller").await?;
    let root = images::unpack(&reference).await?;
    let account = spec.service_account_name.as_deref().context("no service account")?;
    mount_account(root.path(), &cluster.kubeconfig(SYSTEM, account).await?)?;
    let context = spec.security_context.context("no security context")?;
    assert_eq!((context.run_as_non_root, context.run_as_user), (Some(true), None), "clusters may choose the user");
    let user = images::user(&reference).await?;
    let log = tempfile::NamedTempFile::new()?;
    // A process namespace of its own: what becomes another user no longer ends with us by itself.
    let mut command = mortal("unshare");
    command.args(["--pid", "--fork", "--kill-child"]).args(STAY);
    command.arg("chroot").arg(format!("--userspec={user}")).arg(root.path());
    command.arg("/mcwan").args(container.args.iter().flatten()).env_clear().envs(environment(container, &pod)?);
    command.stdout(log.reopen()?).stderr(log.reopen()?);
    cluster.namespace().spawn(command).await?;

    for probe in [&container.liveness_probe, &container.readiness_probe] {
        let (port, path) = endpoint(container, probe.as_ref().context("no probe")?)?;
        let succeeds = async || {
            let path = path.clone();
            cluster.namespace().run(move || Ok(is_ok(port, &path))).await?
        };
        let success = until(START, &format!("{path} on port {port} succeeds"), succeeds).await;
        success.map_err(|error| anyhow!("{error:#}\n{}", fs::read_to_string(log.path()).unwrap_or_default()))?;
    }
    until(START, "it leads", async || {
        let holder = value(&cluster, "lease/mcwan", ".spec.holderIdentity").await;
        Ok(holder.is_ok_and(|holder| holder.starts_with(&format!("{name}_"))))
    })
    .await
}

/// One of the pods that the Deployment comes to.
async fn pod(cluster: &TestCluster) -> Result<Pod> {
    let pods: Api<Pod> = Api::namespaced(cluster.client(), SYSTEM);
    let mut found = None;
    until(START, "there is a pod", async || {
        found = pods.list(&ListParams::default()).await?.items.pop();
        Ok(found.is_some())
    })
    .await?;
    found.context("there is no pod")
}

/// Puts what the kubelet mounts into a root, and the API server's name, as no DNS is there.
fn mount_account(root: &Path, kubeconfig: &Path) -> Result<()> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let cluster = kubeconfig.clusters.into_iter().find_map(|named| named.cluster).context("no cluster")?;
    let user = kubeconfig.auth_infos.into_iter().find_map(|named| named.auth_info).context("no user")?;
    let folder = root.join(ACCOUNT);
    fs::create_dir_all(&folder)?;
    fs::copy(cluster.certificate_authority.context("no certificate authority")?, folder.join("ca.crt"))?;
    let token = serde_json::to_value(user)?["token"].as_str().context("no token")?.to_owned();
    fs::write(folder.join("token"), token)?;
    fs::write(folder.join("namespace"), SYSTEM)?;
    fs::create_dir(root.join("etc"))?;
    Ok(fs::write(root.join("etc/hosts"), "127.0.0.1 kubernetes.default.svc\n")?)
}

/// The environment that the kubelet would make.
fn environment(container: &Container, pod: &Pod) -> Result<BTreeMap<String, String>> {
    let mut environment = BTreeMap::from([
        ("KUBERNETES_SERVICE_HOST".to_owned(), "kubernetes.default.svc".to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), "6443".to_owned()),
    ]);
    for variable in container.env.iter().flatten() {
        let field = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let value = match field.map(|field| field.field_path.as_str()) {
            None => variable.value.clone(),
            Some("metadata.name") => pod.metadata.name.clone(),
            Some("metadata.namespace") => pod.metadata.namespace.clone(),
            Some(other) => panic!("{other}: not known here"),
        };
        environment.insert(variable.name.clone(), value.with_context(|| format!("{} is empty", variable.name))?);
    }
    Ok(environment)
}

/// The port and path that a probe asks.
fn endpoint(container: &Container, probe: &Probe) -> Result<(u16, String)> {
    let get = probe.http_get.as_ref().context("no HTTP probe")?;
    let name = serde_json::to_value(&get.port)?;
    let mut ports = container.ports.iter().flatten();
    let port = ports.find(|port| port.name.as_deref() == name.as_str()).context("the port has no name")?;
    Ok((port.container_port.try_into()?, get.path.clone().context("no path")?))
}

/// Whether a path answers 200.
fn is_ok(port: u16, path: &str) -> bool {
    let answer = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).and_then(|mut stream| {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: mcwan\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    });
    answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
}
