//! A stand-in for the kubelet: it runs the pods that the control plane makes.
//!
//! The gateways' pods are real, as far as it matters to a mesh: the real istio-agent with the real Envoy, in network,
//! mount and process namespaces of their own, with the environment, the arguments and the volumes that the Pod
//! asks for. There is one node; it has room for everything.

mod agent;
mod container;
mod downward;
mod environment;
mod life;
mod node;
mod order;
mod probe;
mod quantity;
mod register;
mod reporter;
mod status;
mod volumes;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::cluster::TestCluster;
use crate::namespace::Entrance;
use crate::network::Hosts;
use container::ContainerKind;
pub(crate) use node::NAME as NODE;
use node::Node;
use order::Order;
use register::Register;

/// How long after a failure the API server is asked again.
const RETRY: Duration = Duration::from_millis(250);

/// The image of a pod in which an [`Echo`](crate::echo::Echo) listens on each of the container's ports, or what the
/// port is named after: see [`Protocol::of_port`](crate::upstream::Protocol::of_port).
pub const ECHO_IMAGE: &str = "mcwan.test/echo";

/// The image of a pod in which nothing runs; a test that wants something there starts it by
/// [`Kubelet::entrance`].
pub const EMPTY_IMAGE: &str = "mcwan.test/empty";

/// A running kubelet. Its pods end when this is dropped.
#[derive(Debug)]
pub struct Kubelet {
    register: Register,
    hosts: Hosts,
    folder: PathBuf,
    watching: AbortHandle,
}

impl Kubelet {
    /// Starts it, with its node.
    ///
    /// # Errors
    /// The API server does not take the node.
    pub async fn start(cluster: &TestCluster, cluster_id: &str) -> Result<Self> {
        let folder = cluster.folder().join("pods");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let hosts = Hosts::new(cluster.network(), cluster.namespace().entrance());
        let (register, kubeconfig) = (Register::default(), cluster.admin_kubeconfig());
        let (its_hosts, its_folder, cluster_id) = (hosts.clone(), folder.clone(), cluster_id.to_owned());
        let node = cluster.namespace().perform(Node::new(kubeconfig, its_hosts, its_folder, cluster_id)).await??;
        let work = watch(Arc::new(node), register.clone());
        let watching = cluster.namespace().run(move || tokio::spawn(work).abort_handle()).await?;
        Ok(Self { register, hosts, folder, watching })
    }

    /// Kills what runs in a pod, as `kill -9` does. It starts again.
    ///
    /// # Errors
    /// There is no such pod.
    pub fn kill(&self, namespace: &str, pod: &str) -> Result<()> {
        self.register.order(namespace, pod, Order::Kill)
    }

    /// A way into a pod's network.
    ///
    /// # Errors
    /// There is no such pod, or it does not run yet.
    pub fn entrance(&self, namespace: &str, pod: &str) -> Result<Entrance> {
        self.register.entrance(namespace, pod)
    }

    /// What runs in a pod logs here, also what ran there before it was killed.
    pub fn log(&self, namespace: &str, pod: &str) -> PathBuf {
        node::log(&self.folder, namespace, pod)
    }

    /// What gives pods, and others, their addresses.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Follows the pods, and lets them live. All end with this future.
async fn watch(node: Arc<Node>, register: Register) {
    let pods: Api<Pod> = Api::all(node.client.clone());
    let mut events = pin!(watcher(pods, watcher::Config::default()));
    let mut lives = JoinSet::new();
    let mut listed = Vec::new();
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            Some(_) = lives.join_next() => continue,
        };
        match event {
            Some(Ok(Event::Init)) => listed.clear(),
            Some(Ok(Event::InitApply(pod))) => {
                listed.push(pod.uid().unwrap_or_default());
                follow(&node, &register, &mut lives, pod);
            }
            Some(Ok(Event::InitDone)) => register.keep_only(&listed),
            Some(Ok(Event::Apply(pod))) => follow(&node, &register, &mut lives, pod),
            Some(Ok(Event::Delete(pod))) => register.gone(&pod.uid().unwrap_or_default()),
            Some(Err(_)) => sleep(RETRY).await,
            None => return,
        }
    }
}

/// Does what a Pod as it is now asks for.
fn follow(node: &Arc<Node>, register: &Register, lives: &mut JoinSet<()>, pod: Pod) {
    let uid = pod.uid().unwrap_or_default();
    let deletion = pod.metadata.deletion_timestamp.is_some();
    if register.knows(&uid) {
        if deletion {
            let seconds = pod.metadata.deletion_grace_period_seconds.and_then(|seconds| seconds.try_into().ok());
            register.tell(&uid, Order::End(Duration::from_secs(seconds.unwrap_or_default())));
        } else {
            register.tell(&uid, Order::Gates(status::gates(&pod)));
        }
        return;
    }
    let Some(kind) = ContainerKind::of(&pod) else { return };
    if deletion {
        lives.spawn(life::remove(Arc::clone(node), pod));
        return;
    }
    let (sender, orders) = mpsc::unbounded_channel();
    register.add(&pod, sender);
    lives.spawn(life::live(Arc::clone(node), register.clone(), pod, kind, orders));
}
