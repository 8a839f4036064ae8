//! A pod with a sidecar: its mesh knows nothing of the name, and passes on what it does not know.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::child::mortal;
use mcwan_testbed::client::send_over;
use mcwan_testbed::namespace::Entrance;
use mcwan_testbed::wan::WanCluster;
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::objects::mk_file;
use crate::protocols::services::{DESK_HTTP, NAMESPACE, ensure_spoken};
use crate::scene::{LOW, Scene, mk_request};

const POD: &str = "sidecar";

/// What Istio's init container does by iptables, for the client alone: it calls from these ports, and the sidecar does not.
const CAPTURE: &str = "table ip sidecar { chain output { type nat hook output priority -100; \
    tcp sport 10000-10999 redirect to :15001; }; }";
const FIRST_PORT: u16 = 10_000;
const LAST_PORT: u16 = 10_999;

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// `desk` is exported by cluster 1, and cluster 2 has rules for it.
pub(crate) async fn sidecars_reach_the_name(scene: &Scene, name: &str, address: &str) -> Result<()> {
    let (wan, cluster) = (&scene.wan, scene.wan.cluster(2));
    cluster.apply(&mk_file(&[mk_pod(cluster).await?])).await?;
    let ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}";
    let ready = ["get", "pod", POD, "-n", NAMESPACE, "-o", ready];
    wan.until("the sidecar is ready", async || Ok(cluster.kubectl(&ready).await? == "True")).await?;
    let mut client = Client::new(cluster.kubelet().entrance(NAMESPACE, POD)?, name, address).await?;

    let before = wan.traffic();
    wan.until("ALLOW_ANY lets it pass", async || Ok(client.ask().await == Some(200))).await?;
    ensure_spoken(wan, &before, Some(LOW.1), name)?;

    let only = json!({"apiVersion": "networking.istio.io/v1", "kind": "Sidecar",
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {"workloadSelector": {"labels": {"app": POD}}, "outboundTrafficPolicy": {"mode": "REGISTRY_ONLY"}}});
    cluster.apply(&mk_file(&[only])).await?;
    wan.until("REGISTRY_ONLY refuses it", async || Ok(client.ask().await == Some(502))).await?;

    // As `docs/services.md` has it.
    let entry = json!({"apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry",
        "metadata": {"name": "desk-clusterset", "namespace": NAMESPACE}, "spec": {
            "hosts": [name], "addresses": [address], "resolution": "STATIC", "endpoints": [{"address": address}],
            "ports": [{"number": DESK_HTTP, "name": "http", "protocol": "HTTP"}]}});
    cluster.apply(&mk_file(&[entry])).await?;
    wan.until("a ServiceEntry lets it pass", async || Ok(client.ask().await == Some(200))).await?;
    for (kind, name) in [("pod", POD), ("sidecars.networking.istio.io", "default"), ("serviceentry", "desk-clusterset")]
    {
        cluster.kubectl(&["delete", kind, name, "-n", NAMESPACE]).await?;
    }
    Ok(())
}

/// The pod of a gateway, but that its agent is told to be a sidecar.
async fn mk_pod(cluster: &WanCluster) -> Result<Value> {
    let gateway = cluster.gateway_pods(NAMESPACE, "mcwan-egress").await?.pop().context("there is no gateway")?;
    let mut spec = serde_json::to_value(gateway.spec)?;
    let fields = spec.as_object_mut().context("a pod has a spec")?;
    // Nobody waits for a sidecar to be admitted elsewhere.
    for field in ["nodeName", "readinessGates"] {
        fields.remove(field);
    }
    let arguments = spec.pointer_mut("/containers/0/args").and_then(Value::as_array_mut).context("no arguments")?;
    let role = arguments.get_mut(1).context("too few arguments")?;
    ensure!(*role == "router", "the gateway is a {role}");
    *role = "sidecar".into();
    Ok(json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": POD, "namespace": NAMESPACE, "labels": {"app": POD}}}))
}

/// A client in the pod.
struct Client<'n> {
    pod: Entrance,
    name: &'n str,
    at: SocketAddr,
    port: u16,
}

impl<'n> Client<'n> {
    async fn new(pod: Entrance, name: &'n str, address: &str) -> Result<Self> {
        let mut command = mortal("nft");
        command.arg(CAPTURE);
        let mut child = pod.spawn(command).await.context("`nft` is missing: run `cargo xtask setup`")?;
        ensure!(spawn_blocking(move || child.wait()).await??.success(), "nft does not take the rule");
        Ok(Self { pod, name, at: SocketAddr::new(address.parse()?, DESK_HTTP), port: FIRST_PORT })
    }

    /// What status a request to the name is answered with; none: it is not answered.
    async fn ask(&mut self) -> Option<u16> {
        let (at, from, request) = (self.at, self.port, mk_request("GET", self.name, "/low"));
        self.port = if from == LAST_PORT { FIRST_PORT } else { from + 1 };
        let answer = async move {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, from)))?;
            send_over(socket.connect(at).await?, &request).await
        };
        Some(self.pod.perform(timeout(DEADLINE, answer)).await.ok()?.ok()?.ok()?.status)
    }
}
