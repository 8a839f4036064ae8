//! The cluster that a command asks.

mod deployment;
mod registry;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use kube::{Api, Client};
use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind};
use mcwan_core::kind::{CLUSTER_CONNECTION, KindInfo};
use mcwan_core::snapshot::change::Change;
use mcwan_core::snapshot::{Key, Unreadable};
use mcwan_core::translate::{
    FrontEnds, NamespaceRule, Options, RouteOptions, Steering, SteeringKey, Translator, Trust,
};
use tokio::runtime::Builder;

use super::connection::{Connection, from_file};
use super::render;
use super::report::printable;
use crate::listing::Live;
use deployment::{Container, Deployment};
use registry::Registry;

/// The namespace of the controller.
pub(super) const SYSTEM_NAMESPACE: &str = "mc-wan-system";
/// The controller's Deployment, and its lease.
pub(super) const CONTROLLER: &str = "mcwan";

/// What to do where our kinds are not known.
const INSTALL: &str = "install mcwan first, by its Helm chart or with kustomize: manifests/README.md";

/// What it means that the controller's settings are not known.
const UNKNOWN_SETTINGS: &str = "its settings are taken to be the defaults, and the registry to be this API server \
    (--registry-kubeconfig and --cluster say otherwise)";

/// What to do where the registry does not answer: conditions stay.
const AWAY: &str = "the registry cannot be read (what the controller says meanwhile: \
    `kubectl get serviceimports.mc-wan.l7mp.io -A`)";

/// Steering values are secret, and the same on both sides of a comparison.
const NO_KEY: &str = "not the key of any cluster";

/// The cluster that a command asks.
#[derive(Debug, Args)]
pub(super) struct Cluster {
    #[command(flatten)]
    connection: Connection,
    /// The kubeconfig file of the registry; without it, that of the cluster's controller
    #[arg(long, value_name = "FILE")]
    registry_kubeconfig: Option<PathBuf>,
    /// The name of the cluster in the registry; without it, as its controller is configured
    #[arg(long = "cluster", value_name = "NAME")]
    name: Option<String>,
}

/// The settings of the controller, by the variables of its environment.
#[derive(Debug, Default)]
pub(super) struct Environment {
    variables: BTreeMap<String, String>,
    registry: Registry,
}

/// What a cluster has, and what it means.
pub(super) struct World {
    pub(super) live: Live,
    /// Whether its controller tells which clusters are alive.
    pub(super) is_judged: bool,
    pub(super) options: Options,
    pub(super) translator: Translator,
    pub(super) environment: Environment,
}

/// Runs a command that waits for others.
pub(super) fn block_on<T>(answer: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    Builder::new_current_thread().enable_all().build().context("there is no runtime")?.block_on(answer)
}

impl Cluster {
    /// A client, whose default namespace is the context's.
    pub(super) async fn client(&self) -> anyhow::Result<Client> {
        let config = self.connection.config().await?;
        Ok(Client::try_from(config)?)
    }

    /// The name of the cluster, if it was given.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Reads everything, and what it means.
    pub(super) async fn world(&self, client: &Client) -> anyhow::Result<World> {
        let environment = match Environment::read(client).await? {
            Ok(environment) => environment,
            Err(why) => {
                writeln!(anstream::stderr(), "warning: {why}: {UNKNOWN_SETTINGS}")?;
                Environment::default()
            }
        };
        let registry = match &self.registry_kubeconfig {
            Some(file) => Client::try_from(from_file(file, None).await.context("--registry-kubeconfig")?)?,
            None => environment.registry.client(client).await?,
        };
        let live = Live::list(client, &registry).await;
        let mut live = live.map_err(|error| {
            let what = if error.in_registry { AWAY } else { "the cluster cannot be read" };
            anyhow::Error::new(error).context(what)
        })?;
        // An earlier release lacks the one, and nothing depends on it.
        let is_needed = |kind: &&&KindInfo| kind.is_ours() && **kind != &CLUSTER_CONNECTION;
        if let Some(kind) = live.missing.iter().find(is_needed) {
            bail!("the cluster has no CustomResourceDefinition of {}: {INSTALL}", kind.name);
        }
        for (kind, Unreadable { metadata, error, .. }) in &live.unreadable {
            let mut log = anstream::stderr().lock();
            writeln!(
                log,
                "warning: {kind} {}: it cannot be read, and is not used: {}",
                Key::of(metadata),
                printable(error)
            )?;
        }
        let options = Options {
            cluster: self.name.clone().or_else(|| environment.get("MCWAN_CLUSTER_ID").map(str::to_owned)),
            steering_key: NO_KEY.parse::<SteeringKey>()?,
            steering: Steering::RouteHeader,
            mcs_version: live.mcs_version,
            trust: Trust { import_namespaces: environment.import_namespaces(), ..Trust::default() },
            front_ends: environment.front_ends(),
            routes: environment.routes(),
            cable_drivers: None,
        };
        let lease = match &options.cluster {
            Some(cluster) => registry::lease(&registry, cluster).await?,
            None => None,
        };
        let is_judged = lease.is_some();
        if let Some(lease) = lease {
            live.snapshot.judge(lease.stale);
            live.snapshot.refuse(lease.refused);
        }
        let mut translator = Translator::new(options.clone());
        translator.update(&live.snapshot, &[Change::Everything]);
        Ok(World { live, is_judged, options, translator, environment })
    }
}

