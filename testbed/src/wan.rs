//! Clusters, and the WAN between them.
//!
//! Everything is real but the kubelet and the WAN: API servers with their controllers, istiods, istio-agents with
//! Envoy, our controller, an OCI registry that has our module. Nothing of it has a route out of the namespaces that
//! are made for it, and nothing is left behind. (Who wants the logs sets `MCWAN_KEEP_LOGS` to a folder.)

mod client;
mod core_dns;
mod flow;
mod impairment;
mod kube_proxy;
mod logs;
mod member;
mod packet;
mod plan;
pub mod play;
mod queue;
mod recording;
mod registry;
mod router;
mod service;
mod streams;
mod traffic;
mod weather;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use futures_util::future::{join_all, try_join_all};

pub use client::WanClient;
pub use flow::Direction;
pub use impairment::{Impairment, Ways};
pub use member::WanCluster;
pub use plan::Plan;
pub use recording::{Recording, Speech};
pub use streams::{Over, Stream, StreamPlan, Streams};
pub use traffic::{Count, Traffic};

use crate::cluster::folder::Folder;
use crate::namespace::Namespace;
use crate::network::Network;
use crate::oci_registry::{self, OciRegistry};
use crate::tools;
use crate::wait::until;
use logs::Logs;
use router::Router;

/// Where the OCI registry is.
const OCI_NETWORK: Network = Network::of_cluster(250);
const OCI_HOST: u8 = 2;

/// What the module is called in it.
const MODULE_REPOSITORY: &str = "mcwan-filter";

/// How long anything may take, on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Running clusters on a WAN. Everything ends when this is dropped.
pub struct TestWan {
    // Dropped in this order: first whoever needs the next.
    clusters: Vec<WanCluster>,
    oci_registry: OciRegistry,
    module: String,
    router: Router,
    logs: Logs,
    folder: Folder,
}

impl TestWan {
    /// Starts everything that is planned, and waits until it does its work.
    ///
    /// # Errors
    /// A tool is missing, we are not root, or something does not start; the message says what to run
    /// or ends with the log's last lines.
    pub async fn start(plan: Plan) -> Result<Self> {
        ensure!((1..=200).contains(&plan.clusters), "{} clusters cannot be started", plan.clusters);
        ensure!((1..=plan.clusters).contains(&plan.registry), "there is no cluster {} for the registry", plan.registry);
        let folder = Folder::new()?;
        let logs = Logs::new(folder.path());
        let router = Router::start(plan.seed)?;
        let (oci_registry, module) = start_oci_registry(&router, folder.path().to_owned()).await?;
        let clusters = (1..=plan.clusters).map(|number| {
            let folder = folder.path().join(member::id(number));
            WanCluster::start(number, folder, &router, &oci_registry)
        });
        let mut clusters = try_join_all(clusters).await?;
        let credentials = join_registry(&plan, &clusters).await?;
        let starts = clusters
            .iter_mut()
            .zip(&credentials)
            .map(|(cluster, credentials)| cluster.start_controllers(&plan, &module, credentials.as_deref()));
        try_join_all(starts).await?;
        Ok(Self { clusters, oci_registry, module, router, logs, folder })
    }

    /// A cluster, by its number from 1.
    ///
    /// # Panics
    /// There is no such cluster.
    #[expect(clippy::expect_used, reason = "whoever names a cluster has planned it")]
    pub fn cluster(&self, number: u8) -> &WanCluster {
        let mut clusters = self.clusters.iter();
        clusters.find(|cluster| cluster.number() == number).expect("a cluster that was planned")
    }

    /// The same, to kill and start things.
    ///
    /// # Panics
    /// There is no such cluster.
    #[expect(clippy::expect_used, reason = "whoever names a cluster has planned it")]
    pub fn cluster_mut(&mut self, number: u8) -> &mut WanCluster {
        let mut clusters = self.clusters.iter_mut();
        clusters.find(|cluster| cluster.number() == number).expect("a cluster that was planned")
    }

    /// The clusters, in the order of their numbers.
    pub fn clusters(&self) -> impl Iterator<Item = &WanCluster> {
        self.clusters.iter()
    }

