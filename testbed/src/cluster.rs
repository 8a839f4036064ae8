//! A real Kubernetes control plane: etcd, the API server and the controllers that matter.

mod access;
mod control_plane;
mod crds;
pub(crate) mod folder;
pub(crate) mod forward;
mod prepared;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::child::Process;
use crate::loopback::Loopback;
use crate::namespace::Namespace;
use crate::network::Network;
use crate::tools;
use crate::wait::until;
use access::ADMIN;
pub(crate) use access::client;
use control_plane::Files;
pub(crate) use control_plane::PORT;
pub use crds::Crds;
use folder::Folder;

/// How long anything may take to start, on a machine that does much else.
const START: Duration = Duration::from_mins(2);

/// How long a token holds: as long as anybody may play with a cluster.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// How long one question may take whether the API server is ready.
const ATTEMPT: Duration = Duration::from_secs(5);

/// A Kubernetes control plane in a network namespace of its own.
///
/// The same URL reaches the API server from inside and, through a forwarder, from outside. Nothing is
/// left behind, however the process ends.
pub struct TestCluster {
    // Dropped in this order: first whoever needs the next.
    controller_manager: Option<Process>,
    api_server: Option<Process>,
    _etcd: Process,
    namespace: Namespace,
    client: Client,
    files: Files,
    network: Network,
    loopback: Loopback,
    // Last: everything else is in it.
    folder: Option<Folder>,
}

impl TestCluster {
    /// Starts a cluster that serves [`Crds::ALL`].
    ///
    /// # Errors
    /// A tool is missing, we are not root, or something does not start; the message says what to run
    /// or ends with the log's last lines.
    pub async fn start() -> Result<Self> {
        Self::start_with(&Crds::ALL).await
    }

    /// Starts a cluster that serves these custom resources only.
    ///
    /// # Errors
    /// As for [`TestCluster::start`].
    pub async fn start_with(crds: &[Crds]) -> Result<Self> {
        let folder = Folder::new()?;
        let mut cluster = Self::start_in(Network::default(), folder.path(), crds).await?;
        cluster.folder = Some(folder);
        Ok(cluster)
    }

    /// Starts a cluster in a network, its files in a folder that outlives it.
    pub(crate) async fn start_in(network: Network, folder: &Path, crds: &[Crds]) -> Result<Self> {
        let mut cluster = if crds == Crds::ALL {
            // Nearly all have these, and to admit the definitions takes an API server longer than to start with them.
            let data = prepared::data(Self::define_all).await?;
            Self::serve(network, folder, Some(&data)).await?
        } else {
            let cluster = Self::serve(network, folder, None).await?;
            cluster.install_all_crds(crds).await?;
            cluster
        };
        // Only now: it learns every 30 seconds which kinds there are to collect.
        cluster.start_controllers().await?;
        Ok(cluster)
    }

    /// Leaves data of etcd in which [`Crds::ALL`] are defined, and nothing else is: no other controller runs, as what those
    /// write is of one cluster alone, such as who signs its certificates.
    async fn define_all(folder: &Path) -> Result<()> {
        Self::serve(Network::default(), folder, None).await?.install_all_crds(&Crds::ALL).await
    }

    /// Starts an API server on this data, or on none, and waits until it serves what is defined there.
    async fn serve(network: Network, folder: &Path, data: Option<&Path>) -> Result<Self> {
        let files = Files::new(folder);
        if let Some(data) = data {
            files.take_data(data).await?;
        }
        let loopback = Loopback::take()?;
        let namespace = network.make().await?;
        let listener = TcpListener::bind((loopback.address(), PORT))?;
        let inside = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        namespace.run(move || forward::forward(listener, inside)).await??;

        let token = access::random_token()?;
        access::admit_admin(&files, &token)?;
        let kubeconfig = access::write_kubeconfig(&files, &url(&loopback), ADMIN, &token)?;
        let etcd = control_plane::etcd(&namespace, &files).await?;
        let mut api_server = control_plane::api_server(&namespace, &files, network).await?;
        // It writes the key last: once that is there, the certificate is whole.
        let key = files.key();
        api_server.until(START, "the API server has a certificate", async || Ok(key.exists())).await?;
        let client = access::client(&kubeconfig).await?;
        wait_for_api_server(&mut api_server, &client).await?;
        let cluster = Self {
            controller_manager: None,
            api_server: Some(api_server),
            _etcd: etcd,
            namespace,
            client,
            files,
            network,
            loopback,
            folder: None,
        };
        cluster.until_crds_are_served().await?;
        Ok(cluster)
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig of a user that may do everything.
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.files.kubeconfig(ADMIN)
    }

