//! How soon a tier that a policy takes away from two clusters is taken by nobody.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::{Api, CustomResourceExt, ResourceExt};
use mcwan_core::api::{ClusterConnectionPolicy, REGISTRY_NAMESPACE};
use mcwan_numbers::Number;
use mcwan_testbed::client::{self, Request};
use mcwan_testbed::example::Example;
use mcwan_testbed::namespace::Entrance;
use mcwan_testbed::wait::until;
use mcwan_testbed::wan::play::Play;
use mcwan_testbed::wan::{PATIENCE, Plan, TestWan};
use serde_json::json;

/// How often the policy comes, and goes.
const RUNS: usize = 20;

const NAMESPACE: &str = "secure";
const POLICY: &str = "bench";
/// The port of the tier that the policy takes away, and the tier that it leaves.
const FORBIDDEN: u16 = 31_111;
const PERMITTED: &str = "sd-wan-priority-low";

pub(crate) async fn numbers() -> Result<Vec<Number>> {
    let bench = Bench::start().await?;
    let (mut steered, mut admitted) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        tokio::try_join!(bench.until_steered(200), bench.until_admitted(200))?;
        let start = Instant::now();
        bench.forbid().await?;
        let steering = async {
            bench.until_steered(500).await?;
            Ok::<_, anyhow::Error>(start.elapsed().as_secs_f64())
        };
        let admission = async {
            bench.until_admitted(403).await?;
            Ok(start.elapsed().as_secs_f64())
        };
        let (steering, admission) = tokio::try_join!(steering, admission)?;
        eprintln!("bench: nobody steers after {steering:.2} s, nobody is admitted after {admission:.2} s");
        steered.push(steering);
        admitted.push(admission);
        bench.policies.delete(POLICY, &DeleteParams::default()).await?;
    }
    let [steered, steered_last] = percentiles(&mut steered);
    let [admitted, admitted_last] = percentiles(&mut admitted);
    Ok(vec![
        Number::limited("a policy takes a tier away: no request is steered to it, p50 of 20", steered, "s", 3.0),
        Number::limited("the same, p99", steered_last, "s", 3.0),
        Number::limited("and no new connection is admitted on it, p50 of 20", admitted, "s", 3.0),
        Number::limited("the same, p99", admitted_last, "s", 3.0),
    ])
}

/// Two clusters, of which the second sends requests to a service of the first.
struct Bench {
    wan: TestWan,
    play: Play,
    policies: Api<DynamicObject>,
    /// An egress gateway's pod, which the far gateway admits.
    sender: Entrance,
    /// The pods of the far gateway, at the port of the tier.
    far: Vec<SocketAddr>,
}

impl Bench {
    async fn start() -> Result<Self> {
        let wan = TestWan::start(Plan::default()).await?;
        let example = Example::load("payment")?;
        let play = Play::set_up(&wan, &example).await?;
        play.converge(&wan, &example).await?;
        let resource = ClusterConnectionPolicy::api_resource();
        let policies = Api::namespaced_with(wan.cluster(1).client(), REGISTRY_NAMESPACE, &resource);
        let egress = wan.cluster(2).gateway_pods(NAMESPACE, "mcwan-egress").await?.pop().context("no egress pod")?;
        let sender = wan.cluster(2).kubelet().entrance(NAMESPACE, &egress.name_any())?;
        let pods = wan.cluster(1).gateway_pods(NAMESPACE, "mcwan-ingress").await?;
        let addresses = pods.iter().filter_map(|pod| pod.status.as_ref()?.pod_ip.as_ref()?.parse::<IpAddr>().ok());
        let far: Vec<_> = addresses.map(|ip| SocketAddr::new(ip, FORBIDDEN)).collect();
        ensure!(far.len() == 2, "the far gateway is at {far:?}");
        Ok(Self { wan, play, policies, sender, far })
    }

    /// Lets a policy leave the other tier alone.
    async fn forbid(&self) -> Result<()> {
        let ApiResource { api_version, kind, .. } = ClusterConnectionPolicy::api_resource();
        let policy = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": POLICY},
            "spec": {"tiers": [PERMITTED]}});
        self.policies.create(&PostParams::default(), &serde_json::from_value(policy)?).await?;
        Ok(())
    }

    /// Waits until requests that would take the tier are answered so by each pod of the egress gateway.
    async fn until_steered(&self, status: u16) -> Result<()> {
        let gateways = self.play.gateways(&self.wan).await?;
        ensure!(gateways.len() == 2, "the egress gateway is at {gateways:?}");
        let request = mk_request("payment.secure:8080", "/payment", &[]);
        until(PATIENCE, "every egress gateway answers so", async || {
            for gateway in &gateways {
                if self.play.client().send(*gateway, &request).await?.status != status {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }

    /// Waits until a new connection to the far gateway, past the rules, is answered so by each of its pods.
    async fn until_admitted(&self, status: u16) -> Result<()> {
        let request = mk_request("payment.secure.svc.cluster.local", "/", &[("x-mcwan-port", "8080")]);
        until(PATIENCE, "every far gateway answers so", async || {
            for gateway in self.far.iter().copied() {
                let request = request.clone();
                let answer = self.sender.perform(async move { client::send(gateway, &request).await }).await?;
                if answer?.status != status {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }
}

fn mk_request(host: &str, path: &str, headers: &[(&str, &str)]) -> Request {
    Request {
        method: "GET".to_owned(),
        host: Some(host.as_bytes().to_vec()),
        path: path.to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect(),
    }
}

/// The median, and the 99th percentile.
fn percentiles(seconds: &mut [f64]) -> [f64; 2] {
    seconds.sort_by(f64::total_cmp);
    [50, 99].map(|percent| seconds.get(seconds.len() * percent / 100).copied().unwrap_or(f64::NAN))
}
