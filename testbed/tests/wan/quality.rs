//! Rules that go by what tiers promise: requests leave a tier that does not keep it, come back, and nothing is lost but what
//! was sent into a hole; whoever else dies meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mcwan_testbed::echo::DELAY_HEADER;
use mcwan_testbed::wan::{Impairment, StreamPlan, Streams, TestWan, WanClient, Ways};
use serde_json::{Value, json};

use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_namespace, mk_service, mk_tier};
use crate::scene::{HIGH, LOW, Scene, mk_request};

pub(crate) const NAMESPACE: &str = "quality";
const HOST: &str = "payment.quality:8080";
const PORT: u16 = 8080;

/// A tier that promises to lose little; the others promise not to be late.
const SURE: (&str, u16) = ("sd-wan-sure", 31_113);

/// Far more than a busy machine adds, and less than the delay does both ways. A probe on a new connection, which takes both
/// ways twice, is answered within the three times of it for which it waits.
const PROMISE_MS: u32 = 800;
pub(crate) const LATE: Impairment = Impairment::late(Duration::from_millis(500));
const LOSSES: Impairment = Impairment::NONE.with_loss(20);

/// So many requests in a row tell what all do: connections are shared out between both egress gateways.
const ROW: usize = 40;

/// What is asked all the time: the path's beginning, requests a second, and how late the application answers. One is much
/// later than the tier promises to be, which is none of the tier's business.
pub(crate) const QUICK: usize = 0;
pub(crate) const SLOW: usize = 1;
pub(crate) const SURELY: usize = 2;
const STREAMS: [(&str, u32, u32); 3] = [("/measured/quick", 20, 0), ("/measured/slow", 5, 1_200), ("/sure", 20, 0)];

/// For rules that refuse rather than break a promise.
const REFUSED: &str = "/refused";

/// The tiers promise something from now on. At the end only gateways and what they lead to are left.
pub(crate) async fn rules_go_by_measured_quality(scene: &mut Scene) -> Result<()> {
    let (mut streams, gateways) = start(&scene.wan, &scene.client).await?;
    let wan = &mut scene.wan;
    let start = Instant::now();
    for stream in [QUICK, SLOW] {
        until_taken(wan, &mut streams, stream, HIGH, start, "it keeps its promise").await?;
    }
    let moved = |streams: &Streams| streams.streams()[SLOW].since(start).any(|over| over.port == Some(LOW.1));
    ensure!(!moved(&streams), "a slow application moves requests");
    until_taken(wan, &mut streams, SURELY, SURE, start, "it loses nothing").await?;

    wan.impair(Ways::of_port(HIGH.1), LATE);
    until_taken(wan, &mut streams, QUICK, LOW, Instant::now(), "the other is late").await?;
    wan.impair(Ways::of_port(HIGH.1), Impairment::NONE);
    until_taken(wan, &mut streams, QUICK, HIGH, Instant::now(), "it is in time again").await?;
    let lost = [QUICK, SLOW].map(|stream| streams.streams()[stream].lost_since(start));
    ensure!(lost == [0, 0], "{lost:?} requests are lost though the tier loses nothing");

    all_others_die(wan);
    a_hole_opens_and_closes(wan, &mut streams).await?;
    wan.impair(Ways::of_port(SURE.1), LOSSES);
    until_taken(wan, &mut streams, SURELY, LOW, Instant::now(), "the other loses much").await?;
    no_tier_keeps_its_promise(scene, &mut streams, &gateways).await
}

/// Lets cluster 2 import the service, and starts its requests. Gives the egress gateways that they go through, too.
pub(crate) async fn start(wan: &TestWan, client: &WanClient) -> Result<(Streams, Vec<SocketAddr>)> {
    let late = json!({"latencyMs": PROMISE_MS});
    let tiers = [mk_promise(HIGH, &late), mk_promise(LOW, &late), mk_promise(SURE, &json!({"lossPercent": "2"}))];
    wan.apply_everywhere(&mk_file(&tiers)).await?;
    let service = [mk_namespace(NAMESPACE), mk_echo(NAMESPACE, "payment", 1), mk_service(NAMESPACE, "payment")];
    wan.cluster(1).apply(&mk_file(&service)).await?;
    wan.cluster(1).apply(&mk_file(&[mk_export(NAMESPACE, "payment", LOW.0)])).await?;
    wan.cluster(2)
        .apply(&mk_file(&[mk_namespace(NAMESPACE), mk_import(NAMESPACE, "payment", &mk_rules("5s"))]))
        .await?;
    let mut to = Vec::new();
    wan.until("every rule is answered by every egress gateway", async || {
        to = wan.cluster(2).endpoints(NAMESPACE, "payment-clusterset", PORT).await?;
        for (gateway, path) in to.iter().flat_map(|to| ["/measured", REFUSED, "/sure"].map(|path| (to, path))) {
            if !client.send(*gateway, &mk_request("GET", HOST, path)).await.is_ok_and(|answer| answer.status == 200) {
                return Ok(false);
            }
        }
        Ok(to.len() == 2)
    })
    .await?;
    let mut named = None;
    wan.until("the service has an address", async || {
        named = client
            .resolve("payment.quality.svc.clusterset.local", "A")
            .await?
            .first()
            .map(|it| it.parse())
            .transpose()?;
        Ok(named.is_some())
    })
    .await?;
    let address = SocketAddr::new(named.context("there is no address")?, PORT);
    let plans = STREAMS.map(|(prefix, rate, late)| StreamPlan {
        host: HOST.to_owned(),
        prefix: prefix.to_owned(),
        headers: vec![(DELAY_HEADER.to_owned(), late.to_string().into_bytes())],
        to: vec![address],
        rate,
        most: 10_000,
    });
    Ok((Streams::start(wan, client, plans.into()).await?, to))
}

