//! Calls of gRPC: the egress gateway keeps one connection of HTTP/2 for many of them, which retransmits for long after a hole.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hyper_util::rt::TokioIo;
use mcwan_testbed::kubelet::ECHO_IMAGE;
use mcwan_testbed::wan::{Impairment, Plan, TestWan, WanClient, Ways};
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::interval;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::service_fn;

use crate::objects::{mk_export, mk_file, mk_import, mk_namespace};
use crate::quality::mk_promise;
use crate::scene::{HIGH, LOW};

const NAMESPACE: &str = "calls";
const PORT: u16 = 9090;
const HOLE: Duration = Duration::from_secs(40);
const PERIOD: Duration = Duration::from_millis(50);
/// So many calls in a row that are answered are all, and so many payload bytes are more than probes have.
const ROW: usize = 40;

/// A call: when it began, and whether it was answered; none: it is under way.
type Calls = Arc<Mutex<Vec<(Instant, Option<bool>)>>>;

pub(super) async fn a_hole_of_40_seconds() -> Result<()> {
    let wan = TestWan::start(Plan::default()).await?;
    let client = wan.client(2).await?;
    apply(&wan).await?;
    let (calls, _calling) = call(&wan, &client).await?;
    until_all_are_answered(&wan, &calls, Instant::now(), "the tier is sound").await?;
    let opened = Instant::now();
    wan.impair(Ways::of_port(HIGH.1), Impairment::HOLE);
    until_all_are_answered(&wan, &calls, opened + Duration::from_secs(5), "they have left the hole").await?;
    wan.until("the hole was there for long", async || Ok(opened.elapsed() >= HOLE)).await?;
    let closed = Instant::now();
    wan.impair(Ways::of_port(HIGH.1), Impairment::NONE);
    wan.until("calls take the tier again", async || {
        let before = wan.traffic();
        let count = lock(&calls).len();
        wan.until("more calls are made", async || Ok(lock(&calls).len() >= count + ROW)).await?;
        let since = wan.traffic().since(&before);
        Ok(since.requests(2, 1, HIGH.1).payload > since.requests(2, 1, LOW.1).payload)
    })
    .await?;
    let back = Instant::now();
    until_all_are_answered(&wan, &calls, back, "they are back").await?;
    let calls = lock(&calls).clone();
    let lost = |since: Instant| calls.iter().filter(|(begun, done)| *begun >= since && *done == Some(false)).count();
    let [in_all, later] = [lost(opened), lost(closed)];
    eprintln!("measured: {in_all} calls are lost in a hole of 40 s, {later} later; back after {:?}", back - closed);
    ensure!(later == 0, "{later} calls are lost once the hole is closed");
    Ok(())
}

/// Waits until calls that begin after a time are answered, one after the other.
async fn until_all_are_answered(wan: &TestWan, calls: &Calls, since: Instant, when: &str) -> Result<()> {
    wan.until(&format!("calls are answered: {when}"), async || {
        let calls = lock(calls);
        let done: Vec<_> = calls.iter().filter(|(begun, _)| *begun >= since).filter_map(|(_, done)| *done).collect();
        Ok(done.len() >= ROW && done.iter().rev().take(ROW).all(|is_answered| *is_answered))
    })
    .await
}

/// Calls all the time, over one connection, which the egress gateway has with each of them.
async fn call(wan: &TestWan, client: &WanClient) -> Result<(Calls, Calling)> {
    let mut channel = None;
    wan.until("a call is answered", async || {
        let gateways = wan.cluster(2).endpoints(NAMESPACE, "desk-clusterset", PORT).await?;
        let Some(gateway) = gateways.first() else { return Ok(false) };
        let stream = client.connect(*gateway).await?;
        let mut stream = Some(TokioIo::new(stream));
        let connector = service_fn(move |_| {
            let stream = stream.take().context("the connection was closed");
            async { stream }
        });
        let endpoint = Endpoint::try_from(format!("http://desk.{NAMESPACE}:{PORT}"))?;
        let found: Channel = endpoint.connect_with_connector(connector).await?;
        let is_answered = HealthClient::new(found.clone()).check(mk_check()).await.is_ok();
        channel = Some(found);
        Ok(is_answered)
    })
    .await?;
    let client = HealthClient::new(channel.context("there is no channel")?);
    let calls = Calls::default();
    let all = Arc::clone(&calls);
    let calling = tokio::spawn(async move {
        let (mut ticks, mut under_way) = (interval(PERIOD), JoinSet::new());
        loop {
            ticks.tick().await;
            let index = {
                let mut all = lock(&all);
                all.push((Instant::now(), None));
                all.len() - 1
            };
            let (mut client, all) = (client.clone(), Arc::clone(&all));
            under_way.spawn(async move {
                let is_answered = client.check(mk_check()).await.is_ok();
                lock(&all)[index].1 = Some(is_answered);
            });
            while under_way.try_join_next().is_some() {}
        }
    });
    Ok((calls, Calling(calling.abort_handle())))
}

/// Ends with this.
struct Calling(AbortHandle);

impl Drop for Calling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn lock(calls: &Calls) -> std::sync::MutexGuard<'_, Vec<(Instant, Option<bool>)>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mk_check() -> HealthCheckRequest {
    HealthCheckRequest { service: String::new() }
}

async fn apply(wan: &TestWan) -> Result<()> {
    let late = json!({"latencyMs": 500});
    wan.apply_everywhere(&mk_file(&[mk_namespace(NAMESPACE), mk_promise(HIGH, &late), mk_promise(LOW, &late)])).await?;
    let metadata = json!({"namespace": NAMESPACE, "name": "desk"});
    let labels = json!({"app": "desk"});
    let listening = json!([{"containerPort": 9090, "name": "grpc"}]);
    let container = json!({"name": "upstream", "image": ECHO_IMAGE, "ports": listening});
    let pods = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    let ports = json!([{"name": "grpc", "port": PORT, "targetPort": 9090, "appProtocol": "grpc"}]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": labels, "ports": ports}});
    wan.cluster(1).apply(&mk_file(&[pods, service, mk_export(NAMESPACE, "desk", LOW.0)])).await?;
    wan.cluster(2).apply(&mk_file(&[mk_import(NAMESPACE, "desk", &mk_rules())])).await
}

fn mk_rules() -> Value {
    json!([{
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": HIGH.0}],
        "timeouts": {"request": "2s"},
        "sla": {"fallbacks": [LOW.0]},
    }])
}
