//! Fifteen tiers of one kind, which are impaired at the same moment, and one that rules may fall back to: to impair one tier
//! again and again would double its hold each time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kube::ResourceExt;
use mcwan_testbed::client::Request;
use mcwan_testbed::kubelet::ECHO_IMAGE;
use mcwan_testbed::wan::{Direction, Impairment, Plan, StreamPlan, Streams, TestWan, WanClient, Ways};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

/// How many tiers there are, the port of the first, and the port of the fallback.
const COUNT: u16 = 15;
const FIRST_PORT: u16 = 31_201;
pub(crate) const LOW_PORT: u16 = 31_112;
const LOW: &str = "low";

/// What they are like, one way, while they are sound.
const SOUND: Impairment = Impairment::late(Duration::from_millis(10));
const LOW_DELAY: Duration = Duration::from_millis(30);

/// Requests a second on each tier, and how many there may be: as many as in twelve minutes.
pub(crate) const RATE: u32 = 20;
const MOST: usize = 14_400;

pub(crate) const NAMESPACE: &str = "bench";
const SERVICE: &str = "payment";
const HOST: &str = "payment.bench:8080";
const PORT: u16 = 8080;
const EGRESS: &str = "mcwan-egress";

/// How often requests are looked at.
const PERIOD: Duration = Duration::from_millis(250);

/// Two clusters, of which the second sends requests to a service of the first over the tiers.
pub(crate) struct Fifteen {
    pub(crate) wan: TestWan,
    client: WanClient,
    gateways: Vec<SocketAddr>,
}

/// The port of each tier.
pub(crate) fn ports() -> impl Iterator<Item = u16> + Clone {
    FIRST_PORT..FIRST_PORT + COUNT
}

impl Fifteen {
    pub(crate) async fn start() -> Result<Self> {
        let wan = TestWan::start(Plan::default()).await?;
        wan.impair(Ways::of_port(LOW_PORT), Impairment::late(LOW_DELAY));
        ports().for_each(|port| wan.impair(Ways::of_port(port), SOUND));
        let low = mk_tier(LOW, LOW_PORT, &json!({"latencyMs": 200, "lossPercent": "2"}));
        let high = json!({"latencyMs": 50, "jitterMs": 10, "lossPercent": "0.5"});
        let tiers: Vec<_> = ports().map(|port| mk_tier(&name(port), port, &high)).chain([low]).collect();
        wan.apply_everywhere(&mk_file(&tiers)).await?;
        wan.cluster(1).apply(&mk_file(&mk_service())).await?;
        wan.cluster(2).apply(&mk_file(&mk_import())).await?;
        let client = wan.client(2).await?;
        let mut this = Self { wan, client, gateways: Vec::new() };
        this.until_answered().await?;
        Ok(this)
    }

    /// Lets egress gateways start anew: their judges know of nothing that was, so no hold is longer for it.
    pub(crate) async fn forget(&mut self) -> Result<()> {
        let cluster = self.wan.cluster(2);
        for pod in cluster.gateway_pods(NAMESPACE, EGRESS).await? {
            let name = pod.name_any();
            let before = restarts(&pod);
            cluster.kubelet().kill(NAMESPACE, &name)?;
            let runs_again = async || {
                let pods = cluster.gateway_pods(NAMESPACE, EGRESS).await?;
                Ok(pods.iter().find(|pod| pod.name_any() == name).is_some_and(|pod| restarts(pod) > before))
            };
            self.wan.until("an egress gateway runs again", runs_again).await?;
        }
        self.until_answered().await
    }

    /// Starts the requests of each tier. They go through one egress gateway, which judges the tier by itself; the two of
    /// them share the tiers.
    pub(crate) async fn streams(&self) -> Result<Streams> {
        let plans = ports().zip(self.gateways.iter().cycle()).map(|(port, gateway)| StreamPlan {
            host: HOST.to_owned(),
            prefix: prefix(port),
            headers: Vec::new(),
            to: vec![*gateway],
            rate: RATE,
            most: MOST,
        });
        Streams::start(&self.wan, &self.client, plans.collect()).await
    }

