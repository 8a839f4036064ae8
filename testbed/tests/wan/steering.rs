//! A client gets the tier that the rules give, or none: whatever it sends, and whatever becomes of the filter.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::future::join_all;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use mcwan::emit::kubernetes::steering_value_of;
use mcwan_testbed::client::Request;
use mcwan_testbed::wan::TestWan;
use mcwan_testbed::wan::play::Play;
use serde_json::Value;

use crate::attempt::{Attempt, Due};
use crate::scene::{HIGH, LOW, mk_request};

const HOST: &str = "payment.secure:8080";

/// Where clients send requests to.
const PORT: u16 = 8080;

/// Where the OCI registry listens.
const OCI_PORT: u16 = 5000;

/// What makes a module take its time.
const SLOW: Duration = Duration::from_millis(500);

/// A request, what it tries, and what must come of it.
pub(crate) struct Row {
    what: String,
    request: Request,
    pub(crate) due: Due,
}

/// The steering values of the payment example's targets: only the filter and the routes know them.
struct Secrets {
    high: String,
    low: String,
}

fn mk_row(what: &str, method: &str, host: &str, path: &str, steering: &[&str], due: Due) -> Row {
    let headers = steering.iter().map(|value| ("x-mcwan-target".to_owned(), value.as_bytes().to_vec())).collect();
    let request = Request { headers, ..mk_request(method, host, path) };
    Row { what: format!("{what}: {method} {host} {path}"), request, due }
}

/// Requests to the egress gateway, forged and others, under the rules of the payment example.
pub(crate) fn rows() -> Vec<Row> {
    let (high, low, refused, unknown) = (Due::Tier(HIGH.1), Due::Tier(LOW.1), Due::Refused(403), Due::Refused(404));
    let canonical = "payment.secure.svc.cluster.local";
    let tier_service = "payment-secure-sd-wan-priority-high.mc-wan.svc.cluster.local";
    vec![
        mk_row("as the rules say", "GET", HOST, "/payment", &[], high),
        mk_row("as the rules say", "GET", HOST, "/stats", &[], low),
        mk_row("what no rule is for", "GET", HOST, "/", &[], refused),
        mk_row("another tier's name", "GET", HOST, "/payment", &[LOW.0], high),
        mk_row("both, in several lines", "GET", HOST, "/stats", &[HIGH.0, LOW.0], low),
        mk_row("a tier's name without a rule", "POST", HOST, "/payment", &[HIGH.0], refused),
        mk_row("nothing as a name", "GET", HOST, "/", &[""], refused),
        mk_row("the canonical host", "GET", canonical, "/stats", &[], low),
        mk_row("the canonical host without a rule", "GET", canonical, "/", &[], refused),
        mk_row("the canonical host and a name", "GET", canonical, "/", &[HIGH.0], refused),
        mk_row("another tier's port in the host", "GET", "payment.secure:31112", "/payment", &[], high),
        mk_row("a tier service as the host", "GET", tier_service, "/payment", &[HIGH.0], unknown),
        mk_row("another host", "GET", "shop.secure", "/payment", &[HIGH.0], unknown),
        mk_row("no host to speak of", "GET", "localhost", "/payment", &[], unknown),
        mk_row("a path behind another", "GET", HOST, "/payment/../stats", &[], low),
        mk_row("a path that is not quite one", "GET", HOST, "//payment", &[], refused),
        mk_row("an encoded way out", "GET", HOST, "/payment%2f..%2fstats", &[], refused),
    ]
}

impl Secrets {
    async fn read(wan: &TestWan) -> Result<Self> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "HTTPRoute"));
        let routes: Api<DynamicObject> = Api::namespaced_with(wan.cluster(2).client(), "secure", &resource);
        let routes = routes.list(&ListParams::default()).await?.items;
        let rules = routes.iter().filter_map(|route| route.data.pointer("/spec/rules").and_then(Value::as_array));
        let values: Vec<_> = rules.flatten().filter_map(steering_value_of).collect();
        let of = |tier: &str| {
            let value = values.iter().find(|value| value.starts_with(tier) && value.len() > tier.len());
            value.map(|value| (*value).to_owned()).with_context(|| format!("no target of {tier} in {values:?}"))
        };
        Ok(Self { high: of(HIGH.0)?, low: of(LOW.0)? })
    }

    /// What not even somebody who knows them may do.
    fn rows(&self) -> [Row; 4] {
        let (high, low) = (&*self.high, &*self.low);
        [
            mk_row("another target's value", "GET", HOST, "/payment", &[low], Due::Tier(HIGH.1)),
            mk_row("the values in several lines", "GET", HOST, "/stats", &[high, low], Due::Tier(LOW.1)),
            mk_row("a value without a rule", "GET", HOST, "/", &[high], Due::Refused(403)),
            mk_row("a value for another host", "GET", "shop.secure", "/payment", &[high], Due::Refused(404)),
        ]
    }
}

