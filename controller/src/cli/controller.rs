//! `mcwan controller`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use http::Uri;
use kube::{Client, Config as KubeConfig};
use mcwan_core::api::{RouteSelector, is_secret_name};
use mcwan_core::emit::kubernetes::AccessLog;
use mcwan_core::translate::{FrontEnds, NamespaceList, NamespaceRule, RouteOptions, Trust};
use tokio::net::lookup_host;
use tokio::runtime::Builder;
use tracing::{Level, info, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::cluster::SYSTEM_NAMESPACE;
use super::connection::{from_file, until_changed, usual};
use super::render::{DataPlane, FilterKind};
use crate::controller::{self, Config, Timing};
use crate::gateways::STATS_PORT;
use crate::leader;
use crate::module::{ModuleCheck, ModuleRef, use_ring};

/// How long the registry may take to take a connection: across a WAN that is cut, none is refused.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection to the registry may be silent: its watches end after 30 s. One that died without a word would
/// else be found out by TCP alone, after a quarter of an hour.
const SILENCE: Duration = Duration::from_secs(45);
/// The same of this cluster's API server, whose watches end after 290 s.
const OWN_SILENCE: Duration = Duration::from_secs(305);

/// Between two looks at the registry's kubeconfig: a kubelet renews what is mounted of a Secret about once a minute.
const LOOK: Duration = Duration::from_secs(30);

/// Run the controller of a cluster
///
/// It watches the API server that KUBECONFIG or the pod's service account names, and writes what follows from it, as
/// `mcwan render --to kubernetes` prints it. Of several replicas one works and the others stand by.
#[derive(Debug, Args)]
pub(super) struct Controller {
    /// The name of this cluster in the registry: a DNS label that no other cluster has
    #[arg(long, env = "MCWAN_CLUSTER_ID", value_name = "NAME")]
    cluster_id: String,
    /// The network of this cluster: clusters of one network reach each other's pods without a gateway, a DNS label; without
    /// it, the cluster has one of its own
    #[arg(long, env = "MCWAN_NETWORK", value_name = "NAME")]
    network: Option<String>,
    /// The cable drivers that this cluster supports, with commas between them: tiers that have one, and policies that ask for
    /// one, lead to clusters that support it, too
    #[arg(long, env = "MCWAN_CABLE_DRIVERS", value_name = "NAME,…", value_delimiter = ',')]
    cable_drivers: Vec<String>,
    /// The filter's module: `oci://HOST/REPOSITORY@sha256:…`, or `https://HOST/PATH` with --module-sha256
    #[arg(long, env = "MCWAN_MODULE", value_name = "URL")]
    module: String,
    /// The SHA-256 of the module in hexadecimal, where its URL does not name a digest
    #[arg(long, env = "MCWAN_MODULE_SHA256", value_name = "HEX")]
    module_sha256: Option<String>,
    /// An OCI registry, as HOST[:PORT], that speaks plain HTTP; may be repeated
    #[arg(long, env = "MCWAN_INSECURE_REGISTRIES", value_name = "HOST", value_delimiter = ',')]
    insecure_registry: Vec<String>,
    /// A docker config file with credentials for OCI registries, for the check of the module: gateways get none of them,
    /// and they are sent by TLS only
    #[arg(long, env = "MCWAN_REGISTRY_CONFIG", value_name = "FILE")]
    registry_config: Option<PathBuf>,
    /// A PEM file of certificate authorities to trust beside the usual ones
    #[arg(long, env = "MCWAN_CERTIFICATE_AUTHORITIES", value_name = "FILE")]
    certificate_authorities: Option<PathBuf>,
    /// The kubeconfig file of the registry of the clusters; without it, that is the API server of this cluster
    #[arg(long, env = "MCWAN_REGISTRY_KUBECONFIG", value_name = "FILE")]
    registry_kubeconfig: Option<PathBuf>,
    /// Seconds for which a cluster may be silent before others do without it; its Lease is renewed three times as often
    #[arg(long, env = "MCWAN_CLUSTER_LEASE_SECONDS", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(3..=3_600))]
    cluster_lease_seconds: u64,
    /// The namespaces that exports are imported into, this cluster's own among them; commas between them, a name may end in `*`
    #[arg(long, env = "MCWAN_IMPORT_NAMESPACES", value_name = "NAMES", default_value = "*")]
    import_namespaces: NamespaceList,
    /// Those of them that nothing is imported into
    #[arg(long, env = "MCWAN_DENIED_IMPORT_NAMESPACES", value_name = "NAMES", default_value = "kube-*")]
    denied_import_namespaces: NamespaceList,
    /// The kinds that may give an import its rules where its `ServiceImport` has none, commas between them: `HTTPRoute`,
    /// `GRPCRoute`; and `Route` of `route.openshift.io`, which has hosts of its own
    #[arg(long, env = "MCWAN_FRONT_ENDS", value_name = "KINDS", default_value = "HTTPRoute,GRPCRoute")]
    front_ends: FrontEnds,
    /// The labels of the `Route`s that are ours, commas between them
    #[arg(long, env = "MCWAN_ROUTE_SELECTOR", value_name = "LABELS", default_value_t)]
    route_selector: RouteSelector,
    /// The domain of the hosts of `Route`s that name none
    #[arg(long, env = "MCWAN_ROUTE_DOMAIN", value_name = "DOMAIN")]
    route_domain: Option<String>,
    /// What the controller is called in the status of `Route`s
    #[arg(long, env = "MCWAN_ROUTER_NAME", value_name = "NAME", default_value = "mcwan")]
    router_name: String,
    /// The Secret in the namespace of a `Route` with the certificate for one that names none
    #[arg(long, env = "MCWAN_ROUTE_CERTIFICATE", value_name = "NAME")]
    route_certificate: Option<String>,
    /// Seconds for which the egress gateways of a cluster that is stale are admitted, counted while the registry can be
    /// reached; 0: for as long as the cluster is registered
    #[arg(long, env = "MCWAN_STALE_GATEWAY_SECONDS", value_name = "SECONDS", default_value_t = 0)]
    stale_gateway_seconds: u64,
    /// The class of the Gateways
    #[arg(long, env = "MCWAN_GATEWAY_CLASS", value_name = "NAME", default_value = "istio")]
    gateway_class: String,
    /// Who applies the rules of imports that do not say
    #[arg(long, env = "MCWAN_DATA_PLANE", value_enum, default_value_t)]
    data_plane: DataPlane,
    /// The resource by which Istio loads the filter; changed, requests are refused until the gateways have the new one
    #[arg(long, env = "MCWAN_FILTER_KIND", value_enum, value_name = "KIND", default_value_t)]
    filter_kind: FilterKind,
    /// Who is told of each request through an egress gateway: an extension provider of the mesh, or `mesh`, whoever it
    /// tells of all others
    #[arg(long, env = "MCWAN_ACCESS_LOG", value_name = "PROVIDER", default_value_t)]
    access_log: AccessLog,
    /// Where /livez, /readyz and /metrics are served; [::] is every address, by IPv4 alone where there is no IPv6
    #[arg(long, env = "MCWAN_ADMIN_ADDRESS", value_name = "ADDRESS:PORT", default_value = "[::]:8080")]
    admin_address: SocketAddr,
    /// The controller's own namespace
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME", default_value = SYSTEM_NAMESPACE)]
    namespace: String,
    /// The name of this replica
    #[arg(long, env = "POD_NAME", value_name = "NAME", default_value = "mcwan")]
    replica: String,
    /// Seconds for which a leader may be silent before another replica takes over
    #[arg(long, env = "MCWAN_LEASE_SECONDS", value_name = "SECONDS", default_value_t = 15,
        value_parser = clap::value_parser!(u64).range(3..=3_600))]
    lease_seconds: u64,
    /// Milliseconds that gateways get to learn new targets before the filter steers to them, and new exports before other
    /// clusters hear of them
    #[arg(long, env = "MCWAN_TARGET_LEAD_MS", value_name = "MS", default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(..=600_000))]
    target_lead_ms: u64,
    /// Seconds for which targets stay in the routes after the rules no longer name them, and for which new rules wait for a
    /// route that is not taken
    #[arg(long, env = "MCWAN_TARGET_GRACE_SECONDS", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(..=86_400))]
    target_grace_seconds: u64,
    /// The port where gateway pods serve their statistics
    #[arg(long, env = "MCWAN_GATEWAY_STATS_PORT", value_name = "PORT", default_value_t = STATS_PORT)]
    gateway_stats_port: u16,
    /// Requests to the API server at once, and as many to the registry
    #[arg(long, env = "MCWAN_CONCURRENCY", value_name = "NUMBER", default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    concurrency: u16,
    /// The form of the log, which goes to standard error
    #[arg(long, env = "MCWAN_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
    /// The least level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "MCWAN_LOG_LEVEL", value_name = "LEVEL", default_value_t = Level::INFO)]
    log_level: Level,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// A JSON object a line
    Json,
}

