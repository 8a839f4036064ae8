//! The real kube-proxy: it leads whoever calls the address of a Service to a pod.

use std::net::{Ipv4Addr, SocketAddrV4};

use anyhow::Result;

use super::PATIENCE;
use crate::child::{Process, log_into, mortal};
use crate::client::{self, Request};
use crate::cluster::TestCluster;
use crate::kubelet::NODE;
use crate::tools;

/// Its service account, and the role of Kubernetes' own that says what it may read.
const RIGHTS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: kube-proxy, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kube-proxy}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:node-proxier}
subjects: [{kind: ServiceAccount, name: kube-proxy, namespace: kube-system}]
";

/// Where it says whether it has done what it was told. Every namespace has this for itself.
const HEALTH: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 10_256);

/// Starts it where all packets of pods pass, and waits until it knows the Services.
pub(super) async fn start(cluster: &TestCluster) -> Result<Process> {
    cluster.apply(RIGHTS).await?;
    let log = cluster.log("kube-proxy");
    let mut command = mortal(tools::program("kube-proxy")?);
    command.arg("--kubeconfig").arg(cluster.kubeconfig("kube-system", "kube-proxy").await?);
    command.args(["--proxy-mode=nftables", "--hostname-override", NODE]);
    command.arg(format!("--cluster-cidr={}", cluster.network()));
    command.arg(format!("--healthz-bind-address={HEALTH}"));
    // These are the machine's, and not of the namespace.
    command.args(["--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0s"]);
    command.arg("--conntrack-tcp-timeout-close-wait=0s");
    log_into(&mut command, &log)?;
    let child = cluster.namespace().spawn(command).await?;
    let mut process = Process::new("kube-proxy", child, log);
    let request =
        Request { method: "GET".into(), host: Some("kube-proxy".into()), path: "/healthz".into(), headers: Vec::new() };
    let is_healthy = async || {
        let request = request.clone();
        let answer = cluster.namespace().perform(async move { client::send(HEALTH.into(), &request).await }).await?;
        Ok(answer.is_ok_and(|answer| answer.status == 200))
    };
    process.until(PATIENCE, "kube-proxy knows the Services", is_healthy).await?;
    Ok(process)
}
