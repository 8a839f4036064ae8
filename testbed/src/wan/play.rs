//! Examples, played on clusters: what file mode shows on one Envoy, on the real things.

mod cast;
mod crossing;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::api::ApiResource;
use kube::core::{DynamicObject, GroupVersionKind};
use mcwan::files;
use mcwan::steering_secret;
use mcwan_core::emit::kubernetes::names::clusterset_service;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::explain::{Explainer, OutcomeKind};
use mcwan_core::snapshot::Key;
use mcwan_core::translate::{self, Destination as To, FrontEnds, Options, RouteOptions, Steering, Translation, Trust};
use mcwan_policy::wire::UnknownHosts;
use serde_json::Value;

use super::{TestWan, Traffic, WanClient};
use crate::client::Request;
use crate::example::{Case, Destination, End, Example};
use crate::forecast::Forecast;
use crate::outcome::RequestOutcome;
use crate::testbed::Performance;
use cast::Cast;
use crossing::{Crossing, Receivers};

/// The cluster whose client sends the requests.
const IMPORTER: u8 = 2;

/// An example on the WAN: cluster 1 runs and exports what the example's registry says that `cluster-1` does, cluster 2
/// has everything else, and in it a client.
///
/// Where the example has addresses, there are pods: behind each exported Service as many as the example says are
/// ready, behind each other Service one.
#[derive(Debug)]
pub struct Play {
    cast: Cast,
    translation: Translation,
    plugin: Plugin,
    /// The imported service that requests are sent to, on its lowest port.
    import: Key,
    port: u16,
    client: WanClient,
    /// Requests take turns over the pods of the egress gateway.
    turn: Cell<usize>,
}

/// What came of a case on the WAN.
#[derive(Clone, Debug)]
pub struct WanPerformance<'c> {
    /// What happened, judged by the example, by `mcwan explain`, and by what the WAN has seen.
    pub performance: Performance<'c>,
    /// What crossed the WAN meanwhile.
    pub traffic: Traffic,
}

/// What became of one request, and what is wrong with how it went.
struct Sent {
    outcome: RequestOutcome,
    faults: Vec<String>,
}

impl Play {
    /// Applies an example and makes the client. What an example before it has applied stays where it is not replaced.
    ///
    /// # Errors
    /// The manifests are wrong or name another exporting cluster than `cluster-1`, or an API server refuses them.
    pub async fn set_up(wan: &TestWan, example: &Example) -> Result<Self> {
        let gathered = files::from_paths(&[&example.manifests]);
        ensure!(gathered.is_complete(), "{} is wrong", example.manifests.display());
        let options = Options {
            cluster: Some(wan.cluster(IMPORTER).id()),
            steering_key: steering_secret::random()?,
            steering: Steering::RouteHeader,
            mcs_version: mcwan_core::api::McsVersion::default(),
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        };
        let translation = translate::translate(&gathered.snapshot, &options);
        let plugin = Plugin::new(&translation.imports, UnknownHosts::Pass)?;
        let import = translation.imports.first().context("the example imports nothing")?;
        let import = Key::new(import.object.namespace.as_deref().unwrap_or_default(), &*import.object.name);
        let ports = translation.imports.iter().flat_map(|import| &import.ports);
        let port = *ports.min().context("no import has a port")?;
        let cast = Cast::new(&gathered.snapshot)?;
        wan.apply_everywhere(&cast.everywhere).await?;
        wan.cluster(cast::EXPORTER).apply(&cast.exporter).await?;
        wan.cluster(IMPORTER).apply(&cast.importer).await?;
        let client = wan.client(IMPORTER).await?;
        Ok(Self { cast, translation, plugin, import, port, client, turn: Cell::new(0) })
    }

