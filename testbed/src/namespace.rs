//! A network namespace, and the thread that lives in it.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedSender, WeakUnboundedSender};
use tokio::sync::oneshot;

/// The first of the ports that connections leave by. What listens in a namespace listens on a lower one, so that a
/// packet tells which way it goes.
pub const FIRST_EPHEMERAL_PORT: u16 = 49_152;

const EPHEMERAL_PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

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
    entrance: Entrance,
}

/// A way into a [`Namespace`] that does not keep it.
#[derive(Clone, Debug)]
pub struct Entrance {
    jobs: WeakUnboundedSender<Job>,
    id: Pid,
}

impl Namespace {
    /// Makes a namespace in which there is loopback and nothing else.
    ///
    /// # Errors
    /// We are not root, not even of a user namespace, or `ip` is missing.
    pub async fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (jobs, mut queue) = mpsc::unbounded_channel::<Job>();
        let (sender, id) = oneshot::channel();
        let thread = thread::Builder::new().name("namespace".to_owned()).spawn(move || {
            // It is waited for.
            let _ = sender.send(gettid());
            runtime.block_on(async {
                while let Some(job) = queue.recv().await {
                    job();
                }
            });
        })?;
        let id = id.await.context("the namespace's thread is gone")?;
        let entrance = Entrance { jobs: jobs.downgrade(), id };
        let namespace = Self { jobs: Some(jobs), thread: Some(thread), entrance };
        namespace.run(enter).await??;
        namespace.ip(&["link set lo up".to_owned()]).await?;
        Ok(namespace)
    }

    /// A way into it for those who live shorter than it, or in it.
    pub fn entrance(&self) -> Entrance {
        self.entrance.clone()
    }

    /// As [`Entrance::run`].
    ///
    /// # Errors
    /// The job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        self.entrance.run(job).await
    }

    /// As [`Entrance::perform`].
    ///
    /// # Errors
    /// The task panics.
    pub async fn perform<F>(&self, task: F) -> Result<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.entrance.perform(task).await
    }

    /// As [`Entrance::spawn`].
    ///
    /// # Errors
    /// The program cannot be started.
    pub async fn spawn(&self, command: Command) -> Result<Child> {
        self.entrance.spawn(command).await
    }

    /// As [`Entrance::ip`].
    ///
    /// # Errors
    /// `ip` is missing, or complains.
    pub async fn ip(&self, commands: &[String]) -> Result<()> {
        self.entrance.ip(commands).await
    }

    /// As [`Entrance::id`].
    pub fn id(&self) -> Pid {
        self.entrance.id
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

impl Entrance {
    /// Runs a job in the namespace: what it connects to or listens on is inside. The job must be
    /// short; it may spawn tasks, which live as long as the namespace.
    ///
    /// # Errors
    /// The namespace is gone, or the job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move || drop(answer.send(job())));
        let jobs = self.jobs.upgrade().context("the namespace is gone")?;
        jobs.send(job).ok().context("the namespace's thread is gone")?;
        drop(jobs);
        answered.await.context("the namespace's thread is gone")
    }

    /// Runs a task to its end in the namespace. It ends sooner where nobody waits for it any more.
    ///
    /// # Errors
    /// The namespace is gone, or the task panics.
    pub async fn perform<F>(&self, task: F) -> Result<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (mut answer, answered) = oneshot::channel();
        let task = async move {
            let output = tokio::select! {
                output = task => output,
                () = answer.closed() => return,
            };
            // Who asked may have gone in this moment.
            let _ = answer.send(output);
        };
        self.run(move || drop(tokio::spawn(task))).await?;
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

    /// Lets `ip` carry out commands in the namespace, such as `link set lo up`.
    ///
    /// # Errors
    /// `ip` is missing, or complains.
    pub async fn ip(&self, commands: &[String]) -> Result<()> {
        let batch = commands.join("\n") + "\n";
        self.run(move || ip(&batch)).await?
    }

    /// Forwards what others send through this namespace, also back by the device that it came by, and tells nobody of a
    /// shorter way.
    ///
    /// # Errors
    /// The kernel does not allow it.
    pub async fn forward(&self, device: &str) -> Result<()> {
        let redirects = |device| format!("conf/{device}/send_redirects");
        let settings = [("ip_forward".to_owned(), "1"), (redirects("all"), "0"), (redirects(device), "0")];
        let set = move || {
            settings.into_iter().try_for_each(|(setting, value)| {
                let path = format!("/proc/sys/net/ipv4/{setting}");
                fs::write(&path, value).with_context(|| format!("cannot write {path}"))
            })
        };
        self.run(set).await?
    }

    /// The number by which `ip link … netns NUMBER` finds the namespace.
    pub fn id(&self) -> Pid {
        self.id
    }
}

/// Takes this thread into a new namespace.
fn enter() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)
        .context("cannot make a network namespace: run me as root, or by `cargo xtask`")?;
    fs::write(EPHEMERAL_PORTS, format!("{FIRST_EPHEMERAL_PORT} 65535")).context("cannot set the range of ports")
}

fn ip(batch: &str) -> Result<()> {
    let mut ip = Command::new("ip");
    ip.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut ip = ip.spawn().context(INSTALL_IP)?;
    if let Some(mut stdin) = ip.stdin.take() {
        // It may end without reading, and says why then.
        let _ = stdin.write_all(batch.as_bytes());
    }
    let output = ip.wait_with_output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`ip` failed: {}, given\n{batch}", complaint.trim());
    Ok(())
}
