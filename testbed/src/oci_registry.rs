//! An OCI registry, and what pushes images to it.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::child::{Process, log_onto, mortal};
use crate::loopback::Loopback;
use crate::namespace::Namespace;
use crate::tools;

/// The port that it listens on.
pub const PORT: u16 = 5000;

const START: Duration = Duration::from_mins(1);

/// A registry at an address of its own, by plain HTTP.
#[derive(Debug)]
pub struct OciRegistry {
    running: Option<Process>,
    listens_at: ListenAddress,
    folder: Folder,
}

/// Where it listens.
#[derive(Debug)]
enum ListenAddress {
    Loopback(Loopback),
    Namespace(Namespace, SocketAddr),
}

/// Where its log is.
#[derive(Debug)]
enum Folder {
    Own(tempfile::TempDir),
    /// The layers of what was pushed are kept there, too; what they belong to is forgotten once it stops.
    Given(PathBuf),
}

impl OciRegistry {
    /// Takes a loopback address, but does not listen there. What it holds is gone once it stops.
    ///
    /// # Errors
    /// No address is free.
    pub fn new() -> Result<Self> {
        let folder = Folder::Own(tempfile::Builder::new().prefix("mcwan-oci-").tempdir()?);
        Ok(Self { running: None, listens_at: ListenAddress::Loopback(Loopback::take()?), folder })
    }

    /// Makes one for an address in a namespace, but does not listen there. What it holds is kept in `folder`, with
    /// its log.
    pub(crate) fn inside(namespace: Namespace, address: SocketAddr, folder: PathBuf) -> Self {
        Self { running: None, listens_at: ListenAddress::Namespace(namespace, address), folder: Folder::Given(folder) }
    }

    /// Starts to listen.
    ///
    /// # Errors
    /// `crane` is missing or does not start.
    pub async fn start(&mut self) -> Result<()> {
        let address = self.address();
        let mut crane = mortal(tools::program("crane")?);
        crane.args(["registry", "serve", "--address", &address.to_string()]);
        let log = match &self.folder {
            Folder::Own(folder) => folder.path().join("oci-registry.log"),
            Folder::Given(folder) => {
                let disk = folder.join("oci-registry");
                std::fs::create_dir_all(&disk).with_context(|| format!("cannot make {}", disk.display()))?;
                crane.arg("--disk").arg(disk);
                folder.join("oci-registry.log")
            }
        };
        log_onto(&mut crane, &log)?;
        let child = match &self.listens_at {
            ListenAddress::Loopback(_) => crane.spawn().context("cannot start crane")?,
            ListenAddress::Namespace(namespace, _) => namespace.spawn(crane).await?,
        };
        let mut process = Process::new("the OCI registry", child, log);
        let listens_at = &self.listens_at;
        process.until(START, "the OCI registry listens", async || listens_at.listens(address).await).await?;
        self.running = Some(process);
        Ok(())
    }

    /// Ends, if it runs, as `kill -9` does.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Where it listens while it runs.
    pub fn address(&self) -> SocketAddr {
        match &self.listens_at {
            ListenAddress::Loopback(loopback) => SocketAddr::from((loopback.address(), PORT)),
            ListenAddress::Namespace(_, address) => *address,
        }
    }

    /// Pushes an OCI image layout as this repository. Returns what it is pulled by: `HOST/REPOSITORY@DIGEST`.
    ///
    /// # Errors
    /// The registry does not run, or does not take it.
    pub async fn push(&self, layout: &Path, repository: &str) -> Result<String> {
        let tag = format!("{}/{repository}:test", self.address());
        self.crane([OsStr::new("push"), layout.as_os_str(), tag.as_ref()]).await
    }

    /// Pushes an image of one layer, an archive (`.tar.gz`). Returns what it is pulled by.
    ///
    /// # Errors
    /// The registry does not run, or does not take it.
    pub async fn push_layer(&self, archive: &Path, repository: &str) -> Result<String> {
        let tag = format!("{}/{repository}:test", self.address());
        let empty = ["append", "--oci-empty-base", "--new_tag", &tag, "--new_layer"].map(OsStr::new);
        self.crane(empty.into_iter().chain([archive.as_os_str()])).await
    }

    /// Runs `crane` to its end; returns what it prints.
    async fn crane<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String> {
        let mut crane = mortal(tools::program("crane")?);
        crane.args(arguments).arg("--insecure").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = match &self.listens_at {
            ListenAddress::Loopback(_) => finish(crane).await?,
            ListenAddress::Namespace(namespace, _) => namespace.perform(finish(crane)).await??,
        };
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "crane failed: {}", complaint.trim());
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

impl ListenAddress {
    async fn listens(&self, address: SocketAddr) -> Result<bool> {
        match self {
            Self::Loopback(_) => Ok(TcpStream::connect(address).is_ok()),
            Self::Namespace(namespace, _) => Ok(namespace.run(move || TcpStream::connect(address)).await?.is_ok()),
        }
    }
}

async fn finish(command: Command) -> Result<std::process::Output> {
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true).output().await.context("cannot start crane")
}
