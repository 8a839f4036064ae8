//! One cluster on the WAN, with everything that runs in it.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::plan::Plan;
use super::router::Router;
use super::{PATIENCE, core_dns, kube_proxy, service};
use crate::child::Process;
use crate::cluster::{Crds, TestCluster};
use crate::controller::{Controller, Settings};
use crate::istiod::{self, Istiod};
use crate::kubelet::Kubelet;
use crate::network::Network;
use crate::oci_registry::OciRegistry;
use crate::wait::until;

/// The admin port of the first replica of the controller; the others have the next ones.
const FIRST_ADMIN_PORT: u16 = 8081;

/// Our own namespace.
const SYSTEM: &str = "mc-wan-system";

/// The label of a pod that was made for a Gateway.
const GATEWAY_LABEL: &str = "gateway.networking.k8s.io/gateway-name";

/// A cluster on the WAN. What a [`TestCluster`] can do, it can do.
pub struct WanCluster {
    // Dropped in this order: first whoever needs the next.
    controllers: Vec<Option<Controller>>,
    _core_dns: Process,
    _kube_proxy: Process,
    kubelet: Kubelet,
    istiod: Istiod,
    cluster: TestCluster,
    number: u8,
    launch: Option<Launch>,
}

/// How the controllers are started.
#[derive(Clone, Debug)]
struct Launch {
    module: String,
    arguments: Vec<String>,
}

/// The name of a cluster.
pub(super) fn id(number: u8) -> String {
    format!("cluster-{number}")
}

impl WanCluster {
    /// Starts a cluster on the WAN, without controllers of ours.
    pub(super) async fn start(
        number: u8,
        folder: PathBuf,
        router: &Router,
        oci_registry: &OciRegistry,
    ) -> Result<Self> {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let network = Network::of_cluster(number);
        let cluster = TestCluster::start_in(network, &folder, &Crds::ALL).await?;
        router.join(network, &cluster.namespace().entrance(), None).await?;
        let insecure_registries = vec![oci_registry.address().to_string()];
        let settings = istiod::Settings { cluster_id: id(number), insecure_registries };
        let (istiod, kubelet, ()) = tokio::try_join!(
            Istiod::start(&cluster, settings),
            async { Kubelet::start(&cluster, &id(number)).await },
            install(&cluster, number),
        )?;
        // The one asks for its node.
        let (kube_proxy, core_dns) = tokio::try_join!(kube_proxy::start(&cluster), core_dns::start(&cluster))?;
        Ok(Self {
            controllers: Vec::new(),
            _core_dns: core_dns,
            _kube_proxy: kube_proxy,
            kubelet,
            istiod,
            cluster,
            number,
            launch: None,
        })
    }

    /// Starts the replicas of the controller, with the credentials for a registry that is elsewhere.
    pub(super) async fn start_controllers(&mut self, plan: &Plan, module: &str, registry: Option<&Path>) -> Result<()> {
        let insecure = self.istiod.insecure_registries().join(",");
        let mut arguments = vec!["--insecure-registry".to_owned(), insecure];
        if let Some(kubeconfig) = registry {
            arguments.extend(["--registry-kubeconfig".to_owned(), kubeconfig.display().to_string()]);
        }
        arguments.extend(plan.controller_arguments.iter().cloned());
        self.launch = Some(Launch { module: module.to_owned(), arguments });
        let this = &*self;
        let replicas = try_join_all((0..plan.replicas).map(|replica| this.controller_process(replica))).await?;
        self.controllers = replicas.into_iter().map(Some).collect();
        Ok(())
    }

    /// Its number.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Its name in the registry.
    pub fn id(&self) -> String {
        id(self.number)
    }