/// The rules of the payment example are in force. What a client may send changes nothing of them.
pub(crate) async fn no_client_steers(wan: &TestWan, play: &Play) -> Result<()> {
    let secrets = Secrets::read(wan).await?;
    let gateways = play.gateways(wan).await?;
    ensure!(gateways.len() == 2, "the egress gateway is at {gateways:?}");
    for gateway in &gateways {
        let address = gateway.to_string();
        let by_address = mk_row("the gateway's address", "GET", &address, "/payment", &[HIGH.0], Due::Refused(404));
        for row in rows().into_iter().chain(secrets.rows()).chain([by_address]) {
            row.must_hold(wan, play, *gateway).await?;
        }
        for (_, port) in [HIGH, LOW] {
            let at_port = SocketAddr::new(gateway.ip(), port);
            let request = mk_request("GET", "payment.secure.svc.cluster.local", "/payment");
            let attempt = Attempt::make(wan, &play.client().namespace().entrance(), at_port, &request).await?;
            ensure!(attempt.status.is_none() && attempt.is_refused(), "the egress answers on port {port}: {attempt:?}");
        }
    }
    Ok(())
}

/// The filter's object, such as `wasmplugin/mcwan`, is deleted by hand: the controller makes it again, and meanwhile
/// requests go where the rules say or are refused.
pub(crate) async fn a_deleted_filter_comes_back(wan: &TestWan, play: &Play, filter: &str) -> Result<()> {
    let before = uid(wan, filter).await?;
    wan.cluster(2).kubectl(&["delete", filter, "--namespace", "secure", "--wait=false"]).await?;
    let mut refused = 0_u32;
    wan.until("the filter is there again and works", async || {
        refused += hold_at_most(wan, play).await?;
        Ok(uid(wan, filter).await.is_ok_and(|uid| uid != before) && hold(wan, play).await?)
    })
    .await?;
    eprintln!("measured: a deleted {filter} came back, {refused} requests refused meanwhile");
    Ok(())
}

/// The filter is deleted and nobody makes it again: everything is refused. The routes are there, but only the filter
/// knows what opens them.
pub(crate) async fn without_a_filter_everything_is_refused(wan: &mut TestWan, play: &Play, filter: &str) -> Result<()> {
    let secrets = Secrets::read(wan).await?;
    wan.cluster_mut(2).kill_controllers();
    wan.cluster(2).kubectl(&["delete", filter, "--namespace", "secure"]).await?;
    wan.until("gateways have no filter", async || {
        hold_at_most(wan, play).await?;
        Ok(join_all(play.gateways(wan).await?.into_iter().map(|gateway| passes_unsteered(play, gateway))).await
            == [true; 2])
    })
    .await?;
    for gateway in play.gateways(wan).await? {
        for row in rows() {
            let attempt = row.attempt(wan, play, gateway).await?;
            ensure!(attempt.is_refused(), "without a filter, {}: {attempt:?}", row.what);
        }
        let opening = mk_row("", "GET", "payment.secure.svc.cluster.local", "/", &[&secrets.low], Due::Tier(LOW.1));
        opening.must_hold(wan, play, gateway).await?;
    }
    for index in 0..2 {
        wan.cluster_mut(2).start_controller(index).await?;
    }
    wan.until("the filter is made again", async || {
        hold_at_most(wan, play).await?;
        hold(wan, play).await
    })
    .await
}

/// The controller is told to use `TrafficExtension` from now on: requests go where the rules say or are refused until
/// the gateways have it, and then as before.
pub(crate) async fn a_filter_of_the_other_kind_does_the_same(wan: &mut TestWan, play: &Play) -> Result<()> {
    let module = wan.module().to_owned();
    wan.cluster_mut(2).change_launch(&module, &["--filter-kind", "traffic-extension"]);
    wan.cluster_mut(2).restart_controllers().await?;
    let mut refused = 0_u32;
    wan.until("the filter is a TrafficExtension", async || {
        refused += hold_at_most(wan, play).await?;
        let [old, new] = [uid(wan, "wasmplugin/mcwan").await, uid(wan, "trafficextension/mcwan").await];
        Ok(old.is_err() && new.is_ok() && hold(wan, play).await?)
    })
    .await?;
    eprintln!("measured: the filter became a TrafficExtension, {refused} requests refused meanwhile");
    Ok(())
}

