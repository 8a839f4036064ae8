//! One address with everything on it: Envoy, and an upstream behind every port that it may send to.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::client::{self, Request};
use crate::echo::Echo;
use crate::envoy::Envoy;
use crate::example::Destination;
use crate::loopback::Loopback;
use crate::outcome::RequestOutcome;

/// A running Envoy and its upstreams; they end when this is dropped.
#[derive(Debug)]
pub struct Environment {
    envoy: Envoy,
    echoes: BTreeMap<u16, Echo>,
    destinations: BTreeMap<u16, Destination>,
    loopback: Loopback,
}

impl Environment {
    /// Starts the upstreams, then Envoy with a configuration for this address.
    ///
    /// # Errors
    /// A port is taken, or Envoy does not start.
    pub async fn start(loopback: Loopback, destinations: BTreeMap<u16, Destination>, config: &Value) -> Result<Self> {
        let mut echoes = BTreeMap::new();
        for port in destinations.keys() {
            let address = SocketAddr::from((loopback.address(), *port));
            let echo = Echo::start(address).await.with_context(|| {
                format!("cannot listen on {address}: does something listen on port {port} of every address?")
            })?;
            echoes.insert(*port, echo);
        }
        let envoy = Envoy::start(config, loopback.address()).await?;
        Ok(Self { envoy, echoes, destinations, loopback })
    }

    /// The address of everything in it.
    pub fn address(&self) -> Ipv4Addr {
        self.loopback.address()
    }

    /// The Envoy.
    pub fn envoy(&self) -> &Envoy {
        &self.envoy
    }

    /// How many requests have arrived at upstreams so far.
    pub fn arrivals(&self) -> u64 {
        self.echoes.values().map(Echo::arrivals).sum()
    }

    /// Sends a request to a port that Envoy listens on.
    ///
    /// # Errors
    /// See [`client::send`].
    pub async fn send(&self, port: u16, request: &Request) -> Result<RequestOutcome> {
        let response = client::send((self.address(), port).into(), request).await?;
        let arrival = match response.seen() {
            Some(seen) => {
                let destination = self.destinations.get(&seen.port);
                Some((destination.context("an upstream of another environment answered")?.clone(), seen))
            }
            None => None,
        };
        Ok(RequestOutcome { response, arrival })
    }
}
