//! The real Envoy as a child process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::child::{Process, log_tail, mortal};
use crate::client::{self, Request};
use crate::tools;

/// Where Envoy's admin interface listens; a port that mcwan never uses for a service.
const ADMIN_PORT: u16 = 15000;

/// How long Envoy may take to start; a module is compiled in this time.
const START: Duration = Duration::from_mins(1);

/// A running Envoy. It is killed when this is dropped, and by the kernel when the *thread* that
/// started it ends, so start it from one that lives as long as it is needed.
#[derive(Debug)]
pub struct Envoy {
    process: Process,
    admin: SocketAddr,
    folder: TempDir,
}

impl Envoy {
    /// Starts Envoy with one worker and waits until it is live, which means that its listeners
    /// accept. `address` is a loopback address; the admin interface is put on it.
    ///
    /// # Errors
    /// Envoy is missing, refuses the configuration or does not become live in time; the message
    /// ends with the log's last lines.
    pub async fn start(config: &Value, address: Ipv4Addr) -> Result<Self> {
        Self::start_with(config, address, 1).await
    }

    /// The same with so many workers.
    ///
    /// # Errors
    /// As those of [`Envoy::start`].
    pub async fn start_with(config: &Value, address: Ipv4Addr, workers: u32) -> Result<Self> {
        let admin = SocketAddr::from((address, ADMIN_PORT));
        let mut config = config.clone();
        config["admin"] = json!({"address": {"socket_address": {
            "address": admin.ip(), "port_value": admin.port()}}});
        let folder = write(&config)?;
        let child = command(folder.path(), &["--concurrency", &workers.to_string()])?
            .spawn()
            .context("cannot start `setpriv` (of util-linux), which starts Envoy")?;
        let process = Process::new("Envoy", child, log_path(folder.path()));
        let mut envoy = Self { process, admin, folder };
        envoy.live().await?;
        Ok(envoy)
    }

    /// Asks Envoy whether it would take a configuration.
    ///
    /// # Errors
    /// Envoy is missing or would not; the message holds what it says.
    pub fn validate(config: &Value) -> Result<()> {
        let folder = write(config)?;
        let status = command(folder.path(), &["--mode", "validate"])?.status().context("cannot start Envoy")?;
        ensure!(status.success(), "Envoy refuses the configuration\n{}", log_tail(&log_path(folder.path())));
        Ok(())
    }

    /// The address of the admin interface.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The counters and gauges whose name has `part` in it.
    pub async fn stats(&self, part: &str) -> Result<BTreeMap<String, u64>> {
        let text = ask(self.admin, "/stats").await?;
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        let numbers = lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        Ok(numbers.filter(|(name, _)| name.contains(part)).collect())
    }

    /// The file that has what Envoy writes to its standard output: the access log.
    pub fn access_log(&self) -> PathBuf {
        access_log_path(self.folder.path())
    }

    async fn live(&mut self) -> Result<()> {
        let Self { process, admin, .. } = self;
        process.until(START, "Envoy is live", async || Ok(ask(*admin, "/ready").await.is_ok())).await
    }
}

/// The text that the admin interface answers.
async fn ask(admin: SocketAddr, path: &str) -> Result<String> {
    let request =
        Request { method: "GET".to_owned(), host: Some(b"admin".to_vec()), path: path.to_owned(), headers: Vec::new() };
    let response = client::send(admin, &request).await?;
    ensure!(response.status == 200, "Envoy's {path} answers {}", response.status);
    Ok(String::from_utf8(response.body)?)
}

fn write(config: &Value) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("mcwan-envoy-").tempdir()?;
    fs::write(config_path(folder.path()), serde_json::to_vec_pretty(config)?)?;
    Ok(folder)
}

/// Envoy, logging into `folder`, to be ended by the kernel when its parent is.
fn command(folder: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = mortal(tools::envoy()?);
    command.arg("--config-path").arg(config_path(folder)).arg("--disable-hot-restart").args(arguments);
    // Discovery from files needs a name for the node, though nobody reads it.
    command.args(["--service-node", "mcwan", "--service-cluster", "mcwan"]);
    command.stdin(Stdio::null());
    command.stdout(File::create(access_log_path(folder))?).stderr(File::create(log_path(folder))?);
    Ok(command)
}

fn config_path(folder: &Path) -> PathBuf {
    folder.join("envoy.json")
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("envoy.log")
}

fn access_log_path(folder: &Path) -> PathBuf {
    folder.join("access.log")
}