impl Environment {
    /// Reads the controller's Deployment, or says why nothing is known.
    async fn read(client: &Client) -> anyhow::Result<Result<Self, String>> {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        let what = format!("Deployment {SYSTEM_NAMESPACE}/{CONTROLLER}");
        match deployments.get_opt(CONTROLLER).await {
            Ok(Some(deployment)) => Ok(Ok(Self::of(&deployment))),
            Ok(None) => Ok(Err(format!("{what} is not there"))),
            Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(Err(format!("{what} is not for you to see"))),
            Err(error) => Err(error).context("the API server does not answer"),
        }
    }

    fn of(deployment: &Deployment) -> Self {
        let variables = deployment.pod().containers.iter().flat_map(variables).collect();
        Self { variables, registry: Registry::of(deployment.pod()) }
    }

    /// Who applies the rules of imports that do not say.
    pub(super) fn data_plane(&self) -> DataPlane {
        let is_native = self.get("MCWAN_DATA_PLANE").is_some_and(|name| name.eq_ignore_ascii_case("native"));
        if is_native { DataPlane::Native } else { DataPlane::Wasm }
    }

    /// The resource by which Istio loads the filter.
    pub(super) fn filter_kind(&self) -> FilterKind {
        let name = self.get("MCWAN_FILTER_KIND").unwrap_or_default();
        render::FilterKind::from_str(name, true).unwrap_or_default().into()
    }

    /// Who is told of the requests through egress gateways.
    pub(super) fn access_log(&self) -> AccessLog {
        let name = self.get("MCWAN_ACCESS_LOG").filter(|name| !name.is_empty());
        name.and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// Which kinds give rules beside `ServiceImport`.
    fn front_ends(&self) -> FrontEnds {
        // As the controller has it by default.
        let default = FrontEnds { openshift_route: false, ..FrontEnds::default() };
        self.get("MCWAN_FRONT_ENDS").and_then(|kinds| kinds.parse().ok()).unwrap_or(default)
    }

    /// What holds for all `Route`s of `OpenShift`.
    fn routes(&self) -> RouteOptions {
        let default = RouteOptions::default();
        let given = |variable: &str| self.get(variable).filter(|text| !text.is_empty()).map(str::to_owned);
        RouteOptions {
            selector: given("MCWAN_ROUTE_SELECTOR").and_then(|text| text.parse().ok()).unwrap_or(default.selector),
            domain: given("MCWAN_ROUTE_DOMAIN"),
            router_name: given("MCWAN_ROUTER_NAME").unwrap_or(default.router_name),
            certificate: given("MCWAN_ROUTE_CERTIFICATE"),
        }
    }

    /// Where other clusters' exports are imported.
    fn import_namespaces(&self) -> NamespaceRule {
        let NamespaceRule { allowed, denied } = NamespaceRule::default();
        let list = |variable: &str| self.get(variable)?.parse().ok();
        NamespaceRule {
            allowed: list("MCWAN_IMPORT_NAMESPACES").unwrap_or(allowed),
            denied: list("MCWAN_DENIED_IMPORT_NAMESPACES").unwrap_or(denied),
        }
    }

    pub(super) fn get(&self, variable: &str) -> Option<&str> {
        self.variables.get(variable).map(String::as_str)
    }
}

fn variables(container: &Container) -> impl Iterator<Item = (String, String)> {
    container.env.iter().filter_map(|variable| Some((variable.name.clone(), variable.value.clone()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_controller_is_configured_by_its_environment() {
        let env = json!([{"name": "MCWAN_CLUSTER_ID", "value": "c1"}, {"name": "MCWAN_DATA_PLANE", "value": "native"},
            {"name": "MCWAN_FRONT_ENDS", "value": ""}, {"name": "MCWAN_IMPORT_NAMESPACES", "value": "shop"}, {"name": "MCWAN_DENIED_IMPORT_NAMESPACES", "value": ""}]);
        let pod = json!({"spec": {"containers": [{"name": "mcwan", "env": env}]}});
        let deployment = json!({"metadata": {}, "spec": {"selector": {}, "template": pod}});
        let environment = Environment::of(&serde_json::from_value(deployment).unwrap());
        assert_eq!(environment.get("MCWAN_CLUSTER_ID"), Some("c1"));
        assert_eq!(environment.data_plane(), DataPlane::Native);
        assert_eq!(Environment::default().data_plane(), DataPlane::Wasm, "nothing is known");
        assert!(!environment.front_ends().http_route && Environment::default().front_ends().http_route);
        assert!(!Environment::default().front_ends().openshift_route, "off unless somebody asks for it");
        assert!(!Environment::default().import_namespaces().admits("kube-system"), "as by default");
        assert!(!environment.import_namespaces().admits("other") && environment.import_namespaces().admits("shop"));
    }
}
