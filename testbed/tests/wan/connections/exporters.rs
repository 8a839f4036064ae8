//! Two clusters export a service, and the path to one of them does not keep what its tier promises.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mcwan_testbed::wan::{Impairment, Over, StreamPlan, Streams, TestWan, WanClient, Ways};
use serde_json::json;

use super::permitted::{CLOUD, CONSUMER, EXPORTERS, NEAR, PAYMENT, SEC};
use super::told;
use crate::objects::{mk_file, mk_import};

const PREFIX: &str = "/measured";

/// Far more than a busy machine adds, and less than the delay does both ways. A probe on a new connection, which takes both
/// ways twice, is answered within the three times of it for which it waits.
const PROMISE_MS: u32 = 800;
const LATE: Impairment = Impairment::late(Duration::from_millis(500));

/// So many requests in a row tell who takes part.
const ROW: usize = 60;

/// The tier is the one that both clusters may be reached over. The rule names no fallback: it chooses among clusters only.
pub(crate) async fn the_path_to_one_of_two_is_bad(wan: &TestWan, client: &WanClient) -> Result<()> {
    let mut tier = super::mk_tier(SEC);
    tier["spec"]["sla"] = json!({"latencyMs": PROMISE_MS});
    tier["spec"]["probe"] = json!({"interval": "200ms"});
    wan.apply_everywhere(&mk_file(&[tier])).await?;
    let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": SEC.name});
    let rules = json!([{"backendRefs": [backend], "timeouts": {"request": "5s"}, "sla": {}}]);
    wan.cluster(CONSUMER).apply(&mk_file(&[mk_import("secure", PAYMENT, &rules)])).await?;
    let plan = StreamPlan {
        host: "payment.secure:8080".to_owned(),
        prefix: PREFIX.to_owned(),
        headers: Vec::new(),
        to: wan.cluster(CONSUMER).endpoints("secure", "payment-clusterset", 8080).await?,
        rate: 40,
        most: 10_000,
    };
    let mut streams = Streams::start(wan, client, vec![plan]).await?;
    until_answered_by(wan, &mut streams, &EXPORTERS, "both keep the promise").await?;
    let start = Instant::now();
    let ways = Ways::of_port(SEC.port).between(CONSUMER, NEAR);
    wan.impair(ways, LATE);
    until_answered_by(wan, &mut streams, &[CLOUD], "the path to the other is late").await?;
    told::what_is_measured_is_told(wan).await?;
    wan.impair(ways, Impairment::NONE);
    until_answered_by(wan, &mut streams, &EXPORTERS, "both keep the promise again").await?;
    let lost = streams.streams()[0].lost_since(start);
    ensure!(lost == 0, "{lost} requests are lost");
    Ok(())
}

/// Waits until these clusters and no others answer requests, all over the tier.
async fn until_answered_by(wan: &TestWan, streams: &mut Streams, clusters: &[u8], when: &str) -> Result<()> {
    let since = Instant::now();
    let due: BTreeSet<_> = clusters.iter().copied().collect();
    wan.until(&format!("clusters {clusters:?} answer all: {when}"), async || {
        streams.look(wan);
        let Some(last) = streams.streams()[0].last(ROW, since) else { return Ok(false) };
        let are_well = last.iter().all(|over| over.status == 200 && over.port == Some(SEC.port));
        Ok(are_well && last.iter().filter_map(|over| cluster(over)).collect::<BTreeSet<_>>() == due)
    })
    .await?;
    eprintln!("measured: clusters {clusters:?} answer all after {:?}, as {when}", since.elapsed());
    Ok(())
}

/// The exporting cluster that has answered.
fn cluster(over: &Over) -> Option<u8> {
    let by = over.by.as_deref()?;
    EXPORTERS.into_iter().find(|number| by.starts_with(&format!("cluster-{number}/")))
}
