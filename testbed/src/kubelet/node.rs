//! The one node, and what it has for its pods.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::cluster::client;
use crate::network::Hosts;

/// The name of the node.
pub(crate) const NAME: &str = "node";

/// What a container may use that does not say: cores, and bytes of memory.
pub(super) const CORES: u64 = 2;
pub(super) const MEMORY: u64 = 4 << 30;

/// The node.
pub(super) struct Node {
    pub(super) client: Client,
    pub(super) hosts: Hosts,
    /// The name of the cluster.
    pub(super) cluster_id: String,
    folder: PathBuf,
}

impl Node {
    /// Registers the node. Its connections live in the runtime that this runs in.
    pub(super) async fn new(kubeconfig: PathBuf, hosts: Hosts, folder: PathBuf, cluster_id: String) -> Result<Self> {
        let node = Self { client: client(&kubeconfig).await?, hosts, cluster_id, folder };
        let nodes: Api<NodeObject> = Api::all(node.client.clone());
        let parameters = PatchParams::apply("kubelet").force();
        let head = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME,
            "labels": {"kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux"}}});
        nodes.patch(NAME, &parameters, &Patch::Apply(&head)).await?;
        let room = json!({"cpu": CORES.to_string(), "memory": MEMORY.to_string(), "pods": "200"});
        let status = json!({"apiVersion": "v1", "kind": "Node", "status": {
            "addresses": [{"type": "InternalIP", "address": node.address()}, {"type": "Hostname", "address": NAME}],
            "capacity": room, "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]}});
        nodes.patch_status(NAME, &parameters, &Patch::Apply(&status)).await?;
        Ok(node)
    }

    /// The node's own address.
    pub(super) fn address(&self) -> Ipv4Addr {
        self.hosts.network().control_plane()
    }

    /// The folder that stands for a pod's file system.
    pub(super) fn folder(&self, namespace: &str, pod: &str) -> PathBuf {
        self.folder.join(format!("{namespace}.{pod}"))
    }

    /// What runs in a pod logs here.
    pub(super) fn log(&self, namespace: &str, pod: &str) -> PathBuf {
        log(&self.folder, namespace, pod)
    }
}

pub(super) fn log(folder: &Path, namespace: &str, pod: &str) -> PathBuf {
    folder.join(format!("{namespace}.{pod}.log"))
}