impl Controller {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        self.start_log();
        use_ring();
        let mut config = self.config()?;
        let runtime =
            Builder::new_multi_thread().worker_threads(2).enable_all().build().context("there is no runtime")?;
        runtime.block_on(async {
            let mut kube = usual(None).await?;
            kube.read_timeout = Some(OWN_SILENCE);
            let (mut registry, mut before) = (None, Vec::new());
            if let Some(file) = &self.registry_kubeconfig {
                before = fs::read(file).with_context(|| format!("--registry-kubeconfig {}", file.display()))?;
                let mut config = from_file(file, None).await.context("--registry-kubeconfig")?;
                config.connect_timeout = Some(CONNECT_TIMEOUT);
                config.read_timeout = Some(SILENCE);
                registry = Some(config);
            }
            for server in [Some(&kube), registry.as_ref()].into_iter().flatten() {
                config.trust.refused_addresses.extend(addresses_of(&server.cluster_url).await);
            }
            let registry = registry.map(client_of).transpose()?;
            let outdated = async {
                match &self.registry_kubeconfig {
                    Some(file) => until_changed(file, &before, LOOK).await,
                    None => std::future::pending().await,
                }
                info!("the kubeconfig of the registry has changed: this process ends, and the next one reads it");
            };
            controller::run(client_of(kube)?, registry, config, outdated).await
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn config(&self) -> anyhow::Result<Config> {
        anyhow::ensure!(mcwan_policy::is_label(&self.cluster_id), "--cluster-id {} is no DNS label", self.cluster_id);
        let cable_drivers: Vec<_> = self.cable_drivers.iter().filter(|driver| !driver.is_empty()).cloned().collect();
        for driver in &cable_drivers {
            anyhow::ensure!(mcwan_policy::is_label(driver), "--cable-drivers: {driver} is no DNS label");
        }
        let most = mcwan_core::api::limits::CABLE_DRIVERS;
        anyhow::ensure!(cable_drivers.len() <= most, "--cable-drivers: at most {most}");
        let different: BTreeSet<_> = cable_drivers.iter().collect();
        anyhow::ensure!(different.len() == cable_drivers.len(), "--cable-drivers: each only once");
        if let Some(network) = &self.network {
            anyhow::ensure!(mcwan_policy::is_label(network), "--network {network} is no DNS label");
        }
        let module = match &self.module_sha256 {
            Some(digest) => format!("{}@sha256:{digest}", self.module),
            None => self.module.clone(),
        };
        let lease = Duration::from_secs(self.lease_seconds);
        Ok(Config {
            cluster: self.cluster_id.clone(),
            network: self.network.clone(),
            cable_drivers,
            namespace: self.namespace.clone(),
            identity: format!("{}_{:016x}", self.replica, fastrand::u64(..)),
            admin: self.admin_address,
            gateway_class: self.gateway_class.clone(),
            data_plane: mcwan_core::api::DataPlane::from(self.data_plane),
            filter: self.filter_kind.into(),
            access_log: self.access_log.clone(),
            module: ModuleCheck {
                module: module.parse::<ModuleRef>().context("--module")?,
                insecure_registries: self.insecure_registry.clone(),
                registry_config: self.registry_config.clone(),
                authorities: self.certificate_authorities.clone(),
            },
            lease: leader::Timing::new(lease, lease.mul_f64(2.0 / 3.0), lease / 8).context("--lease-seconds")?,
            cluster_lease: Duration::from_secs(self.cluster_lease_seconds),
            timing: Timing {
                lead: Duration::from_millis(self.target_lead_ms),
                grace: Duration::from_secs(self.target_grace_seconds),
            },
            concurrency: self.concurrency.into(),
            front_ends: self.front_ends,
            routes: self.routes()?,
            trust: Trust {
                import_namespaces: self.import_namespaces(),
                stale_gateways: (self.stale_gateway_seconds > 0)
                    .then(|| Duration::from_secs(self.stale_gateway_seconds)),
                ..Trust::default()
            },
            gateway_stats_port: self.gateway_stats_port,
        })
    }

    fn routes(&self) -> anyhow::Result<RouteOptions> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (domain, certificate) = (given(&self.route_domain), given(&self.route_certificate));
        if let Some(domain) = &domain {
            anyhow::ensure!(domain.split('.').all(mcwan_policy::is_label), "--route-domain {domain} is no DNS name");
        }
        if let Some(name) = &certificate {
            anyhow::ensure!(is_secret_name(name), "--route-certificate: no Secret can be called {name}");
        }
        let (selector, router_name) = (self.route_selector.clone(), self.router_name.clone());
        Ok(RouteOptions { selector, domain, router_name, certificate })
    }

    fn import_namespaces(&self) -> NamespaceRule {
        NamespaceRule { allowed: self.import_namespaces.clone(), denied: self.denied_import_namespaces.clone() }
    }

    /// Logs what we say at the level that is asked for, and of the libraries only what is wrong.
    fn start_log(&self) {
        let levels = Targets::new().with_target("mcwan", self.log_level).with_default(Level::WARN);
        let log = tracing_subscriber::fmt().with_max_level(self.log_level).with_writer(io::stderr);
        match self.log_format {
            LogFormat::Text => log.with_ansi(false).finish().with(levels).init(),
            LogFormat::Json => log.json().flatten_event(true).finish().with(levels).init(),
        }
    }
}

/// The addresses of an API server as its name leads there by now; none where it leads nowhere.
async fn addresses_of(server: &Uri) -> Vec<IpAddr> {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    match lookup_host((host, 0)).await {
        Ok(addresses) => addresses.map(|address| address.ip()).collect(),
        Err(error) => {
            warn!(host, %error, "the addresses of an API server are not known, and not refused as a gateway's");
            Vec::new()
        }
    }
}

/// A client that does not try again: we wait by ourselves, and do something else meanwhile.
fn client_of(mut config: KubeConfig) -> anyhow::Result<Client> {
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
