//! The real controller as a child process.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::task::AbortHandle;

use crate::child::{Process, log_into, log_onto, mortal};
use crate::client::{self, Request, Response};
use crate::cluster::TestCluster;
use crate::cluster::forward::forward;
use crate::loopback::Loopback;
use crate::tools;
use crate::wait::until;

/// The namespace and name of the controller's service account.
const ACCOUNT: (&str, &str) = ("mc-wan-system", "mcwan");

/// The port of the admin server, for those outside of a cluster.
const ADMIN_PORT: u16 = 8080;

/// How long it may take to start, on a machine that does much else.
const START: Duration = Duration::from_mins(2);

/// What the API server says where rights do not suffice: those of a role, of a policy, and to own what is written.
const FORBIDDEN: [&str; 3] = [
    " is forbidden: User ",
    " is forbidden: ValidatingAdmissionPolicy 'mcwan-",
    " is forbidden: cannot set blockOwnerDeletion ",
];

/// What the log says of refusals that may pass: an API server that has just started refuses everything until it knows
/// its roles. Who may never watch, or read the steering key, is never ready, and who may never write a Lease never leads, or
/// is stale to the others.
const PASSING: [&str; 5] = [
    "cannot watch",
    "no steering key yet",
    "mcwan-steering-key cannot be watched",
    "the lease cannot be read or written",
    "the Lease of this cluster cannot be renewed",
];

/// A running replica of the controller. It is killed when this is dropped, and must not have been refused anything for
/// want of rights.
#[derive(Debug)]
pub struct Controller {
    process: Process,
    log: PathBuf,
    admin: SocketAddr,
    _folder: Option<TempDir>,
    _loopback: Loopback,
    _forwarding: Option<Forwarding>,
}

/// The way to the admin port of a replica inside a cluster. It ends when this is dropped.
#[derive(Debug)]
struct Forwarding(AbortHandle);

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How a replica is started.
#[derive(Clone, Debug)]
pub struct Settings<'s> {
    /// The name of the replica.
    pub replica: &'s str,
    /// The name of the cluster.
    pub cluster_id: &'s str,
    /// Where the module is.
    pub module: &'s str,
    /// More arguments.
    pub arguments: &'s [&'s str],
}

impl Controller {
    /// Starts a replica with the rights of its service account, which must be there, and waits until it is ready.
    ///
    /// # Errors
    /// It ends, or does not become ready.
    pub async fn start(cluster: &TestCluster, settings: &Settings<'_>) -> Result<Self> {
        let mut controller = Self::begin(cluster, settings).await?;
        let admin = controller.admin;
        let is_ready = async || Ok(ask(admin, "/readyz").await.is_ok());
        controller.process.until(START, "the controller is ready", is_ready).await?;
        Ok(controller)
    }

