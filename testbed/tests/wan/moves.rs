//! What is where changes: tiers' ports, namespaces. Requests may be lost meanwhile, but none takes another tier than its
//! own.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wan::{Recording, TestWan, WanClient};

use crate::objects::{mk_file, mk_tier};
use crate::scene::{HIGH, LOW, apply_import, apply_service, mk_request};

/// How many requests in a row must be answered by each gateway.
const STEADY: usize = 20;

/// The tiers' ports at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    high: u16,
    low: u16,
}

/// The ports of the payment example, and others.
const USUAL: Ports = Ports { high: HIGH.1, low: LOW.1 };
const SWAPPED: Ports = Ports { high: LOW.1, low: HIGH.1 };
const OTHER: Ports = Ports { high: 31_121, ..USUAL };

/// Which ports the tiers have next, and the order in which the clusters are told.
type Move = (Ports, [u8; 2]);

/// The tiers swap their ports.
pub(crate) const SWAP: [Move; 1] = [(SWAPPED, [1, 2])];

/// One tier gets another port and has its own again, and so do both.
pub(crate) const EVERY_MOVE: [Move; 4] = [(OTHER, [1, 2]), (USUAL, [2, 1]), SWAP[0], (USUAL, [2, 1])];

/// Requests of both tiers, one after the other and numbered.
struct Numbered<'w> {
    wan: &'w TestWan,
    client: &'w WanClient,
    number: usize,
    gateways: BTreeMap<usize, SocketAddr>,
}

/// The tiers' policies change in one cluster after the other, in either order. Where the two do not agree, nothing crosses.
pub(crate) async fn ports_of_tiers_change(wan: &TestWan, client: &WanClient, moves: &[Move]) -> Result<()> {
    let mut before = USUAL;
    for &(after, order) in moves {
        let mut requests = Numbered { wan, client, number: 0, gateways: BTreeMap::new() };
        wan.record();
        requests.until_steady().await?;
        let told = requests.number;
        for cluster in order {
            let tiers = [mk_tier(HIGH.0, after.high), mk_tier(LOW.0, after.low)];
            wan.cluster(cluster).apply(&mk_file(&tiers)).await?;
            requests.send().await?;
        }
        requests.until_crossing_by(after).await?;
        requests.until_steady().await?;
        let gateways = requests.gateways;
        let lost = judge(&wan.recorded(), &gateways, told, before, after)
            .with_context(|| format!("{before:?} became {after:?}, in clusters {order:?}"))?;
        eprintln!("measured: {before:?} became {after:?}: {lost} of {} requests did not cross", 2 * requests.number);
        before = after;
    }
    Ok(())
}

/// A namespace goes with everything in it, and comes again: in the importing cluster, then in the exporting one.
pub(crate) async fn a_namespace_is_made_again(wan: &TestWan, client: &WanClient) -> Result<()> {
    for cluster in [2, 1] {
        let mut requests = Numbered { wan, client, number: 0, gateways: BTreeMap::new() };
        wan.record();
        requests.until_steady().await?;
        wan.cluster(cluster).kubectl(&["delete", "namespace", "secure", "--timeout=2m"]).await?;
        requests.send().await?;
        match cluster {
            1 => apply_service(wan, 1).await?,
            _ => apply_import(wan).await?,
        }
        requests.until_steady().await?;
        judge(&wan.recorded(), &requests.gateways, requests.number, USUAL, USUAL)
            .with_context(|| format!("the namespace was made again in cluster {cluster}"))?;
    }
    Ok(())
}

impl Numbered<'_> {
    /// Sends one request over each tier, and says whether both were answered.
    async fn send(&mut self) -> Result<bool> {
        let gateways = self.wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?;
        self.number += 1;
        let Some(gateway) = gateways.get(self.number % gateways.len().max(1)) else { return Ok(false) };
        self.gateways.insert(self.number, *gateway);
        let mut answered = 0;
        for path in ["/payment", "/stats"] {
            let request = mk_request("GET", "payment.secure:8080", &format!("{path}/{}", self.number));
            let answer = self.client.send(*gateway, &request).await;
            answered += usize::from(answer.is_ok_and(|answer| answer.status == 200));
        }
        Ok(answered == 2)
    }

    /// Sends requests until many in a row are answered.
    async fn until_steady(&mut self) -> Result<()> {
        let (wan, mut row) = (self.wan, 0);
        wan.until("all requests are answered", async || {
            row = if self.send().await? { row + 1 } else { 0 };
            Ok(row >= STEADY)
        })
        .await
    }

    /// Sends requests until they use these ports.
    async fn until_crossing_by(&mut self, ports: Ports) -> Result<()> {
        let wan = self.wan;
        wan.until("requests use the new ports", async || {
            let before = wan.traffic();
            if !self.send().await? {
                return Ok(false);
            }
            let used = wan.traffic().since(&before).ports(2, 1);
            Ok(used.contains_key(&ports.high) && used.contains_key(&ports.low) && is_by(wan, self, ports).await?)
        })
        .await
    }
}

/// Whether a request over a tier alone uses its port alone.
async fn is_by(wan: &TestWan, requests: &mut Numbered<'_>, ports: Ports) -> Result<bool> {
    let gateways = wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?;
    requests.number += 1;
    for gateway in gateways {
        let before = wan.traffic();
        requests.gateways.insert(requests.number, gateway);
        let path = format!("/payment/{}", requests.number);
        let answer = requests.client.send(gateway, &mk_request("GET", "payment.secure:8080", &path)).await?;
        let used = wan.traffic().since(&before).ports(2, 1);
        let port = used.iter().max_by_key(|(_, count)| count.bytes).map(|(port, _)| *port);
        if answer.status != 200 || port != Some(ports.high) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Looks at what crossed: with each gateway the ports of before come first and then those of after, those of one
/// cluster's policy never mixed with the other's. Gives how many requests did not cross.
fn judge(
    recording: &Recording,
    gateways: &BTreeMap<usize, SocketAddr>,
    told: usize,
    before: Ports,
    after: Ports,
) -> Result<usize> {
    // Which ports each numbered request of a tier used.
    let mut used: BTreeMap<(SocketAddr, usize), BTreeMap<String, Vec<u16>>> = BTreeMap::new();
    for speech in recording.speeches(2, 1) {
        for request in speech.requests().context("something else than requests crossed")? {
            let mut parts = request.path.split('/').skip(1);
            let (Some(tier), Some(number)) = (parts.next(), parts.next()) else { continue };
            let number: usize = number.parse()?;
            let gateway = gateways.get(&number).context("a request crossed that was not sent")?;
            used.entry((*gateway, number)).or_default().entry(tier.to_owned()).or_default().push(speech.port);
        }
    }
    let mut is_after: BTreeMap<SocketAddr, bool> = BTreeMap::new();
    let mut crossed = 0;
    for ((gateway, number), tiers) in &used {
        for (tier, ports) in tiers {
            crossed += 1;
            let of = |all: Ports| if tier == "payment" { all.high } else { all.low };
            let is_new = is_after.entry(*gateway).or_insert(false);
            for port in ports {
                // A tier whose port stays says nothing of the time.
                if of(before) == of(after) {
                    ensure!(*port == of(before), "request {number} for /{tier} took port {port}");
                    continue;
                }
                *is_new = *is_new || *port == of(after) && *number > told;
                let expected = if *is_new { of(after) } else { of(before) };
                ensure!(*port == expected, "request {number} (told after {told}) for /{tier} took port {port}");
            }
        }
    }
    Ok((2 * gateways.len()).saturating_sub(crossed))
}
