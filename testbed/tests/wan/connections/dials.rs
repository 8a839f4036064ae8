//! Whoever dials a far gateway itself gets what policies permit, and no more.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use kube::ResourceExt;
use mcwan_testbed::client::send;
use mcwan_testbed::namespace::Entrance;
use mcwan_testbed::wan::{TestWan, WanClient};

use super::permitted::{CONSUMER, EXPORTERS, Permitted, TIERS, Tier};
use crate::bypass::mk_intrusion;

/// An egress gateway's pod is let in on each tier that is permitted, and gets 403 on every other; a pod that is none
/// gets 403 on all.
pub(crate) async fn far_gateways_admit(wan: &TestWan, client: &WanClient, permitted: Permitted) -> Result<()> {
    let cluster = wan.cluster(CONSUMER);
    let pod = cluster.gateway_pods("secure", "mcwan-egress").await?.pop().context("an egress pod")?;
    let egress = cluster.kubelet().entrance("secure", &pod.name_any())?;
    let nothing = Permitted { near: &[], cloud: &[] };
    for (from, permitted) in [(egress, permitted), (client.namespace().entrance(), nothing)] {
        let mut told = Vec::new();
        let wait = wan.until("the far gateways admit what is permitted", async || {
            told = dial_all(wan, &from).await?;
            let is_due = |dial: &Dial| {
                let due = if permitted.has(dial.cluster, dial.tier) { (Some(200), true) } else { (Some(403), false) };
                (dial.status, dial.is_answered) == due
            };
            Ok(told.iter().all(is_due))
        });
        wait.await.with_context(|| format!("{told:?}"))?;
    }
    Ok(())
}

/// What comes of a request to a far gateway's pod at the port of a tier.
#[derive(Debug)]
struct Dial {
    cluster: u8,
    tier: Tier,
    status: Option<u16>,
    /// Whether the service has answered.
    is_answered: bool,
}

async fn dial_all(wan: &TestWan, from: &Entrance) -> Result<Vec<Dial>> {
    let mut dials = Vec::new();
    for cluster in EXPORTERS {
        for pod in wan.cluster(cluster).gateway_pods("secure", "mcwan-ingress").await? {
            let address = pod.status.and_then(|status| status.pod_ip).context("the far gateway has no address")?;
            let address: Ipv4Addr = address.parse()?;
            for tier in TIERS {
                let (to, request) = (SocketAddr::from((address, tier.port)), mk_intrusion());
                let answer = from.perform(async move { send(to, &request).await }).await?.ok();
                let is_answered = answer.as_ref().is_some_and(|answer| answer.echo_name().is_some());
                dials.push(Dial { cluster, tier, status: answer.map(|answer| answer.status), is_answered });
            }
        }
    }
    Ok(dials)
}
