//! A client in a cluster, as a pod is one.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

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

    /// Sends a datagram of UDP, and reads what comes back within a second; none: nothing does.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn send_datagram(&self, to: SocketAddr) -> Result<Option<String>> {
        let exchange = async move {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
            socket.connect(to).await?;
            let mut answer = vec![0; 256];
            let received = async {
                socket.send(b"?").await?;
                socket.recv(&mut answer).await
            };
            // Datagrams get lost: who waits for one asks again.
            let length = timeout(Duration::from_secs(1), received).await.ok().and_then(Result::ok);
            Ok(length.map(|length| String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned()))
        };
        self.host.namespace().perform(exchange).await?
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

    /// The number of its cluster.
    pub fn cluster(&self) -> u8 {
        self.network.number()
    }

    /// Its namespace, for clients of other kinds.
    pub fn namespace(&self) -> &Namespace {
        self.host.namespace()
    }
}