    /// Starts a replica and does not wait.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn begin(cluster: &TestCluster, settings: &Settings<'_>) -> Result<Self> {
        let loopback = Loopback::take()?;
        let admin = SocketAddr::from((loopback.address(), ADMIN_PORT));
        let folder = tempfile::Builder::new().prefix("mcwan-controller-").tempdir()?;
        let log = folder.path().join("controller.log");
        let mut command = command(cluster, settings, admin).await?;
        log_into(&mut command, &log)?;
        let child = command.spawn().context("cannot start the controller")?;
        let process = Process::new("the controller", child, log.clone());
        Ok(Self { process, log, admin, _folder: Some(folder), _loopback: loopback, _forwarding: None })
    }

    /// Starts a replica in the cluster's network, where it reaches the cluster's pods, and waits until it is ready.
    /// Its admin server listens on `port` of the control plane's address. It logs beside the cluster's other programs.
    ///
    /// # Errors
    /// It ends, or does not become ready.
    pub async fn start_inside(cluster: &TestCluster, settings: &Settings<'_>, port: u16) -> Result<Self> {
        let loopback = Loopback::take()?;
        let admin = SocketAddr::from((loopback.address(), ADMIN_PORT));
        let listener = TcpListener::bind(admin).with_context(|| format!("cannot listen on {admin}"))?;
        let inside = SocketAddr::from((cluster.network().control_plane(), port));
        let forwarding = cluster.namespace().run(move || forward(listener, inside)).await??;
        let log = cluster.log(&format!("mcwan-{}", settings.replica));
        let mut command = command(cluster, settings, inside).await?;
        log_onto(&mut command, &log)?;
        let child = cluster.namespace().spawn(command).await?;
        let process = Process::new("the controller", child, log.clone());
        let forwarding = Some(Forwarding(forwarding));
        let mut controller = Self { process, log, admin, _folder: None, _loopback: loopback, _forwarding: forwarding };
        let is_ready = async || Ok(ask(admin, "/readyz").await.is_ok());
        controller.process.until(START, "the controller is ready", is_ready).await?;
        Ok(controller)
    }

    /// The value of a metric: the name with its labels, as `/metrics` writes it. None: there is no such line.
    ///
    /// # Errors
    /// The controller does not answer.
    pub async fn metric(&self, name: &str) -> Result<Option<f64>> {
        let text = ask(self.admin, "/metrics").await?;
        let mut lines = text.lines().filter_map(|line| line.rsplit_once(' '));
        Ok(lines.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok()))
    }

    /// Why it is not ready; none: it is.
    ///
    /// # Errors
    /// The controller does not answer.
    pub async fn unreadiness(&self) -> Result<Option<String>> {
        let response = get(self.admin, "/readyz").await?;
        Ok((response.status != 200).then_some(String::from_utf8(response.body)?))
    }

    /// Waits until this replica leads.
    ///
    /// # Errors
    /// It does not.
    pub async fn leads(&self) -> Result<()> {
        until(START, "the replica leads", async || Ok(self.metric("mcwan_leader").await? == Some(1.0))).await
    }

    /// What it has logged.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(&self.log)?).into_owned())
    }

    /// What of its log says that it was refused something for want of rights.
    fn refusals(&self) -> Result<Vec<String>> {
        let log = self.log()?;
        let says = |line: &str, words: &[&str]| words.iter().any(|words| line.contains(words));
        let refusals = log.lines().filter(|line| says(line, &FORBIDDEN) && !says(line, &PASSING));
        Ok(refusals.map(str::to_owned).collect())
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// It does not end, or not well.
    pub async fn stop(mut self) -> Result<()> {
        self.ask_to_end()?;
        let status = self.ended().await?;
        ensure!(status.success(), "the controller ended with {status}");
        Ok(())
    }

    /// Asks it to end, and does not wait.
    ///
    /// # Errors
    /// It has ended already.
    pub fn ask_to_end(&self) -> Result<()> {
        Ok(kill(Pid::from_raw(i32::try_from(self.process.pid())?), Signal::SIGTERM)?)
    }

    /// Waits until it has ended, by itself or because it was asked to.
    ///
    /// # Errors
    /// It does not end.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        self.process.ended(START).await
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // Of a test that fails anyway, its own words tell why.
        if !std::thread::panicking() {
            let refusals = self.refusals();
            assert!(matches!(&refusals, Ok(none) if none.is_empty()), "the controller's rights: {refusals:#?}");
        }
    }
}

/// The program, listening for its admin there, with the rights of its service account.
async fn command(cluster: &TestCluster, settings: &Settings<'_>, admin: SocketAddr) -> Result<Command> {
    let mut command = mortal(tools::controller()?);
    command.arg("controller").args(["--cluster-id", settings.cluster_id, "--module", settings.module]);
    command.args(["--admin-address", &admin.to_string(), "--replica", settings.replica]);
    command.args(["--log-level", "debug"]).args(settings.arguments);
    command.env("KUBECONFIG", cluster.kubeconfig(ACCOUNT.0, ACCOUNT.1).await?);
    Ok(command)
}

async fn get(admin: SocketAddr, path: &str) -> Result<Response> {
    let request =
        Request { method: "GET".to_owned(), host: Some(b"admin".to_vec()), path: path.to_owned(), headers: Vec::new() };
    client::send(admin, &request).await
}

async fn ask(admin: SocketAddr, path: &str) -> Result<String> {
    let response = get(admin, path).await?;
    ensure!(response.status == 200, "{path} answers {}", response.status);
    Ok(String::from_utf8(response.body)?)
}
