//! What runs in a pod.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;

use super::agent::Agent;
use super::node::Node;
use super::probe::Probe;
use super::{ECHO_IMAGE, EMPTY_IMAGE};
use crate::network::Host;
use crate::upstream::{Protocol, Upstream};

/// What an istio-agent is told to be first, in a gateway's pod as in one with a sidecar.
const PROXY: &str = "proxy";

/// The kinds of pods that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerKind {
    /// The istio-agent with Envoy.
    Agent,
    /// Echoes, or what else the container's ports are named after.
    Echo,
    /// Nothing.
    Empty,
}

/// What runs. It ends when this is dropped.
#[derive(Debug)]
pub(super) enum Running {
    Agent(Agent),
    Upstreams { _listening: Vec<Upstream> },
    Nothing,
}

impl ContainerKind {
    /// What a Pod asks for. None: something that this kubelet leaves alone.
    pub(super) fn of(pod: &Pod) -> Option<Self> {
        let container = container(pod).ok()?;
        if container.args.iter().flatten().next().is_some_and(|first| first == PROXY) {
            return Some(Self::Agent);
        }
        match container.image.as_deref()? {
            ECHO_IMAGE => Some(Self::Echo),
            EMPTY_IMAGE => Some(Self::Empty),
            _ => None,
        }
    }

    /// Starts it on a host of its own.
    pub(super) async fn start(self, node: &Node, pod: &Pod, host: &Host) -> Result<Running> {
        match self {
            Self::Agent => Ok(Running::Agent(Agent::start(node, pod, container(pod)?, host).await?)),
            Self::Echo => Ok(Running::Upstreams { _listening: upstreams(node, pod, host).await? }),
            Self::Empty => Ok(Running::Nothing),
        }
    }
}

impl Running {
    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> Result<bool> {
        match self {
            Self::Agent(agent) => agent.has_ended(),
            Self::Upstreams { .. } | Self::Nothing => Ok(false),
        }
    }

    /// Asks it to end, and waits so long for it.
    pub(super) async fn stop(self, grace: Duration) -> Result<()> {
        match self {
            Self::Agent(agent) => agent.stop(grace).await,
            Self::Upstreams { .. } | Self::Nothing => Ok(()),
        }
    }
}

/// The pod's one container.
pub(super) fn container(pod: &Pod) -> Result<&Container> {
    let spec = pod.spec.as_ref().context("the Pod has no spec")?;
    spec.containers.first().context("the Pod has no container")
}

/// What tells whether a pod takes requests; none: it does once it runs.
pub(super) fn probe(pod: &Pod, host: &Host) -> Option<Probe> {
    let probe = container(pod).ok()?.readiness_probe.as_ref()?;
    Probe::new(probe, host.address())
}

async fn upstreams(node: &Node, pod: &Pod, host: &Host) -> Result<Vec<Upstream>> {
    let name = format!("{}/{}/{}", node.cluster_id, pod.namespace().unwrap_or_default(), pod.name_any());
    let mut upstreams = Vec::new();
    for port in container(pod)?.ports.as_deref().unwrap_or_default() {
        let address = SocketAddr::from((host.address(), port.container_port.try_into().context("no port")?));
        let listen = Protocol::of_port(port).listen(address, name.clone());
        upstreams.push(host.namespace().perform(listen).await??);
    }
    Ok(upstreams)
}
