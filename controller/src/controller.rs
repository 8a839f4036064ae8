//! The controller: watches, and keeps the cluster in the wanted state.
//!
//! Gather, translate, compare, apply, report: level-triggered, so that neither the order of events nor a restart
//! matters. All replicas watch; the one that leads writes.

mod executor;
mod outcomes;
mod registry;
mod renewal;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::backoff::Backoff;
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings};
use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Answer, Event, ModuleVerdict, Rollout, Step, WatchEvent};
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, SteeringKey, Trust};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use mcwan_core::rollout::Timing;

use crate::admin::{Admin, Health, IDLE_TURN, Metrics};
use crate::apply::{ANSWER_TIMEOUT, Applier};
use crate::errors::with_causes;
use crate::events::Events;
use crate::gateways::GatewayReader;
use crate::leader::{self, Candidate, Leader};
use crate::module::{ModuleCheck, ModuleError, ModuleStatus};
use crate::readable_secrets::{ReadableSecrets, Waits};
use crate::steering_secret;
use crate::watch::{Source, Watches};
use executor::Executor;
use registry::{Registry, RegistrySite};

/// The name of the Lease that the leader holds.
pub const LEASE: &str = "mcwan";
/// How many events are looked at before something is done about them.
const EVENTS: usize = 4_096;
/// Between two counts of what imports are told: one of ten thousand takes milliseconds, and changes come by the hundred.
const COUNT_WAIT: Duration = Duration::from_secs(1);

/// How a controller runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of this cluster in the registry.
    pub cluster: String,
    /// The network of its pods; none: one of its own.
    pub network: Option<String>,
    /// The cable drivers that it supports.
    pub cable_drivers: Vec<String>,
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
    /// How many requests to the API server are under way at once, and how many to the registry.
    pub concurrency: usize,
    /// What is taken from other clusters.
    pub trust: Trust,
    /// Which kinds give rules beside `ServiceImport`.
    pub front_ends: FrontEnds,
    /// What holds for all `Route`s of `OpenShift`.
    pub routes: RouteOptions,
    /// Where gateway pods serve their statistics.
    pub gateway_stats_port: u16,
}

impl Config {
    /// How objects are made.
    fn settings(&self) -> Settings {
        Settings {
            cluster: Some(self.cluster.clone()),
            wan_cluster: None,
            network: self.network.clone(),
            gateway_class: self.gateway_class.clone(),
            module: Module { url: self.module.module.url(), sha256: self.module.module.sha256() },
            data_plane: self.data_plane,
            filter: self.filter,
            access_log: self.access_log.clone(),
            has_mcs_imports: false, // as far as is known
            has_connections: false,
        }
    }

    /// What resources mean with this.
    fn options(&self, steering_key: SteeringKey) -> Options {
        Options {
            cluster: Some(self.cluster.clone()),
            steering_key,
            steering: Steering::RouteHeader,
            mcs_version: McsVersion::default(),
            trust: self.trust.clone(),
            front_ends: self.front_ends,
            routes: self.routes.clone(),
            cable_drivers: Some(self.cable_drivers.clone()),
        }
    }
}

