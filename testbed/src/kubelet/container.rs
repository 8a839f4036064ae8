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
use crate::echo::Echo;
use crate::network::Host;

/// The label of a pod that was made for a Gateway.
const GATEWAY_LABEL: &str = "gateway.networking.k8s.io/gateway-name";

/// The kinds of pods that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The istio-agent with Envoy.
    Gateway,
    /// Echoes on the ports that the container names.
    Echo,
    /// Nothing.
    Empty,
}

/// What runs. It ends when this is dropped.
#[derive(Debug)]
pub(super) enum Running {
    Agent(Agent),
    Echoes { _listening: Vec<Echo> },
    Nothing,
}

impl Kind {
    /// What a Pod asks for. None: something that this kubelet leaves alone.
    pub(super) fn of(pod: &Pod) -> Option<Self> {
        if pod.labels().contains_key(GATEWAY_LABEL) {
            return Some(Self::Gateway);
        }
        let image = container(pod).ok()?.image.as_deref()?;
        match image {
            ECHO_IMAGE => Some(Self::Echo),
            EMPTY_IMAGE => Some(Self::Empty),
            _ => None,
        }
    }

    /// Starts it on a host of its own.
    pub(super) async fn start(self, node: &Node, pod: &Pod, host: &Host) -> Result<Running> {
        match self {
            Self::Gateway => Ok(Running::Agent(Agent::start(node, pod, host).await?)),
            Self::Echo => Ok(Running::Echoes { _listening: echoes(node, pod, host).await? }),
            Self::Empty => Ok(Running::Nothing),
        }
    }
}

impl Running {
    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> Result<bool> {
        match self {
            Self::Agent(agent) => agent.has_ended(),
            Self::Echoes { .. } | Self::Nothing => Ok(false),
        }
    }

    /// Asks it to end, and waits so long for it.
    pub(super) async fn stop(self, grace: Duration) -> Result<()> {
        match self {
            Self::Agent(agent) => agent.stop(grace).await,
            Self::Echoes { .. } | Self::Nothing => Ok(()),
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

async fn echoes(node: &Node, pod: &Pod, host: &Host) -> Result<Vec<Echo>> {
    let name = format!("{}/{}/{}", node.cluster_id, pod.namespace().unwrap_or_default(), pod.name_any());
    let mut echoes = Vec::new();
    for port in container(pod)?.ports.as_deref().unwrap_or_default() {
        let address = SocketAddr::from((host.address(), port.container_port.try_into().context("no port")?));
        echoes.push(host.namespace().perform(Echo::start_as(address, name.clone())).await??);
    }
    Ok(echoes)
}
