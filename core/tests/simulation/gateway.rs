//! The pods of gateways: what each knows, by channels that know nothing of each other.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use mcwan_core::moment::Moment;

use crate::istiod::{Address, Crossings, Plugin, Routes, ServicePort, ServicePorts};
use crate::native::{self, PathRule};
use crate::told::{Request, RequestOutcome, decide};
use crate::world::{INGRESS, NATIVE};

/// A pod.
pub(crate) struct Pod {
    pub(crate) namespace: &'static str,
    pub(crate) gateway: &'static str,
    pub(crate) name: String,
    pub(crate) number: u32,
    /// Since when there is the pod.
    pub(crate) born: Moment,
    pub(crate) stage: Stage,
    pub(crate) gate: Gate,
    /// Since when it is ready, or was.
    pub(crate) ready: Option<Moment>,
    /// It cannot be asked until then.
    pub(crate) mute: Moment,
    pub(crate) services: Channel<Arc<ServicePorts>>,
    pub(crate) routes: Channel<Arc<Routes>>,
    pub(crate) plugin: Channel<Option<Arc<Plugin>>>,
    /// What becomes of each request there.
    pub(crate) outcomes: Vec<RequestOutcome>,
    /// Where requests cross the WAN to.
    pub(crate) crosses: Crossings,
}

/// Whether requests may come to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Not yet.
    Closed,
    /// The clusters that they go to admit it.
    Admitted,
    /// It has waited for long enough.
    Late,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has not connected to istiod.
    Starting,
    /// It waits for what it is to know first.
    Connected,
    Ready,
    /// It goes on with the connections that it has.
    Draining,
}

/// What is told in order.
pub(crate) struct Channel<T> {
    pub(crate) known: Option<T>,
    pub(crate) under_way: VecDeque<T>,
    /// When the last of it arrives.
    pub(crate) last: Moment,
}

impl<T> Default for Channel<T> {
    fn default() -> Self {
        Self { known: None, under_way: VecDeque::new(), last: Moment::START }
    }
}

impl<T> Channel<T> {
    /// What was told last.
    pub(crate) fn told(&self) -> Option<&T> {
        self.under_way.back().or(self.known.as_ref())
    }

    /// Tells something that arrives then, or when all before it has. Gives when that is.
    pub(crate) fn tell(&mut self, news: T, then: Moment) -> Moment {
        self.under_way.push_back(news);
        self.last = self.last.max(then);
        self.last
    }

    /// Something arrives.
    pub(crate) fn arrive(&mut self) {
        self.known = self.under_way.pop_front().or(self.known.take());
    }
}

impl Pod {
    /// Whether requests come here.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Draining)
    }

    /// Whether it has what it is to know first.
    pub(crate) fn is_told(&self) -> bool {
        self.services.known.is_some() && self.routes.known.is_some() && self.plugin.known.is_some()
    }

    /// Whether it is one of a Gateway.
    pub(crate) fn is_of(&self, namespace: &str, gateway: &str) -> bool {
        self.namespace == namespace && self.gateway == gateway
    }

    /// Whether requests leave a namespace by it.
    pub(crate) fn is_egress_of(&self, namespace: &str) -> bool {
        self.namespace == namespace && !self.is_ingress()
    }

    /// Whether requests come in by it.
    pub(crate) fn is_ingress(&self) -> bool {
        self.gateway == INGRESS
    }

    /// The filter that it has.
    pub(crate) fn filter(&self) -> Option<&Arc<Plugin>> {
        self.plugin.known.as_ref()?.as_ref()
    }

    /// Whether it takes connections to all of these ports.
    pub(crate) fn listens<'a>(&self, ports: impl IntoIterator<Item = &'a u16>) -> bool {
        let listens = |port| self.routes.known.as_ref().is_some_and(|routes| routes.listeners.contains(port));
        ports.into_iter().all(listens)
    }

    /// Its address.
    pub(crate) fn address(&self) -> IpAddr {
        let [_, second, third, fourth] = self.number.to_be_bytes();
        Ipv4Addr::new(10, 128 + second, third, fourth).into()
    }

    /// Works out what becomes of requests.
    pub(crate) fn judge(&mut self, requests: &[Request]) {
        let (Some(services), Some(routes)) = (&self.services.known, &self.routes.known) else { return };
        if self.gateway == NATIVE {
            self.outcomes = native::outcomes(routes, requests, |lead| lead.find_in(services));
            let heard = routes.paths.iter().filter(|((port, _), _)| routes.listeners.contains(port));
            let rules = heard.flat_map(|(_, rules)| rules);
            self.crosses = rules.map(PathRule::crosses).fold(Crossings::default(), Crossings::and);
            return;
        }
        let Some(plugin) = &self.plugin.known else { return };
        let crosses = Cell::new(Crossings::default());
        let lead = |host: &str, port: u16, value: &str| {
            if !routes.listeners.contains(&port) {
                return Err(format!("no listener on {port}"));
            }
            let at = Address { listener: port, host: host.to_owned(), value: value.to_owned() };
            match routes.rules.get(&at).or_else(|| routes.rules.get(&at.of_any_host())) {
                None => Err(format!("404: no rule for {value} on {port}")),
                Some(Err(why)) => Err(format!("500: {why}")),
                Some(Ok(lead)) => {
                    crosses.set(crosses.get().and(lead.crosses));
                    leads_to(host, value, &lead.services)?;
                    lead.find_in(services)
                }
            }
        };
        self.outcomes = match plugin {
            Some(plugin) => {
                requests.iter().map(|request| decide(self.namespace, &plugin.table, request, lead)).collect()
            }
            None => requests.iter().map(|_| RequestOutcome::Unknown).collect(),
        };
        self.crosses = crosses.get();
    }
}

/// Whether the Services are those that a target means.
fn leads_to(host: &str, value: &str, services: &[ServicePort]) -> Result<(), String> {
    let mut labels = host.split('.');
    let (name, namespace) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    let target = value.rsplit_once('.').map_or(value, |(target, _)| target);
    let target = target.split(['@', '~']).next().unwrap_or_default();
    let first = |rest: &str| rest.split(['.', ':']).next().unwrap_or_default().to_owned();
    let (wanted, own) = match (target.strip_prefix("service."), target.strip_prefix("import.")) {
        (Some(service), _) => (first(service), None),
        (None, Some(import)) => {
            let tier = import.rsplit('.').next().unwrap_or_default();
            (format!("route-openshift-io-{}-{tier}", first(import)), Some(first(import)))
        }
        (None, None) => (format!("{name}-{namespace}-{target}"), Some(name.to_owned())),
    };
    // Of a tier, this cluster's share goes to the Service itself.
    let is_wanted = |service: &String| service.starts_with(&wanted) || own.as_ref() == Some(service);
    match services.iter().map(|known| &known.service).find(|service| !is_wanted(service)) {
        _ if services.is_empty() => Err("500: no backend".to_owned()),
        None => Ok(()),
        Some(service) => panic!("{value} of {host} leads to {service}"),
    }
}
