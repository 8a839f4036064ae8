//! A client in a cluster, as a pod is one.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use tokio::net::TcpStream;

use crate::client::{self, Request, Response};
use crate::namespace::Namespace;
use crate::network::Host;

/// A client with an address of its own in a cluster's network.
#[derive(Debug)]
pub struct WanClient {
    host: Host,
}

impl WanClient {
    pub(super) fn new(host: Host) -> Self {
        Self { host }
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

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.host.address()
    }

    /// Its namespace, for clients of other kinds.
    pub fn namespace(&self) -> &Namespace {
        self.host.namespace()
    }
}