/// Runs until it is told to end, or `outdated` ends: what it was started with does not hold any more. If we lead then, the
/// lease is released. `registry`: the API server that is the registry; none: that of the cluster.
///
/// # Errors
/// It cannot begin, or a part of it has ended that must not.
pub async fn run(
    client: Client,
    registry: Option<Client>,
    config: Config,
    outdated: impl Future<Output = ()>,
) -> anyhow::Result<()> {
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
    // A task of its own: who asks is answered while the loop works, which may take a while. It ends with this.
    let mut serving = JoinSet::new();
    serving.spawn(admin.serve());
    let ended = tokio::select! {
        worked = work => worked,
        () = outdated => Ok(()),
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
    let mut steering_keys = steering_secret::follow(client.clone(), &config.namespace).await?;
    let mut module = config.module.clone().watch();
    let site = if registry.is_some() { RegistrySite::Elsewhere } else { RegistrySite::Here };
    let source = Source::new(client.clone(), registry.unwrap_or_else(|| client.clone()), &config.cluster);
    let source = source.with_routes(config.routes.selector.clone());
    let mut watches = Watches::start(&source, config.front_ends);
    let mut secrets = ReadableSecrets::start(client.clone(), Waits::default());
    let settings = config.settings();
    let options = config.options(steering_keys.borrow_and_update().clone());
    let lease = config.cluster_lease;
    let mut registry = Registry::new(&source, site, lease, leading.clone(), Arc::clone(&metrics));
    let applier = Applier::new(&source, leading.clone()).in_contact(registry.contact());
    let gateways = GatewayReader::new(config.gateway_stats_port)?;
    let mut executor = Executor::new(applier, config.concurrency, gateways, Events::new(client, Some(config.identity)));
    let start = Instant::now();
    let now = || Moment::after_start(start.elapsed());
    let seed = fastrand::u64(..);
    let mut rollout = Rollout::new(&source.cluster, lease, options, settings, config.timing, seed, now());
    let (mut leads, mut counted) = (false, None);
    loop {
        health.turned(Instant::now());
        let idle = Instant::now() + if leads { COUNT_WAIT } else { IDLE_TURN };
        let wake_up = rollout.next(now()).map_or(idle, |then| idle.min(start + then.since_start()));
        let mut happened = Vec::new();
        tokio::select! {
            // Last what users can keep busy; below, some of it is taken in on every turn.
            biased;
            changed = leading.changed() => changed.context("leader election has ended")?,
            changed = module.changed() => changed.context("the check of the module has ended")?,
            changed = registry.changed() => changed?,
            changed = steering_keys.changed() => {
                changed.context("the steering key is not watched")?;
                let key = steering_keys.borrow().clone();
                carry_out(&mut rollout, now(), Event::SteeringKey(key), &mut executor, &metrics);
            }
            answers = secrets.next() => {
                let event = Event::ReadableSecrets(answers.context("nobody asks for Secrets any more")?);
                carry_out(&mut rollout, now(), event, &mut executor, &metrics);
            }
            answer = executor.answer() => if let Some(answer) = answer {
                carry_out(&mut rollout, now(), Event::Answer(answer), &mut executor, &metrics);
            },
            event = watches.next() => happened.push(event.context("a watch has ended")?),
            () = tokio::time::sleep_until(wake_up.into()) => {}
        }
        // What is sent may be answered at once, and that again: others have their turn before.
        for answer in executor.answers_so_far(EVENTS) {
            carry_out(&mut rollout, now(), Event::Answer(answer), &mut executor, &metrics);
        }
        while happened.len() < EVENTS
            && let Some(event) = watches.try_next()
        {
            happened.push(event);
        }
        for event in happened {
            if let WatchEvent::Failed { kind, .. } = &event {
                metrics.watch_restarted(kind.name());
            }
            rollout.observe(now(), event);
        }
        rollout.set_clock(Time(Timestamp::now()));
        let checked = module.borrow_and_update().clone();
        if checked != ModuleStatus::Unknown {
            health.module_checked();
        }
        metrics.module(&checked);
        carry_out(&mut rollout, now(), Event::Module(verdict_of(&checked)), &mut executor, &metrics);
        registry.follow(&mut rollout, leads, now());
        if rollout.is_registry_synced() {
            health.registry_synced();
        }
        if let Some(named) = rollout.named_secrets() {
            secrets.ask(named);
        }
        if !rollout.is_synced() {
            continue;
        }
        health.watches_synced();
        let led = std::mem::replace(&mut leads, *leading.borrow_and_update());
        if led && !leads {
            executor.stand_by();
            // Another replica counts from now on.
            metrics.imports([]);
            metrics.configs([]);
        }
        metrics.leader(leads);
        carry_out(&mut rollout, now(), Event::Leading(leads), &mut executor, &metrics);
        if leads {
            count_conditions(&rollout, &metrics, &mut counted);
        }
    }
}

/// Counts what imports are told, unless that was done just now.
fn count_conditions(rollout: &Rollout, metrics: &Metrics, counted: &mut Option<Instant>) {
    if counted.is_none_or(|then| then.elapsed() >= COUNT_WAIT) {
        metrics.imports(rollout.condition_counts());
        *counted = Some(Instant::now());
    }
}

/// Tells the rollout what has happened, and begins what it asks for.
fn carry_out(rollout: &mut Rollout, now: Moment, event: Event, executor: &mut Executor, metrics: &Metrics) {
    if let Event::Answer(Answer::StatusWritten { patch, result: Err(error) }) = &event {
        outcomes::count_status(metrics, patch, error);
    }
    let start = Instant::now();
    let Step { commands, outcomes, reconciled } = rollout.step(now, event);
    for (id, outcome) in &outcomes {
        outcomes::count(metrics, id, outcome);
    }
    if reconciled > 0 {
        metrics.reconciled(start.elapsed());
        metrics.configs(rollout.config_bytes().map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)));
    }
    executor.carry_out(commands);
}

fn verdict_of(checked: &ModuleStatus) -> ModuleVerdict {
    let told = |error: &ModuleError| format!("{}: {error}", error.reason());
    match checked {
        ModuleStatus::Unknown => ModuleVerdict::Unchecked,
        ModuleStatus::Ok => ModuleVerdict::Sound,
        ModuleStatus::Failed(error) if error.is_wrong() => ModuleVerdict::Unsound(told(error)),
        ModuleStatus::Failed(error) => ModuleVerdict::NotFetched(told(error)),
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
    // Nothing else waits for the API server here: soon at first, and never so often that replicas burden it.
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));
    loop {
        let Ok(answer) = timeout(ANSWER_TIMEOUT, client.list_api_group_resources(&kind.api_version())).await else {
            tracing::warn!("it is not known whether {} is served: no answer within {ANSWER_TIMEOUT:?}", kind.name());
            continue;
        };
        match answer {
            Ok(list) if list.resources.iter().any(|resource| resource.kind == kind.name()) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code != 404 => {
                tracing::warn!(error = %status.message, "it is not known whether {} is served", kind.name());
            }
            Err(error) if !matches!(error, kube::Error::Api(_)) => {
                tracing::warn!(error = with_causes(&error), "it is not known whether {} is served", kind.name());
            }
            Ok(_) | Err(_) => {
                bail!("the cluster does not serve {}: use --filter-kind wasm-plugin, or Istio 1.30", kind.name());
            }
        }
        tokio::time::sleep(backoff.failed(fastrand::f64())).await;
    }
}