/// In both clusters; the registry, too.
fn all_others_die(wan: &mut TestWan) {
    wan.oci_registry().stop();
    for cluster in [1, 2] {
        wan.cluster_mut(cluster).kill_controllers();
        wan.cluster_mut(cluster).istiod_mut().kill();
        wan.cluster_mut(cluster).stop_api_server();
    }
}

/// What is lost was sent into the hole.
async fn a_hole_opens_and_closes(wan: &TestWan, streams: &mut Streams) -> Result<()> {
    let before = Instant::now();
    wan.impair(Ways::of_port(HIGH.1), Impairment::HOLE);
    until_taken(wan, streams, QUICK, LOW, Instant::now(), "the other loses all").await?;
    wan.impair(Ways::of_port(HIGH.1), Impairment::NONE);
    let closed = Instant::now();
    until_taken(wan, streams, QUICK, HIGH, closed, "it loses nothing any more").await?;
    for stream in [QUICK, SLOW] {
        let stream = &streams.streams()[stream];
        let elsewhere = stream.since(before).filter(|over| over.status != 200 && over.port != Some(HIGH.1)).count();
        let (lost, later) = (stream.lost_since(before), stream.lost_since(closed));
        eprintln!("measured: {lost} requests are lost in a hole, {later} later");
        ensure!((elsewhere, later) == (0, 0), "{elsewhere} requests are lost elsewhere, {later} later");
    }
    Ok(())
}

/// Both are late. Rules say whether requests are refused then.
async fn no_tier_keeps_its_promise(scene: &Scene, streams: &mut Streams, gateways: &[SocketAddr]) -> Result<()> {
    let wan = &scene.wan;
    wan.impair(Ways::of_port(HIGH.1), LATE);
    wan.impair(Ways::of_port(LOW.1), LATE);
    wan.until("requests are refused where rules want it so", async || {
        for gateway in gateways {
            let Ok(answer) = scene.client.send(*gateway, &mk_request("GET", HOST, REFUSED)).await else {
                return Ok(false);
            };
            let says = String::from_utf8_lossy(&answer.body).into_owned();
            if answer.status != 503 || !says.contains("keeps its promise") {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await?;
    until_taken(wan, streams, QUICK, HIGH, Instant::now(), "no other keeps its promise").await
}

/// Waits until all requests of a stream that are sent since take a tier, and are answered.
pub(crate) async fn until_taken(
    wan: &TestWan,
    streams: &mut Streams,
    stream: usize,
    (tier, port): (&str, u16),
    since: Instant,
    when: &str,
) -> Result<()> {
    let prefix = STREAMS[stream].0;
    wan.until(&format!("requests for {prefix} take {tier}: {when}"), async || {
        streams.look(wan);
        let last = streams.streams()[stream].last(ROW, since);
        Ok(last.is_some_and(|last| last.iter().all(|over| over.status == 200 && over.port == Some(port))))
    })
    .await?;
    eprintln!("measured: requests for {prefix} take {tier} after {:?}, as {when}", since.elapsed());
    Ok(())
}

pub(crate) fn mk_promise((name, port): (&str, u16), sla: &Value) -> Value {
    let mut tier = mk_tier(name, port);
    tier["spec"]["sla"] = sla.clone();
    tier["spec"]["probe"] = json!({"interval": "200ms"});
    tier
}

/// Requests may take so long.
pub(crate) fn mk_rules(timeout: &str) -> Value {
    let rule = |path: &str, tier: &str, when_none: &str| {
        json!({
            "matches": [{"path": {"type": "PathPrefix", "value": path}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}],
            "timeouts": {"request": timeout},
            "sla": {"fallbacks": [LOW.0], "whenNoneInSla": when_none},
        })
    };
    json!([rule("/measured", HIGH.0, "Preferred"), rule(REFUSED, HIGH.0, "Refuse"), rule("/sure", SURE.0, "Preferred")])
}
