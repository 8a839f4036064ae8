//! An OCI registry on loopback, and what pushes images to it.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::process::{Child, Command};

use crate::child::mortal;
use crate::loopback::Loopback;
use crate::tools;
use crate::wait::until;

const PORT: u16 = 5000;
const START: Duration = Duration::from_mins(1);

/// A registry at an address of its own, by plain HTTP. What it holds is gone once it stops.
#[derive(Debug)]
pub struct OciRegistry {
    loopback: Loopback,
    running: Option<Child>,
}

impl OciRegistry {
    /// Takes an address, but does not listen there.
    ///
    /// # Errors
    /// No address is free.
    pub fn new() -> Result<Self> {
        Ok(Self { loopback: Loopback::take()?, running: None })
    }

    /// Starts to listen.
    ///
    /// # Errors
    /// `crane` is missing or does not start.
    pub async fn start(&mut self) -> Result<()> {
        let address = self.address();
        let mut crane = mortal(tools::program("crane")?);
        crane.args(["registry", "serve", "--address", &address.to_string()]);
        crane.stdout(Stdio::null()).stderr(Stdio::null());
        self.running = Some(Command::from(crane).kill_on_drop(true).spawn().context("cannot start crane")?);
        until(START, "the OCI registry listens", async || Ok(TcpStream::connect(address).is_ok())).await
    }

    /// Ends, if it runs.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub async fn stop(&mut self) -> Result<()> {
        if let Some(mut running) = self.running.take() {
            running.kill().await?;
        }
        Ok(())
    }

    /// Where it listens while it runs.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((self.loopback.address(), PORT))
    }

    /// Pushes an OCI image layout as this repository. Returns what it is pulled by: `HOST/REPOSITORY@DIGEST`.
    ///
    /// # Errors
    /// The registry does not run, or does not take it.
    pub async fn push(&self, layout: &Path, repository: &str) -> Result<String> {
        let tag = format!("{}/{repository}:test", self.address());
        crane([OsStr::new("push"), layout.as_os_str(), tag.as_ref()]).await
    }

    /// Pushes an image of one layer, an archive (`.tar.gz`). Returns what it is pulled by.
    ///
    /// # Errors
    /// The registry does not run, or does not take it.
    pub async fn push_layer(&self, archive: &Path, repository: &str) -> Result<String> {
        let tag = format!("{}/{repository}:test", self.address());
        let empty = ["append", "--oci-empty-base", "--new_tag", &tag, "--new_layer"].map(OsStr::new);
        crane(empty.into_iter().chain([archive.as_os_str()])).await
    }
}

/// Runs `crane` to its end; returns what it prints.
async fn crane<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Result<String> {
    let mut crane = Command::new(tools::program("crane")?);
    crane.args(arguments).arg("--insecure").stdin(Stdio::null()).kill_on_drop(true);
    let output = crane.output().await.context("cannot start crane")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "crane failed: {}", complaint.trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
