//! What is tried at an egress gateway, under the rules of the payment example.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use mcwan_core::emit::kubernetes::steering_value_of;
use mcwan_testbed::client::Request;
use mcwan_testbed::wan::TestWan;
use mcwan_testbed::wan::play::Play;
use serde_json::Value;

use crate::attempt::{Attempt, Due};
use crate::scene::{HIGH, LOW, mk_request};

const HOST: &str = "payment.secure:8080";
const CANONICAL: &str = "payment.secure.svc.cluster.local";

/// A request, what it tries, where, and what must come of it.
pub(super) struct Row {
    pub(super) what: String,
    to: SocketAddr,
    request: Request,
    pub(super) due: Due,
}

/// The steering values of the payment example's targets: only the filter and the routes know them.
pub(crate) struct Secrets {
    high: String,
    low: String,
}

/// Makes rows for a gateway.
#[derive(Clone, Copy)]
struct At(SocketAddr);

impl At {
    fn row(self, what: &str, method: &str, host: &str, path: &str, steering: &[&str], due: Due) -> Row {
        let headers = steering.iter().map(|value| ("x-mcwan-target".to_owned(), value.as_bytes().to_vec())).collect();
        let request = Request { headers, ..mk_request(method, host, path) };
        Row { what: format!("{what}: {method} {host} {path}"), to: self.0, request, due }
    }

    /// The same gateway's port of a tier, which only those in other clusters have.
    fn tier_port(self, port: u16) -> Row {
        let there = Self(SocketAddr::new(self.0.ip(), port));
        there.row("a tier's port", "GET", CANONICAL, "/payment", &[], Due::Silence)
    }
}

/// Requests to an egress gateway, forged and others; also of somebody who knows the steering values.
pub(super) fn rows(gateway: SocketAddr, secrets: Option<&Secrets>) -> Vec<Row> {
    let (at, address) = (At(gateway), gateway.to_string());
    let (high, low, refused, unknown) = (Due::Tier(HIGH.1), Due::Tier(LOW.1), Due::Refused(403), Due::Refused(404));
    let tier_service = "payment-secure-sd-wan-priority-high.mc-wan.svc.cluster.local";
    let mut rows = vec![
        at.row("as the rules say", "GET", HOST, "/payment", &[], high),
        at.row("as the rules say", "GET", HOST, "/stats", &[], low),
        at.row("what no rule is for", "GET", HOST, "/", &[], refused),
        at.row("another tier's name", "GET", HOST, "/payment", &[LOW.0], high),
        at.row("both, in several lines", "GET", HOST, "/stats", &[HIGH.0, LOW.0], low),
        at.row("a tier's name without a rule", "POST", HOST, "/payment", &[HIGH.0], refused),
        at.row("nothing as a name", "GET", HOST, "/", &[""], refused),
        at.row("the canonical host", "GET", CANONICAL, "/stats", &[], low),
        at.row("the canonical host without a rule", "GET", CANONICAL, "/", &[], refused),
        at.row("the canonical host and a name", "GET", CANONICAL, "/", &[HIGH.0], refused),
        at.row("another tier's port in the host", "GET", "payment.secure:31112", "/payment", &[], high),
        at.row("a tier service as the host", "GET", tier_service, "/payment", &[HIGH.0], unknown),
        at.row("another host", "GET", "shop.secure", "/payment", &[HIGH.0], unknown),
        at.row("no host to speak of", "GET", "localhost", "/payment", &[], unknown),
        at.row("the gateway's address", "GET", &address, "/payment", &[HIGH.0], unknown),
        at.row("a path behind another", "GET", HOST, "/payment/../stats", &[], low),
        at.row("a path that is not quite one", "GET", HOST, "//payment", &[], refused),
        at.row("an encoded way out", "GET", HOST, "/payment%2f..%2fstats", &[], refused),
        at.tier_port(HIGH.1),
        at.tier_port(LOW.1),
    ];
    rows.extend(secrets.into_iter().flat_map(|secrets| secrets.rows(at)));
    rows
}

/// What opens the routes of a gateway where there is no filter, tried where there is one, if only on its way.
pub(super) fn opening_rows(gateway: SocketAddr, secrets: &Secrets) -> [Row; 2] {
    let (at, high) = (At(gateway), &*secrets.high);
    [
        at.row("the canonical host and another target's value", "GET", CANONICAL, "/stats", &[high], Due::Tier(LOW.1)),
        at.row("the canonical host and a value without a rule", "GET", CANONICAL, "/", &[high], Due::Refused(403)),
    ]
}

impl Secrets {
    pub(super) async fn read(wan: &TestWan) -> Result<Self> {
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
    fn rows(&self, at: At) -> [Row; 4] {
        let (high, low) = (&*self.high, &*self.low);
        [
            at.row("another target's value", "GET", HOST, "/payment", &[low], Due::Tier(HIGH.1)),
            at.row("the values in several lines", "GET", HOST, "/stats", &[high, low], Due::Tier(LOW.1)),
            at.row("a value without a rule", "GET", HOST, "/", &[high], Due::Refused(403)),
            at.row("a value for another host", "GET", "shop.secure", "/payment", &[high], Due::Refused(404)),
        ]
    }

    /// What they can do where there is no filter: the routes are there.
    pub(super) fn opening(&self, gateway: SocketAddr) -> Row {
        At(gateway).row("what opens a route", "GET", CANONICAL, "/", &[&self.low], Due::Tier(LOW.1))
    }
}

impl Row {
    pub(super) async fn attempt(&self, wan: &TestWan, play: &Play) -> Result<Attempt> {
        Attempt::make(wan, &play.client().namespace().entrance(), self.to, &self.request).await
    }

    pub(super) async fn must_hold(&self, wan: &TestWan, play: &Play) -> Result<()> {
        let attempt = self.attempt(wan, play).await?;
        ensure!(attempt.is(self.due), "{} must be {:?}, at {} it is {attempt:?}", self.what, self.due, self.to);
        Ok(())
    }

    /// It is as it must be, or refused. Gives whether it is as it must be.
    pub(super) async fn must_hold_at_most(&self, wan: &TestWan, play: &Play) -> Result<bool> {
        let attempt = self.attempt(wan, play).await?;
        let Self { what, due, to, .. } = self;
        ensure!(attempt.is_at_most(*due), "{what} must at most be {due:?}, at {to} it is {attempt:?}");
        Ok(attempt.is(*due))
    }
}