    /// Makes a client in a cluster.
    ///
    /// # Errors
    /// No address is free.
    pub async fn client(&self, cluster: u8) -> Result<WanClient> {
        let cluster = self.cluster(cluster);
        Ok(WanClient::new(cluster.kubelet().hosts().attach().await?, cluster.network()))
    }

    /// What the module is pulled by, as the controllers were told at first.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// Starts the OCI registry again, and pushes the module again: it forgets what it had.
    ///
    /// # Errors
    /// It does not start, or take the module.
    pub async fn restart_oci_registry(&mut self) -> Result<()> {
        self.oci_registry.start().await?;
        self.oci_registry.push(&tools::image("module")?, MODULE_REPOSITORY).await?;
        Ok(())
    }

    /// The OCI registry that has the module.
    pub fn oci_registry(&mut self) -> &mut OciRegistry {
        &mut self.oci_registry
    }

    /// The folder of everything, the logs included. It goes with this.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What crossed the WAN so far.
    pub fn traffic(&self) -> Traffic {
        self.router.traffic()
    }

    /// Records from now on what clients say to each other's clusters. Gives what was recorded before.
    pub fn record(&self) -> Recording {
        self.router.record()
    }

    /// What was recorded since; recording ends.
    pub fn recorded(&self) -> Recording {
        self.router.recorded()
    }

    /// Loses all packets of a TCP port from now on, those to it and the replies, or none any more.
    pub fn cut_port(&self, port: u16, is_cut: bool) {
        self.router.change(|weather| weather.set_port_cut(port, is_cut));
    }

    /// Loses all packets between two clusters from now on, or none any more.
    pub fn cut(&self, one: u8, other: u8, is_cut: bool) {
        let (one, other) = (Network::of_cluster(one), Network::of_cluster(other));
        self.router.change(|weather| weather.set_pair_cut(one, other, is_cut));
    }

    /// Impairs what goes these ways from now on, in place of what was said of the same ways; what was said of others that
    /// have some of them adds up.
    pub fn impair(&self, ways: Ways, impairment: Impairment) {
        self.router.change(|weather| weather.impair(ways, impairment));
    }

    /// Waits until something holds, with patience.
    ///
    /// # Errors
    /// It fails or does not hold in time; the message ends with the last lines of every log.
    pub async fn until(&self, what: &str, condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let wait = until(PATIENCE, what, condition);
        wait.await.map_err(|error| anyhow!("{error:#}\n{}", self.logs.tails()))
    }

    /// Applies manifests to every cluster.
    ///
    /// # Errors
    /// An API server refuses one.
    pub async fn apply_everywhere(&self, yaml: &str) -> Result<()> {
        let all = self.clusters.iter().map(|cluster| cluster.apply(yaml));
        join_all(all).await.into_iter().collect()
    }
}

/// Prepares the registry and lets all clusters join. Gives their credentials; none for who holds it.
async fn join_registry(plan: &Plan, clusters: &[WanCluster]) -> Result<Vec<Option<PathBuf>>> {
    let mut all = clusters.iter();
    let holder = all.find(|cluster| cluster.number() == plan.registry).context("nobody holds the registry")?;
    registry::init(holder).await?;
    let joins = clusters.iter().map(async |cluster| {
        if cluster.number() == plan.registry {
            return Ok(None);
        }
        let labels = plan.labels.iter().filter(|(number, _)| *number == cluster.number());
        registry::join(holder, cluster, labels.map(|(_, label)| label.as_str())).await.map(Some)
    });
    try_join_all(joins).await
}

/// Starts the OCI registry, and pushes the module as it ships. Gives what it is pulled by.
async fn start_oci_registry(router: &Router, folder: PathBuf) -> Result<(OciRegistry, String)> {
    let namespace = Namespace::new().await?;
    router.join(OCI_NETWORK, &namespace.entrance(), Some(OCI_HOST)).await?;
    let address = SocketAddr::from((OCI_NETWORK.host(OCI_HOST), oci_registry::PORT));
    let mut registry = OciRegistry::inside(namespace, address, folder);
    registry.start().await?;
    let module = registry.push(&tools::image("module")?, MODULE_REPOSITORY).await.context("cannot push the module")?;
    Ok((registry, format!("oci://{module}")))
}
