//! The real `CoreDNS`: it tells what the names of services mean.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context, Result};
use tokio::net::TcpStream;

use super::PATIENCE;
use crate::child::{Process, log_into, mortal};
use crate::cluster::TestCluster;
use crate::network::Network;
use crate::tools;

/// The port of DNS.
const PORT: u16 = 53;

/// Its service account, with the rights that it has on most clusters.
const RIGHTS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: coredns, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: system:coredns}
rules:
- {apiGroups: [''], resources: [services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: system:coredns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:coredns}
subjects: [{kind: ServiceAccount, name: coredns, namespace: kube-system}]
---
";

/// What it may read besides, as users of ours add it.
const MORE_RIGHTS: &str = include_str!("../../../manifests/coredns.yaml");

/// Where a cluster's pods ask.
pub(super) fn address(network: Network) -> Ipv4Addr {
    network.control_plane()
}

/// Starts it at that address, and waits until it listens.
pub(super) async fn start(cluster: &TestCluster) -> Result<Process> {
    cluster.apply(&format!("{RIGHTS}{MORE_RIGHTS}")).await?;
    let address = address(cluster.network());
    let file = cluster.folder().join("Corefile");
    let kubeconfig = cluster.kubeconfig("kube-system", "coredns").await?;
    fs::write(&file, corefile(address, &kubeconfig)).with_context(|| format!("cannot write {}", file.display()))?;
    let log = cluster.log("coredns");
    let mut command = mortal(tools::program("coredns")?);
    command.arg("-conf").arg(&file);
    log_into(&mut command, &log)?;
    let child = cluster.namespace().spawn(command).await?;
    let mut process = Process::new("coredns", child, log);
    let address = SocketAddr::from((address, PORT));
    let listens = async || Ok(cluster.namespace().perform(TcpStream::connect(address)).await?.is_ok());
    process.until(PATIENCE, "CoreDNS listens", listens).await?;
    Ok(process)
}

fn corefile(address: Ipv4Addr, kubeconfig: &Path) -> String {
    format!(
        ".:{PORT} {{
    bind {address}
    errors
    kubernetes cluster.local clusterset.local in-addr.arpa {{
        kubeconfig {}
        multicluster clusterset.local
    }}
}}
",
        kubeconfig.display()
    )
}
