//! The controller: watches, and keeps what is there as it is to be.
//!
//! Gather, translate, compare, apply, report: level-triggered, so that neither the order of events nor a restart
//! matters. All replicas watch; the one that leads writes.

mod agenda;
mod announcements;
mod batch;
mod census;
mod desired;
mod emission;
mod engine;
mod leads;
mod outcomes;
mod polling;
mod registry;
mod renewal;
mod retirement;
mod statuses;
mod strays;
mod timing;
mod unit;
mod unwritten;
mod world;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kube::Client;
use mcwan_core::api::{DataPlane, McsVersion, REGISTRY_NAMESPACE};
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings};
use mcwan_core::translate::{Options, Steering, SteeringKey, Trust};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

pub use timing::Timing;

use crate::admin::{Admin, Health, IDLE_TURN, Metrics};
use crate::apply::{self, Applier};
use crate::backoff::Backoff;
use crate::events::Events;
use crate::gateways::GatewayReader;
use crate::leader::{self, Candidate, Leader};
use crate::module::{ModuleCheck, ModuleStatus};
use crate::steering_secret::{self, SteeringSecretError};
use crate::watch::{Source, Watches};
use engine::{Edges, Engine};
use polling::Polling;
use registry::{Place, Registry};
use statuses::Statuses;
use world::{News, World};

/// The name of the Lease that the leader holds.
pub const LEASE: &str = "mcwan";
/// How many events are taken note of before something is done about them.
const EVENTS: usize = 4_096;

/// How a controller runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of this cluster in the registry.
    pub cluster: String,
    /// The controller's own namespace, which holds its Lease and the steering key.
    pub namespace: String,
    /// The name of this replica, which no other one has.
    pub identity: String,
    /// Where health and metrics are served.
    pub admin: SocketAddr,
    /// The class of the Gateways.
    pub gateway_class: String,
    /// Who applies the rules of imports that do not say.
    pub data_plane: DataPlane,
    /// How istiod is told of the filter.
    pub filter: FilterKind,
    /// Who is told of the requests through egress gateways.
    pub access_log: AccessLog,
    /// The module of the filter.
    pub module: ModuleCheck,
    /// How fast a lost leader is replaced.
    pub lease: leader::Timing,
    /// How long a cluster may be silent before others do without it.
    pub cluster_lease: Duration,
    /// What the order of routes and plugins takes.
    pub timing: Timing,
    /// How hard the API server is worked.
    pub apply: apply::Options,
    /// What is taken from other clusters.
    pub trust: Trust,
    /// Where gateway pods serve their statistics.
    pub gateway_stats_port: u16,
}

/// Runs until it is told to end. If we lead then, the lease is let go. `registry`: the API server that is the registry; none:
/// that of the cluster.
///
/// # Errors
/// It cannot begin, or a part of it has ended that must not.
pub async fn run(client: Client, registry: Option<Client>, config: Config) -> anyhow::Result<()> {
    let [mut interrupt, mut terminate] = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
    let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::default()));
    let admin = Admin::bind(config.admin, Arc::clone(&health), Arc::clone(&metrics)).await;
    let admin = admin.with_context(|| format!("cannot listen on {}", config.admin))?;
    let candidate = Candidate {
        namespace: config.namespace.clone(),
        lease: LEASE.to_owned(),
        identity: config.identity.clone(),
        timing: config.lease,
    };
    let able = Arc::clone(&health);
    let leader = Leader::run(client.clone(), candidate, async move { able.until_synced().await });
    let work = work(client, registry, config, leader.leading(), health, metrics);
    let ended = tokio::select! {
        served = admin.serve() => served.context("the admin server has ended"),
        worked = work => worked,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    };
    leader.release().await;
    ended
}