    /// Waits until what was applied holds: the controller says so of the import's rules as they are now, and a request
    /// arrives wherever one is to.
    ///
    /// # Errors
    /// It does not in time; the message has every log's end.
    pub async fn converge(&self, wan: &TestWan, example: &Example) -> Result<()> {
        let Key { namespace, name } = &self.import;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("mc-wan.l7mp.io", "v1alpha1", "ServiceImport"));
        let imports: Api<DynamicObject> = Api::namespaced_with(wan.cluster(IMPORTER).client(), namespace, &resource);
        wan.until("the import is programmed", async || Ok(is_programmed(&imports.get(name).await?))).await?;
        let arriving = example.cases.iter().filter_map(|case| match &case.expected.end {
            End::Upstream(upstream) => Some((case, &upstream.shares)),
            End::Answer(_) => None,
        });
        let arriving: Vec<_> = arriving.collect();
        let destinations: BTreeSet<_> = arriving.iter().flat_map(|(_, shares)| shares.keys()).collect();
        for destination in destinations {
            let going_there = arriving.iter().filter(|(_, shares)| shares.contains_key(destination));
            // Rather one that goes nowhere else.
            if let Some((case, _)) = going_there.min_by_key(|(case, shares)| (shares.len(), case.repeat)) {
                self.until_arrived(wan, case, destination).await?;
            }
        }
        Ok(())
    }

    /// Sends a case's request as often as it says, by all pods of the egress gateway in turn, and judges what happened:
    /// as file mode does, what the far gateway is to see being read from the WAN. Beside that, every request must have
    /// used the port of its tier and no other, and the far gateway must have led it to the service.
    ///
    /// # Errors
    /// A request has no answer.
    pub async fn perform<'c>(&self, wan: &TestWan, case: &'c Case) -> Result<WanPerformance<'c>> {
        let gateways = self.gateways(wan).await?;
        let (forecast, before) = (self.forecast(case), wan.traffic());
        let (mut outcomes, mut faults) = (Vec::new(), Vec::new());
        for _ in 0..case.repeat.get() {
            let turn = self.turn.replace(self.turn.get().wrapping_add(1));
            let gateway = gateways.get(turn % gateways.len().max(1)).context("the egress gateway has no ready pod")?;
            let sent = self.send(wan, *gateway, &case.request, &forecast).await?;
            outcomes.push(sent.outcome);
            faults.extend(sent.faults);
        }
        faults.sort();
        faults.dedup();
        let mut performance = Performance::judge(case, outcomes, forecast);
        performance.faults.extend(faults);
        Ok(WanPerformance { performance, traffic: wan.traffic().since(&before) })
    }

    /// The client.
    pub fn client(&self) -> &WanClient {
        &self.client
    }

    /// Where the client may send requests to, one address for each ready pod of the egress gateway.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn gateways(&self, wan: &TestWan) -> Result<Vec<SocketAddr>> {
        let service = clusterset_service(&self.import.name);
        wan.cluster(IMPORTER).endpoints(&self.import.namespace, &service, self.port).await
    }

    /// What the imported service is called in every cluster.
    pub fn name(&self) -> String {
        format!("{}.{}.svc.clusterset.local", self.import.name, self.import.namespace)
    }

    /// Where clients in a cluster find it by that name, as soon as they do.
    ///
    /// # Errors
    /// They do not in time.
    pub async fn address(&self, wan: &TestWan, cluster: u8) -> Result<SocketAddr> {
        let (client, name) = (wan.client(cluster).await?, self.name());
        let mut found = None;
        wan.until(&format!("{name} has an address in cluster {cluster}"), async || {
            found = client.resolve(&name, "A").await?.first().and_then(|address| address.parse::<IpAddr>().ok());
            Ok(found.is_some())
        })
        .await?;
        Ok(SocketAddr::new(found.context("there is no address")?, self.port))
    }

    fn forecast(&self, case: &Case) -> Forecast {
        Forecast::new(Explainer::new(&self.translation, &self.plugin), &case.request, self.port)
    }

    /// Waits until a case's request arrives by every pod of the egress gateway, and by each has arrived at this
    /// destination: where a case has several, chance decides.
    async fn until_arrived(&self, wan: &TestWan, case: &Case, destination: &Destination) -> Result<()> {
        let forecast = self.forecast(case);
        let mut reached = BTreeSet::new();
        wan.until(&format!("a request arrives at {destination}"), async || {
            let gateways = self.gateways(wan).await?;
            for gateway in &gateways {
                let sent = self.send(wan, *gateway, &case.request, &forecast).await;
                let sent = sent.ok().filter(|sent| sent.faults.is_empty());
                let Some((arrived_at, _)) = sent.and_then(|sent| sent.outcome.arrival) else { return Ok(false) };
                if arrived_at == *destination {
                    reached.insert(*gateway);
                }
            }
            Ok(!gateways.is_empty() && gateways.iter().all(|gateway| reached.contains(gateway)))
        })
        .await
    }

    async fn send(&self, wan: &TestWan, gateway: SocketAddr, request: &Request, forecast: &Forecast) -> Result<Sent> {
        wan.record();
        let response = self.client.send(gateway, request).await?;
        let crossing = Crossing::read(&wan.recorded(), IMPORTER, cast::EXPORTER);
        let receivers = Receivers { wan, importer: IMPORTER, cast: &self.cast };
        let mut faults = Vec::new();
        let arrival = receivers.arrival(&response, &crossing, &mut faults);
        if arrival.is_none() && !crossing.is_allowed(&self.cast.tiers, &late_tiers(forecast)) {
            faults.push(format!("without arriving it used {}", crossing.ports(&self.cast.tiers)));
        }
        Ok(Sent { outcome: RequestOutcome { response, arrival }, faults })
    }
}

/// The tiers that a request may take and have no answer from in time.
fn late_tiers(forecast: &Forecast) -> Vec<&str> {
    let routed = forecast.possible.iter().filter(|outcome| outcome.kind == OutcomeKind::Route);
    let timed = routed.filter(|outcome| outcome.forwarding.as_ref().is_some_and(|it| it.timeouts.is_some()));
    let tiers = timed.filter_map(|outcome| match &outcome.destination {
        Some(To::Tier { name, .. } | To::Import { tier: name, .. }) => Some(&**name),
        Some(To::Service { .. }) | None => None,
    });
    tiers.collect()
}

/// Whether the controller says of an import as it is now that the gateways do what it says.
fn is_programmed(import: &DynamicObject) -> bool {
    let conditions = import.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let field = |name: &str| condition.get(name).cloned().unwrap_or_default();
        field("type") == "Programmed"
            && field("status") == "True"
            && field("observedGeneration").as_i64() == import.metadata.generation
    })
}
