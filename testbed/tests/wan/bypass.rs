//! The far ingress gateway takes requests from the egress gateways of its namespace, and from nobody else.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use mcwan_testbed::client::Request;
use mcwan_testbed::namespace::Entrance;
use mcwan_testbed::network::Network;
use mcwan_testbed::wan::TestWan;
use mcwan_testbed::wan::play::Play;
use serde_json::json;

use crate::attempt::Attempt;
use crate::objects::{mk_echo, mk_file, mk_import, mk_namespace, mk_service};
use crate::scene::{HIGH, LOW, mk_request};

/// How many requests a new pod must have answered before it is said to be admitted.
const ENOUGH: u32 = 50;

/// What would be answered if the far gateway took it: the rules of the importing cluster have nothing for it.
pub(crate) fn mk_intrusion() -> Request {
    let port = ("x-mcwan-port".to_owned(), b"8080".to_vec());
    Request { headers: vec![port], ..mk_request("GET", "payment.secure.svc.cluster.local", "/") }
}

fn address(pod: &Pod) -> Option<Ipv4Addr> {
    pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok()
}

/// The far ingress gateway: its pods at the ports of both tiers.
async fn far_gateways(wan: &TestWan) -> Result<Vec<SocketAddr>> {
    let pods = wan.cluster(1).gateway_pods("secure", "mcwan-ingress").await?;
    let addresses: Vec<_> = pods.iter().filter_map(address).collect();
    ensure!(addresses.len() == 2, "the far gateway is at {addresses:?}");
    Ok(addresses.into_iter().flat_map(|ip| [HIGH.1, LOW.1].map(|port| (ip, port).into())).collect())
}

/// A pod's own request to every one of them gets this status from the gateway itself, or from the service.
async fn all_answer(wan: &TestWan, from: &Entrance, status: u16) -> Result<()> {
    for gateway in far_gateways(wan).await? {
        let attempt = Attempt::make(wan, from, gateway, &mk_intrusion()).await?;
        let expected = Attempt { status: Some(status), echo: attempt.echo.clone(), ports: vec![gateway.port()] };
        ensure!(attempt == expected && attempt.echo.is_some() == (status == 200), "{gateway}: {attempt:?}");
    }
    Ok(())
}

/// A pod that talks to the far gateway itself is refused there, on the port of each tier.
pub(crate) async fn a_pod_cannot_go_past_its_egress_gateway(wan: &TestWan, play: &Play) -> Result<()> {
    all_answer(wan, &play.client().namespace().entrance(), 403).await?;
    // The same request from an egress pod's address is let in: it is the address that counts.
    let pod = wan.cluster(2).gateway_pods("secure", "mcwan-egress").await?.pop().context("an egress pod")?;
    all_answer(wan, &wan.cluster(2).kubelet().entrance("secure", &pod.name_any())?, 200).await
}

/// The egress gateway of another namespace is known to the registry, and is refused all the same.
pub(crate) async fn the_egress_gateway_of_another_namespace_is_refused(wan: &TestWan) -> Result<()> {
    let rules = json!([{"backendRefs": [{"name": "shop-v1", "port": 8080}]}]);
    let objects = [
        mk_namespace("other"),
        mk_echo("other", "shop-v1", 1),
        mk_service("other", "shop-v1"),
        mk_import("other", "shop", &rules),
    ];
    let cluster = wan.cluster(2);
    cluster.apply(&mk_file(&objects)).await?;
    wan.until("the other gateway serves its own", async || {
        let Some(gateway) = cluster.endpoints("other", "shop-clusterset", 8080).await?.pop() else { return Ok(false) };
        let client = wan.client(2).await?;
        Ok(client.send(gateway, &mk_request("GET", "shop.other", "/")).await.is_ok_and(|answer| answer.status == 200))
    })
    .await?;
    let pod = cluster.gateway_pods("other", "mcwan-egress").await?.pop().context("the other gateway's pod")?;
    let ip = address(&pod).context("an address")?.to_string();
    wan.until("the registry knows the other gateway", async || {
        let arguments = ["get", "wancluster", "cluster-2", "--namespace", "mc-wan-registry", "--output", "json"];
        Ok(wan.cluster(1).kubectl(&arguments).await?.contains(&ip))
    })
    .await?;
    all_answer(wan, &cluster.kubelet().entrance("other", &pod.name_any())?, 403).await
}

/// An egress pod is deleted. The one in its place is admitted by the far gateway before it takes requests, and the old
/// address is not for long.
pub(crate) async fn a_replaced_egress_pod_is_admitted_and_the_old_one_is_not(wan: &TestWan, play: &Play) -> Result<()> {
    let cluster = wan.cluster(2);
    let before: Vec<IpAddr> = play.gateways(wan).await?.iter().map(SocketAddr::ip).collect();
    let pod = cluster.gateway_pods("secure", "mcwan-egress").await?.pop().context("an egress pod")?;
    let (name, old) = (pod.name_any(), address(&pod).context("an address")?);
    cluster.kubectl(&["delete", "pod", "--namespace", "secure", "--wait=false", &name]).await?;
    let deleted = Instant::now();
    let mut answers = BTreeMap::<_, u32>::new();
    wan.until("the new pod has answered often", async || {
        for gateway in play.gateways(wan).await? {
            let request = mk_request("GET", "payment.secure:8080", "/payment");
            let status = play.client().send(gateway, &request).await.map(|answer| answer.status).ok();
            let is_new = !before.contains(&gateway.ip());
            ensure!(!is_new || status == Some(200), "the new pod answers {status:?} after {answers:?}");
            *answers.entry((is_new, status)).or_default() += 1;
        }
        Ok(answers.get(&(true, Some(200))).is_some_and(|often| *often >= ENOUGH))
    })
    .await?;
    eprintln!("measured: an egress pod was replaced; (by the new one, status) → answers: {answers:?}");
    wan.until("the old pod is gone", async || {
        Ok(cluster.gateway_pods("secure", "mcwan-egress").await?.iter().all(|pod| pod.name_any() != name))
    })
    .await?;
    // Somebody else gets its address.
    let heir = Network::of_cluster(2).attach(&cluster.namespace().entrance(), old.octets()[3]).await?;
    wan.until("the old address is refused", async || Ok(all_answer(wan, &heir.entrance(), 403).await.is_ok())).await?;
    eprintln!("measured: {:?} after its pod was deleted an address is admitted no more", deleted.elapsed());
    Ok(())
}
