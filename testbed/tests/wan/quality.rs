//! A rule that goes by what tiers promise: its requests leave one that does not keep it, and come back.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use mcwan_testbed::wan::{Impairment, Recording, Ways};
use serde_json::{Value, json};

use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_namespace, mk_service, mk_tier};
use crate::scene::{HIGH, LOW, Scene, mk_request};

const NAMESPACE: &str = "quality";
const IMPORT: &str = "quality/payment";
const PORT: u16 = 8080;
const PATH: &str = "/measured";

/// Far more than a busy machine adds, and less than the delay does both ways.
const PROMISE_MS: u32 = 500;
const DELAY: Duration = Duration::from_millis(400);

/// How many requests in a row take a tier through each egress gateway, before it is believed.
const IN_A_ROW: usize = 5;

/// The tiers promise something from now on.
pub(crate) async fn rules_go_by_measured_quality(scene: &Scene) -> Result<()> {
    let wan = &scene.wan;
    wan.apply_everywhere(&mk_file(&[HIGH, LOW].map(mk_promise))).await?;
    let service = [mk_namespace(NAMESPACE), mk_echo(NAMESPACE, "payment", 1), mk_service(NAMESPACE, "payment")];
    wan.cluster(1).apply(&mk_file(&service)).await?;
    wan.cluster(1).apply(&mk_file(&[mk_export(NAMESPACE, "payment", LOW.0)])).await?;
    wan.cluster(2).apply(&mk_file(&[mk_namespace(NAMESPACE), mk_import(NAMESPACE, "payment", &mk_rules())])).await?;
    let asked = mk_request("GET", "payment.quality:8080", PATH);
    scene.until_answered(IMPORT, PORT, &asked, |status| status == 200).await?;

    until_taken(scene, HIGH, "it keeps its promise").await?;
    wan.cut_port(HIGH.1, true);
    until_taken(scene, LOW, "the other loses all").await?;
    wan.cut_port(HIGH.1, false);
    until_taken(scene, HIGH, "it is back").await?;
    wan.impair(Ways::of_port(HIGH.1), Impairment::late(DELAY));
    until_taken(scene, LOW, "the other is late").await?;
    wan.impair(Ways::of_port(HIGH.1), Impairment::NONE);
    Ok(())
}

/// Waits until all requests take a tier, and are answered.
async fn until_taken(scene: &Scene, (tier, port): (&str, u16), when: &str) -> Result<()> {
    let asked = mk_request("GET", "payment.quality:8080", PATH);
    let taken = async || {
        let gateways = scene.wan.cluster(2).endpoints(NAMESPACE, "payment-clusterset", PORT).await?;
        scene.wan.record();
        let mut is_answered = true;
        for gateway in gateways.iter().cycle().take(gateways.len() * IN_A_ROW) {
            is_answered &= scene.client.send(*gateway, &asked).await.is_ok_and(|answer| answer.status == 200);
        }
        Ok(is_answered && ports_of(&scene.wan.recorded()) == Some(BTreeSet::from([port])))
    };
    let start = Instant::now();
    scene.wan.until(&format!("requests take {tier}: {when}"), taken).await?;
    eprintln!("measured: all requests take {tier} after {:?}, as {when}", start.elapsed());
    Ok(())
}

/// The ports that the requests have taken; none: what crossed cannot be read, as some of it was lost.
fn ports_of(recording: &Recording) -> Option<BTreeSet<u16>> {
    let mut ports = BTreeSet::new();
    for speech in recording.speeches(2, 1) {
        if speech.requests()?.iter().any(|request| request.path == PATH) {
            ports.insert(speech.port);
        }
    }
    Some(ports)
}

/// A tier that promises not to be late.
fn mk_promise((name, port): (&str, u16)) -> Value {
    let mut tier = mk_tier(name, port);
    tier["spec"]["sla"] = json!({"latencyMs": PROMISE_MS});
    tier["spec"]["probe"] = json!({"interval": "200ms"});
    tier
}

fn mk_rules() -> Value {
    json!([{
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": HIGH.0}],
        "timeouts": {"request": "2s"},
        "sla": {"fallbacks": [LOW.0]},
    }])
}