/// New pods of the egress gateway, whose agents take their time to fetch the module: until they have it they refuse.
pub(crate) async fn a_filter_that_is_loading_lets_nothing_through(wan: &TestWan, play: &Play) -> Result<()> {
    let old = play.gateways(wan).await?;
    wan.delay_port(OCI_PORT, SLOW);
    wan.cluster(2)
        .kubectl(&["delete", "pod", "--namespace", "secure", "--selector", EGRESS_PODS, "--wait=false"])
        .await?;
    let mut refused = BTreeMap::<_, u32>::new();
    wan.until("new pods have the filter", async || {
        let mut all_hold = true;
        let mut new = 0;
        for pod in wan.cluster(2).gateway_pods("secure", "mcwan-egress").await? {
            // Ready or not: where it has an address it may be asked.
            let Some(address) = pod.status.as_ref().and_then(|status| status.pod_ip.as_ref()?.parse().ok()) else {
                return Ok(false);
            };
            let gateway = SocketAddr::new(address, PORT);
            if old.contains(&gateway) {
                all_hold = false;
                continue;
            }
            new += 1;
            for row in rows() {
                let attempt = row.attempt(wan, play, gateway).await?;
                ensure!(attempt.is_at_most(row.due), "while {} loads, {}: {attempt:?}", pod.name_any(), row.what);
                all_hold &= attempt.is(row.due);
                if !attempt.is(row.due) {
                    *refused.entry(attempt.status).or_default() += 1;
                }
            }
        }
        Ok(all_hold && new == 2)
    })
    .await?;
    wan.delay_port(OCI_PORT, Duration::ZERO);
    eprintln!("measured: two pods loaded the module slowly; refused meanwhile, by status: {refused:?}");
    Ok(())
}

/// The selector of the pods of the egress gateway.
const EGRESS_PODS: &str = "gateway.networking.k8s.io/gateway-name=mcwan-egress";

impl Row {
    async fn attempt(&self, wan: &TestWan, play: &Play, gateway: SocketAddr) -> Result<Attempt> {
        Attempt::make(wan, &play.client().namespace().entrance(), gateway, &self.request).await
    }

    async fn must_hold(&self, wan: &TestWan, play: &Play, gateway: SocketAddr) -> Result<()> {
        let attempt = self.attempt(wan, play, gateway).await?;
        ensure!(attempt.is(self.due), "{} must be {:?}, at {gateway} it is {attempt:?}", self.what, self.due);
        Ok(())
    }
}

/// Whether all rows hold at all gateways.
pub(crate) async fn hold(wan: &TestWan, play: &Play) -> Result<bool> {
    let gateways = play.gateways(wan).await?;
    for gateway in &gateways {
        for row in rows() {
            if !row.attempt(wan, play, *gateway).await?.is(row.due) {
                return Ok(false);
            }
        }
    }
    Ok(!gateways.is_empty())
}

/// Whether both pods of the gateway answer, and refuse all rows.
pub(crate) async fn all_are_refused(wan: &TestWan, play: &Play) -> Result<bool> {
    let gateways = play.gateways(wan).await?;
    for gateway in &gateways {
        for row in rows() {
            let attempt = row.attempt(wan, play, *gateway).await?;
            if attempt.status.is_none() || !attempt.is_refused() {
                return Ok(false);
            }
        }
    }
    Ok(gateways.len() == 2)
}

/// Makes sure that rows hold or are refused, at all gateways; gives how many were refused that should not have been.
pub(crate) async fn hold_at_most(wan: &TestWan, play: &Play) -> Result<u32> {
    let mut refused = 0;
    for gateway in play.gateways(wan).await? {
        for row in rows() {
            let attempt = row.attempt(wan, play, gateway).await?;
            ensure!(attempt.is_at_most(row.due), "{} must at most be {:?}, it is {attempt:?}", row.what, row.due);
            refused += u32::from(!attempt.is(row.due));
        }
    }
    Ok(refused)
}

/// Whether a gateway has no filter: it answers as Envoy does where it knows no route.
async fn passes_unsteered(play: &Play, gateway: SocketAddr) -> bool {
    let answer = play.client().send(gateway, &mk_request("GET", HOST, "/payment")).await;
    answer.is_ok_and(|answer| answer.status == 404)
}

async fn uid(wan: &TestWan, filter: &str) -> Result<String> {
    let arguments = ["get", filter, "--namespace", "secure", "--output", "jsonpath={.metadata.uid}"];
    wan.cluster(2).kubectl(&arguments).await
}
