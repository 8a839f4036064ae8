//! The real istiod, in a cluster of its own making.

pub mod analyze;
mod manifests;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::ListParams;
use tokio::net::TcpStream;

use crate::child::{Process, log_onto, mortal};
use crate::cluster::TestCluster;
use crate::network::Network;
use crate::tools;
use manifests::Manifests;

/// Istio's own namespace.
pub const NAMESPACE: &str = "istio-system";

/// Its service account.
const ACCOUNT: &str = "istiod";

/// Where agents ask for configuration and certificates.
const AGENT_PORT: u16 = 15_012;

/// Where the API server asks whether an object is sound.
const WEBHOOK_PORT: u16 = 15_017;

/// How long it may take to start, on a machine that does much else.
const START: Duration = Duration::from_mins(2);

/// What an istiod and its gateways are told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the cluster.
    pub cluster_id: String,
    /// OCI registries that speak plain HTTP, as `HOST:PORT`.
    pub insecure_registries: Vec<String>,
}

/// A running istiod with its validating webhook. It is killed when this is dropped.
#[derive(Debug)]
pub struct Istiod {
    process: Option<Process>,
    folder: PathBuf,
    kubeconfig: PathBuf,
    settings: Settings,
}

impl Istiod {
    /// Installs what istiod needs into a cluster that serves Istio's custom resources, starts it, and waits until it
    /// takes agents and the API server asks it.
    ///
    /// # Errors
    /// A tool is missing, or it does not start.
    pub async fn start(cluster: &TestCluster, settings: Settings) -> Result<Self> {
        let manifests = Manifests::generate(cluster.network(), &settings).await?;
        cluster.apply(&manifests.objects).await?;
        let folder = cluster.folder().join("istiod");
        for (path, content) in &manifests.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().context("a file has no folder")?)?;
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let kubeconfig = cluster.kubeconfig(NAMESPACE, ACCOUNT).await?;
        let mut istiod = Self { process: None, folder, kubeconfig, settings };
        istiod.restart(cluster).await?;
        istiod.validates(cluster).await?;
        Ok(istiod)
    }

    /// The OCI registries that its gateways speak plain HTTP to.
    pub fn insecure_registries(&self) -> &[String] {
        &self.settings.insecure_registries
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again, as a restarted container: its name stays. Waits until it takes agents.
    ///
    /// # Errors
    /// It does not start.
    pub async fn restart(&mut self, cluster: &TestCluster) -> Result<()> {
        self.process = None;
        let log = cluster.log("istiod");
        let mut command = mortal(tools::program("pilot-discovery")?);
        command.arg("discovery").arg("--kubeconfig").arg(&self.kubeconfig).current_dir(&self.folder);
        command.envs([
            ("POD_NAME", "istiod-0"),
            ("POD_NAMESPACE", NAMESPACE),
            ("SERVICE_ACCOUNT", ACCOUNT),
            ("REVISION", "default"),
            ("PILOT_CERT_PROVIDER", "istiod"),
            // Upstream Envoy lacks Istio's own filters.
            ("PILOT_ENABLE_ALPN_FILTER", "false"),
            ("PILOT_ENABLE_METADATA_EXCHANGE", "false"),
        ]);
        command.env("CLUSTER_ID", &self.settings.cluster_id);
        command.env("ISTIOD_CUSTOM_HOST", cluster.network().control_plane().to_string());
        log_onto(&mut command, &log)?;
        let child = cluster.namespace().spawn(command).await?;
        let mut process = Process::new("istiod", child, log);
        let address = SocketAddr::from((cluster.network().control_plane(), AGENT_PORT));
        let listens = async || Ok(cluster.namespace().perform(TcpStream::connect(address)).await?.is_ok());
        process.until(START, "istiod takes agents", listens).await?;
        self.process = Some(process);
        Ok(())
    }

    /// Waits until the API server asks it about each of Istio's objects.
    async fn validates(&mut self, cluster: &TestCluster) -> Result<()> {
        let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
        let process = self.process.as_mut().context("istiod does not run")?;
        let is_installed = async || {
            let all = webhooks.list(&ListParams::default().labels("istio.io/rev=default")).await?;
            let mut hooks = all.items.iter().flat_map(|one| one.webhooks.iter().flatten());
            Ok(hooks.all(|hook| hook.failure_policy.as_deref() == Some("Fail")))
        };
        process.until(START, "istiod's webhooks are installed", is_installed).await
    }
}

/// Where the agents of a cluster find istiod.
fn agent_address(network: Network) -> String {
    format!("{}:{AGENT_PORT}", network.control_plane())
}
