//! A network namespace, and the thread that lives in it.

use std::net::Ipv4Addr;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

/// The address of the control plane in its namespace.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// What makes the namespace usable: its loopback interface, and a bridge with the address that
/// hosts have in it (an `EndpointSlice` refuses loopback addresses).
const LINKS: [&str; 4] =
    ["link set lo up", "link add mcwan type bridge", "address add 10.99.0.1/24 dev mcwan", "link set mcwan up"];

const INSTALL_IP: &str = "`ip` is missing: run `cargo xtask setup`";

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace without a name, from which no route leads out.
///
/// It is that of a thread of its own and of the programs which that thread starts. Where these are
/// [`mortal`](crate::child::mortal), nothing of it outlives this, however the process ends.
#[derive(Debug)]
pub struct Namespace {
    jobs: Option<UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Namespace {
    /// Makes a namespace.
    ///
    /// # Errors
    /// We are not root, or `ip` is missing.
    pub async fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let (jobs, mut queue) = mpsc::unbounded_channel::<Job>();
        let thread = thread::Builder::new().name("namespace".to_owned()).spawn(move || {
            runtime.block_on(async {
                while let Some(job) = queue.recv().await {
                    job();
                }
            });
        })?;
        let namespace = Self { jobs: Some(jobs), thread: Some(thread) };
        namespace.run(enter).await??;
        Ok(namespace)
    }

    /// Runs a job in the namespace: what it connects to or listens on is inside. The job must be
    /// short; it may spawn tasks, which live as long as the namespace.
    ///
    /// # Errors
    /// The job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move || drop(answer.send(job())));
        let jobs = self.jobs.as_ref().context("the namespace is gone")?;
        jobs.send(job).ok().context("the namespace's thread is gone")?;
        answered.await.context("the namespace's thread is gone")
    }

    /// Starts a program in the namespace.
    ///
    /// # Errors
    /// The program cannot be started.
    pub async fn spawn(&self, mut command: Command) -> Result<Child> {
        let program = command.get_program().to_owned();
        self.run(move || command.spawn()).await?.with_context(|| format!("cannot start {}", program.display()))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It may have panicked; then it has ended, which is what we want.
            let _ = thread.join();
        }
    }
}

/// Takes this thread into a new namespace.
fn enter() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace: run me as root")?;
    for link in LINKS {
        let output = Command::new("ip").args(link.split(' ')).output().context(INSTALL_IP)?;
        ensure!(output.status.success(), "`ip {link}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