    /// Its kubelet, which kills what runs in pods.
    pub fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }

    /// Its istiod.
    pub fn istiod_mut(&mut self) -> &mut Istiod {
        &mut self.istiod
    }

    /// Starts its istiod again, as a restarted container.
    ///
    /// # Errors
    /// It does not start.
    pub async fn restart_istiod(&mut self) -> Result<()> {
        self.istiod.restart(&self.cluster).await
    }

    /// The replicas of the controller that run.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.controllers.iter().flatten()
    }

    /// The replica of the controller that leads, as soon as one does: its index.
    ///
    /// # Errors
    /// None leads in time.
    pub async fn leader(&self) -> Result<u8> {
        let mut leader = None;
        let leads = async || {
            for (index, controller) in (0..).zip(&self.controllers) {
                let Some(controller) = controller else { continue };
                if controller.metric("mcwan_leader").await.ok().flatten() == Some(1.0) {
                    leader = Some(index);
                }
            }
            Ok(leader.is_some())
        };
        until(PATIENCE, "a replica leads", leads).await?;
        leader.context("no replica leads")
    }

    /// Kills a replica of the controller, as `kill -9` does.
    pub fn kill_controller(&mut self, index: u8) {
        if let Some(controller) = self.controllers.get_mut(usize::from(index)) {
            *controller = None;
        }
    }

    /// Kills all of them.
    pub fn kill_controllers(&mut self) {
        self.controllers.fill_with(|| None);
    }

    /// Lets replicas that start from now on ship another module, with more arguments.
    pub fn change_launch(&mut self, module: &str, arguments: &[&str]) {
        if let Some(launch) = &mut self.launch {
            module.clone_into(&mut launch.module);
            launch.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        }
    }

    /// Kills all replicas of the controller, and starts them again at once.
    ///
    /// # Errors
    /// They do not become ready.
    pub async fn restart_controllers(&mut self) -> Result<()> {
        self.kill_controllers();
        for index in (0..).take(self.controllers.len()) {
            self.start_controller(index).await?;
        }
        Ok(())
    }

    /// Starts a replica of the controller again, and waits until it is ready.
    ///
    /// # Errors
    /// It does not become ready.
    pub async fn start_controller(&mut self, index: u8) -> Result<()> {
        let controller = self.controller_process(index).await?;
        let place = self.controllers.get_mut(usize::from(index)).context("there is no such replica")?;
        *place = Some(controller);
        Ok(())
    }

    /// The ready endpoints of a port of a Service, as kube-proxy would use them; none where there is no such Service.
    ///
    /// # Errors
    /// The API server does not answer, or the Service lacks the port.
    pub async fn endpoints(&self, namespace: &str, service: &str, port: u16) -> Result<Vec<SocketAddr>> {
        service::endpoints(&self.cluster.client(), namespace, service, port).await
    }

    /// One of them, as soon as there is one.
    ///
    /// # Errors
    /// There is none in time.
    pub async fn service_address(&self, namespace: &str, service: &str, port: u16) -> Result<SocketAddr> {
        let mut found = None;
        until(PATIENCE, &format!("Service {namespace}/{service} has a ready endpoint"), async || {
            found = self.endpoints(namespace, service, port).await?.first().copied();
            Ok(found.is_some())
        })
        .await?;
        found.context("there is no endpoint")
    }

    /// The pods of a Gateway.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn gateway_pods(&self, namespace: &str, gateway: &str) -> Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.cluster.client(), namespace);
        let parameters = ListParams::default().labels(&format!("{GATEWAY_LABEL}={gateway}"));
        let mut pods = pods.list(&parameters).await?.items;
        pods.sort_by_key(ResourceExt::name_any);
        Ok(pods)
    }

    async fn controller_process(&self, index: u8) -> Result<Controller> {
        let launch = self.launch.as_ref().context("no controllers were planned")?;
        let arguments: Vec<_> = launch.arguments.iter().map(String::as_str).collect();
        let settings = Settings {
            replica: &format!("replica-{index}"),
            cluster_id: &self.id(),
            module: &launch.module,
            arguments: &arguments,
        };
        Controller::start_inside(&self.cluster, &settings, FIRST_ADMIN_PORT + u16::from(index)).await
    }
}

impl Deref for WanCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.cluster
    }
}

impl DerefMut for WanCluster {
    fn deref_mut(&mut self) -> &mut TestCluster {
        &mut self.cluster
    }
}

/// Installs what our controller needs. Its own Deployment is told to have no pods: the harness runs them.
/// What the chart adds where `Route`s give rules.
const ROUTES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: mcwan-routes}
rules:
- {apiGroups: [route.openshift.io], resources: [routes], verbs: [get, list, watch]}
- {apiGroups: [route.openshift.io], resources: [routes/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: mcwan-routes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: mcwan-routes}
subjects: [{kind: ServiceAccount, name: mcwan, namespace: mc-wan-system}]
";

async fn install(cluster: &TestCluster, number: u8) -> Result<()> {
    cluster.install_mcwan(&id(number)).await?;
    cluster.apply(ROUTES).await?;
    let scaled = cluster.kubectl(&["scale", "deployment", "--namespace", SYSTEM, "--all", "--replicas", "0"]).await?;
    ensure!(scaled.contains("scaled"), "our Deployment is not there: {scaled}");
    Ok(())
}