/// Watches for ever, and writes while we lead.
async fn work(
    client: Client,
    registry: Option<Client>,
    config: Config,
    mut leading: watch::Receiver<bool>,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
) -> anyhow::Result<()> {
    filter_is_served(&client, config.filter).await?;
    let steering_key = steering_key(&client, &config.namespace).await?;
    let mut module = config.module.clone().watch();
    let place = if registry.is_some() { Place::Elsewhere } else { Place::Here };
    let source = Source {
        client: client.clone(),
        registry: registry.unwrap_or_else(|| client.clone()),
        registry_namespace: REGISTRY_NAMESPACE.into(),
        cluster: config.cluster.as_str().into(),
    };
    let mut watches = Watches::start(&source);
    let options = Options {
        cluster: Some(config.cluster.clone()),
        steering_key,
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: config.trust,
    };
    let settings = Settings {
        cluster: Some(config.cluster),
        wan_cluster: None,
        gateway_class: config.gateway_class,
        module: Module { url: config.module.module.url(), sha256: config.module.module.sha256() },
        data_plane: config.data_plane,
        filter: config.filter,
        access_log: config.access_log,
    };
    let lease = config.cluster_lease;
    let mut registry = Registry::new(&source, place, lease, leading.clone(), Arc::clone(&metrics));
    let world = World::new(&source.cluster, lease);
    let edges = Edges {
        applier: Applier::new(&source, leading.clone(), config.apply).in_contact(registry.contact()),
        statuses: Statuses::new(Events::new(client, Some(config.identity))),
        polling: Polling::new(GatewayReader::new(config.gateway_stats_port)?),
        metrics: Arc::clone(&metrics),
    };
    let mut engine = Engine::new(world, options, settings, edges, config.timing);
    let mut is_active = false;
    loop {
        health.turned(Instant::now());
        let mut news = News::default();
        let is_busy = is_active && engine.is_busy();
        let is_settling = is_active && engine.is_settling();
        let wake_up = engine.next().filter(|_| is_active).into_iter().chain(engine.world.reach.next(Instant::now()));
        let wake_up = wake_up.chain([Instant::now() + IDLE_TURN]).min();
        tokio::select! {
            biased;
            event = watches.next(), if !is_busy && !is_settling => {
                let Some(event) = event else { bail!("a watch has ended") };
                engine.world.hear(event, &mut news);
            }
            changed = leading.changed(), if !is_busy => changed.context("leader election has ended")?,
            changed = module.changed(), if !is_busy => changed.context("the check of the module has ended")?,
            changed = registry.changed(), if !is_busy => changed?,
            answer = engine.polling.answer(), if !is_busy => engine.heard(answer.context("nobody asks gateways")?).await,
            () = sleep_until(wake_up), if !is_busy => {}
            () = std::future::ready(()), if is_busy => {}
        }
        let events = if is_settling { 0 } else { EVENTS };
        for _ in 0..events {
            let Some(event) = watches.try_next() else { break };
            engine.world.hear(event, &mut news);
        }
        if let Some(version) = news.mcs_version {
            engine.serve_mcs(version);
        }
        for kind in &news.failed {
            metrics.watch_restarted(kind.name());
        }
        let checked = module.borrow_and_update().clone();
        if checked != ModuleStatus::Unknown {
            health.module_checked();
        }
        if checked != engine.statuses.module {
            metrics.module(&checked);
            engine.module_changed(checked);
        }
        let is_synced = engine.world.is_synced();
        let leads = *leading.borrow_and_update() && is_synced;
        registry.follow(&mut engine, leads);
        if engine.world.is_registry_synced() {
            health.registry_synced();
        }
        if !is_synced {
            continue;
        }
        health.watches_synced();
        metrics.leader(leads);
        if leads && !is_active {
            engine.begin();
        } else if leads {
            engine.think(news);
        }
        is_active = leads;
        if is_active {
            engine.round().await;
        }
    }
}

/// Makes sure that a filter of the kind that is asked for would be taken, before one of the other kind is deleted; waits
/// for an API server that does not answer.
async fn filter_is_served(client: &Client, filter: FilterKind) -> anyhow::Result<()> {
    if filter == FilterKind::WasmPlugin {
        // Every Istio serves it. Where there is none yet, one may come later.
        return Ok(());
    }
    let kind = filter.kind();
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));
    loop {
        match client.list_api_group_resources(&kind.api_version()).await {
            Ok(list) if list.resources.iter().any(|resource| resource.kind == kind.name()) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code != 404 => {
                tracing::warn!(error = %status.message, "it is not known whether {} is served", kind.name());
            }
            Err(error) if !matches!(error, kube::Error::Api(_)) => {
                tracing::warn!(error = &error as &dyn Error, "it is not known whether {} is served", kind.name());
            }
            Ok(_) | Err(_) => {
                bail!("the cluster does not serve {}: use --filter-kind wasm-plugin, or Istio 1.30", kind.name());
            }
        }
        tokio::time::sleep(backoff.failed()).await;
    }
}

/// The key of the cluster; waits for an API server that does not answer.
async fn steering_key(client: &Client, namespace: &str) -> Result<SteeringKey, SteeringSecretError> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));
    loop {
        match steering_secret::read_or_create(client.clone(), namespace).await {
            Err(error @ SteeringSecretError::Api { .. }) => {
                tracing::warn!(error = &error as &dyn Error, "no steering key yet");
                tokio::time::sleep(backoff.failed()).await;
            }
            known => return known,
        }
    }
}

async fn sleep_until(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then.into()).await,
        None => std::future::pending().await,
    }
}