    /// Writes a kubeconfig with a new token of a service account, which must exist.
    ///
    /// # Errors
    /// There is no such service account.
    pub async fn kubeconfig(&self, namespace: &str, service_account: &str) -> Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let answer = accounts.create_token_request(service_account, &PostParams::default(), &request).await;
        let status = answer.with_context(|| format!("no token for {namespace}/{service_account}"))?.status;
        let token = status.and_then(|status| status.token).context("the API server answers without a token")?;
        access::write_kubeconfig(&self.files, &self.url(), &format!("{namespace}.{service_account}"), &token)
    }

    /// A client that may do what a service account may, which must exist.
    ///
    /// # Errors
    /// There is no such service account.
    pub async fn client_for(&self, namespace: &str, service_account: &str) -> Result<Client> {
        access::client(&self.kubeconfig(namespace, service_account).await?).await
    }

    /// Where the API server listens, the same inside and outside of the namespace.
    pub fn url(&self) -> String {
        url(&self.loopback)
    }

    /// Where the API server listens, for whoever reaches the cluster's network.
    pub fn inner_url(&self) -> String {
        format!("https://{}:{PORT}", self.network.control_plane())
    }

    /// The addresses of the cluster.
    pub fn network(&self) -> Network {
        self.network
    }

    /// The network namespace, to start more programs in it.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Where everything of it is, its logs included.
    pub(crate) fn folder(&self) -> &Path {
        self.files.folder()
    }

    /// What a program of it logs.
    pub fn log(&self, program: &str) -> PathBuf {
        self.files.log(program)
    }

    /// Runs kubectl as administrator and returns what it prints.
    ///
    /// # Errors
    /// It fails; the message has what it complains about.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with(arguments, "").await
    }

    /// Applies manifests (server-side) as administrator. The conflicts that this may have are won.
    ///
    /// # Errors
    /// The API server refuses one.
    pub async fn apply(&self, yaml: &str) -> Result<()> {
        self.kubectl_with(&["apply", "--server-side", "--force-conflicts", "-f", "-"], yaml).await?;
        Ok(())
    }

    /// Installs what is in `manifests`, with kustomize, as an overlay does that says by which name the registry knows the
    /// cluster.
    ///
    /// # Errors
    /// The API server refuses something of it, or there is nothing that the name is to be said in.
    pub async fn install_mcwan(&self, name: &str) -> Result<()> {
        const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests");
        const UNTOLD: &str = "(not told which one it is: see manifests/README.md)";
        let base = self.kubectl(&["kustomize", MANIFESTS]).await?;
        ensure!(base.contains(UNTOLD), "the manifests have no place for the cluster's name");
        self.apply(&base.replace(UNTOLD, name)).await
    }

    /// Installs custom resource definitions and waits until all are served.
    ///
    /// # Errors
    /// They are missing, refused, or not served in time.
    pub async fn install_crds(&self, crds: Crds) -> Result<()> {
        self.install_all_crds(&[crds]).await
    }

    async fn install_all_crds(&self, crds: &[Crds]) -> Result<()> {
        let folders: Vec<_> = crds.iter().map(|crds| crds.folder()).collect::<Result<_>>()?;
        if folders.is_empty() {
            return Ok(());
        }
        let mut arguments = vec!["apply", "--server-side", "--force-conflicts"];
        for folder in &folders {
            arguments.extend(["-f", folder.to_str().context("the folder of the tools has a name that is not text")?]);
        }
        self.kubectl(&arguments).await?;
        self.until_crds_are_served().await
    }

    async fn until_crds_are_served(&self) -> Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client());
        until(START, "all custom resources are served", async || {
            let all = definitions.list(&ListParams::default()).await?.items;
            Ok(all.iter().all(is_established) && self.tells_of(&all).await)
        })
        .await
    }

    /// Whether discovery names every version of these kinds: that comes a little later.
    async fn tells_of(&self, definitions: &[CustomResourceDefinition]) -> bool {
        let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for CustomResourceDefinition { spec, .. } in definitions {
            for version in spec.versions.iter().filter(|version| version.served) {
                kinds.entry(format!("{}/{}", spec.group, version.name)).or_default().push(&spec.names.kind);
            }
        }
        for (version, kinds) in kinds {
            let Ok(told) = self.client.list_api_group_resources(&version).await else { return false };
            if !kinds.iter().all(|kind| told.resources.iter().any(|resource| resource.kind == **kind)) {
                return false;
            }
        }
        true
    }

    /// Kills the API server. Connections to it break and new ones are closed at once.
    pub fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server again, with the same data, at the same URL; waits until it is ready.
    ///
    /// # Errors
    /// It does not become ready.
    pub async fn start_api_server(&mut self) -> Result<()> {
        let mut api_server = control_plane::api_server(&self.namespace, &self.files, self.network).await?;
        wait_for_api_server(&mut api_server, &self.client).await?;
        self.api_server = Some(api_server);
        Ok(())
    }

    /// Starts the controller manager and waits until it does its work.
    async fn start_controllers(&mut self) -> Result<()> {
        let kubeconfig = self.admin_kubeconfig();
        let mut manager = control_plane::controller_manager(&self.namespace, &self.files, &kubeconfig).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), "default");
        let is_made = async || Ok(accounts.get_opt("default").await?.is_some());
        manager.until(START, "the controllers make the default service account", is_made).await?;
        self.controller_manager = Some(manager);
        Ok(())
    }

    async fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut kubectl = Command::new(tools::program("kubectl")?);
        kubectl.arg("--kubeconfig").arg(self.admin_kubeconfig());
        kubectl.arg("--cache-dir").arg(self.files.kubectl_cache()).args(arguments);
        kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = kubectl.spawn().context("cannot start kubectl")?;
        if let Some(mut stdin) = child.stdin.take() {
            // It may end without reading, and says why then.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child.wait_with_output().await?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`kubectl {}` failed: {}", arguments.join(" "), complaint.trim());
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn url(loopback: &Loopback) -> String {
    format!("https://{}:{PORT}", loopback.address())
}

async fn wait_for_api_server(api_server: &mut Process, client: &Client) -> Result<()> {
    let mut last = String::new();
    let is_ready = async || {
        let request = http::Request::get("/readyz").body(Vec::new())?;
        // A connection of the time before it listened may never be answered.
        last = match timeout(ATTEMPT, client.request_text(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => format!("{:#}", anyhow::Error::new(error)),
            Err(_) => format!("nothing for {ATTEMPT:?}"),
        };
        Ok(last == "ok")
    };
    let waited = api_server.until(START, "the API server is ready", is_ready).await;
    waited.with_context(|| format!("it answers to /readyz: {last}"))
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Established" && one.status == "True"))
}