    /// Impairs all tiers, each by its port, beside what they are like while they are sound. Gives when.
    pub(crate) fn impair(&self, by: impl Fn(u16) -> Impairment) -> Instant {
        let now = Instant::now();
        for port in ports() {
            let impairment = by(port);
            let delay = SOUND.delay + impairment.delay;
            self.wan.impair(Ways::of_port(port), Impairment { delay, ..impairment });
        }
        now
    }

    /// Impairs replies of all tiers, beside what both directions are like.
    pub(crate) fn impair_replies(&self, impairment: Impairment) -> Instant {
        let now = Instant::now();
        ports().for_each(|port| self.wan.impair(Ways::of_port(port).only(Direction::Reply), impairment));
        now
    }

    /// Lets so much time pass.
    pub(crate) async fn pass(&self, streams: &mut Streams, time: Duration) {
        let end = Instant::now() + time;
        self.watch(streams, time, |_| Instant::now() >= end).await;
    }

    /// Looks at requests until they are as is wanted, or for so long.
    pub(crate) async fn watch(&self, streams: &mut Streams, most: Duration, is_over: impl Fn(&Streams) -> bool) {
        let end = Instant::now() + most;
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while Instant::now() < end {
            ticks.tick().await;
            streams.look(&self.wan);
            if is_over(streams) {
                return;
            }
        }
    }

    /// Waits until each gateway has every rule, and finds them anew.
    async fn until_answered(&mut self) -> Result<()> {
        let mut found = Vec::new();
        self.wan
            .until("every rule is answered by every egress gateway", async || {
                found = self.wan.cluster(2).endpoints(NAMESPACE, &format!("{SERVICE}-clusterset"), PORT).await?;
                for gateway in &found {
                    for port in ports() {
                        let answer = self.client.send(*gateway, &mk_request(&prefix(port))).await;
                        if !answer.is_ok_and(|answer| answer.status == 200) {
                            return Ok(false);
                        }
                    }
                }
                Ok(found.len() == 2)
            })
            .await?;
        ensure!(!found.is_empty(), "there is no egress gateway");
        self.gateways = found;
        Ok(())
    }
}

fn restarts(pod: &k8s_openapi::api::core::v1::Pod) -> i32 {
    let containers = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    containers.into_iter().flatten().filter(|container| container.ready).map(|it| it.restart_count).sum()
}

fn name(port: u16) -> String {
    format!("high-{port}")
}

fn prefix(port: u16) -> String {
    format!("/{port}")
}

fn mk_request(path: &str) -> Request {
    let host = Some(HOST.as_bytes().to_vec());
    Request { method: "GET".to_owned(), host, path: path.to_owned(), headers: Vec::new() }
}

fn mk_tier(name: &str, port: u16, sla: &Value) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy", "metadata": {"name": name},
        "spec": {"port": port, "sla": sla, "probe": {"interval": "200ms"}}})
}

fn mk_namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
}

/// The service with its pods, and its export.
fn mk_service() -> [Value; 4] {
    let metadata = json!({"namespace": NAMESPACE, "name": SERVICE});
    let labels = json!({"app": SERVICE});
    let container = json!({"name": "echo", "image": ECHO_IMAGE, "ports": [{"containerPort": 9080}]});
    let pods = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {"replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": labels, "ports": [{"name": "http", "port": PORT, "targetPort": 9080}]}});
    let export = json!({"apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceExport",
        "metadata": {"namespace": NAMESPACE, "name": SERVICE, "annotations": {"mc-wan.l7mp.io/wan-policy": LOW}}});
    [mk_namespace(), pods, service, export]
}

/// The import, with a rule for each tier.
fn mk_import() -> [Value; 2] {
    let rules = ports().map(|port| {
        json!({
            "matches": [{"path": {"type": "PathPrefix", "value": prefix(port)}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": name(port)}],
            "timeouts": {"request": "2s"},
            "sla": {"fallbacks": [LOW]},
        })
    });
    let import = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
        "metadata": {"namespace": NAMESPACE, "name": SERVICE},
        "spec": {"http": {"rules": rules.collect::<Vec<_>>()}}});
    [mk_namespace(), import]
}

fn mk_file(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}
