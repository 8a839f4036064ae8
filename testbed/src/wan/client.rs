//! A client in a cluster, as a pod is one.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

use super::core_dns;
use crate::child::mortal;
use crate::client::{self, Request, Response};
use crate::namespace::Namespace;
use crate::network::{Host, Network};

/// A client with an address of its own in a cluster's network.
#[derive(Debug)]
pub struct WanClient {
    host: Host,
    network: Network,
}

impl WanClient {
    pub(super) fn new(host: Host, network: Network) -> Self {
        Self { host, network }
    }

    /// Sends a request over a connection of its own and reads the answer.
    ///
    /// # Errors
    /// See [`client::send`].
    pub async fn send(&self, to: SocketAddr, request: &Request) -> Result<Response> {
        let request = request.clone();
        self.host.namespace().perform(async move { client::send(to, &request).await }).await?
    }

    /// Opens a connection, for clients of other kinds. It does not outlive this client.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn connect(&self, to: SocketAddr) -> Result<TcpStream> {
        let stream = self.host.namespace().perform(TcpStream::connect(to)).await?;
        stream.with_context(|| format!("cannot connect to {to}"))
    }

    /// What the cluster's DNS answers of a name, as `dig +short` prints it: a line each, in no order; none where it has no
    /// such record. `kind` is `A`, `AAAA`, `SRV` or `PTR`.
    ///
    /// # Errors
    /// `dig` is missing, or nobody answers, or with a failure.
    pub async fn resolve(&self, name: &str, kind: &str) -> Result<Vec<String>> {
        let mut dig = mortal("dig");
        dig.arg(format!("@{}", core_dns::address(self.network))).args(["+short", "+time=5", "+tries=2", kind, name]);
        dig.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
        let child = self.host.namespace().spawn(dig).await.context("`dig` is missing: run `cargo xtask setup`")?;
        let output = spawn_blocking(move || child.wait_with_output()).await??;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        // A comment tells what went wrong, whatever the exit status.
        let is_answered = output.status.success() && !answer.lines().any(|line| line.starts_with(';'));
        ensure!(is_answered, "nobody answers what {name} is: {answer}");
        Ok(answer.lines().map(str::to_owned).collect())
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.host.address()
    }

    /// Its namespace, for clients of other kinds.
    pub fn namespace(&self) -> &Namespace {
        self.host.namespace()
    }
}
