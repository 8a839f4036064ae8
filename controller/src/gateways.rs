//! What the gateway pods themselves say: which of the filter's configurations is in force, whether the module could be
//! fetched, and what is measured of the WAN. Istio's own status says none of it.

mod restraint;
mod stats;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mcwan_core::rollout::{GatewayPod, GatewayReport};
use reqwest::{Client, redirect};
use tokio::sync::Semaphore;
use tracing::debug;

use crate::module::use_ring;
use restraint::Restraint;
use stats::Stats;

/// Where an istio-agent serves its statistics with Envoy's.
pub const STATS_PORT: u16 = 15020;

/// Where Envoy serves its own statistics, and a part of them if asked to (Istio, "Application Requirements").
const ENVOY_PORT: u16 = 15090;
/// The part that tells of the filter: a regular expression, for names as Envoy has them.
const FILTER: &str = "filter=mcwan.(config.revision|path)";

/// How long a pod may take to answer: it writes out its statistics within a second, unless its core is somebody else's.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take to connect to one: twice what it takes where the first packet gets lost (RFC 6298, 2). Whom a
/// `NetworkPolicy` keeps from us is silent, and has a turn meanwhile.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How many pods are asked at a time: each takes a descriptor, and the process may have no more than 1,024.
const CONCURRENCY: usize = 256;
/// How many of them are of one namespace: however silent they are, there is room for others.
const OF_NAMESPACE: usize = 4;

/// Bytes of an answer that are read, and not kept. The pods are their namespace's: whoever may run one may say anything
/// at any length. An Envoy with thousands of clusters has more to say, and is asked for what matters.
const MAX_BYTES: usize = 1 << 20;

/// Asks gateway pods.
#[derive(Clone, Debug)]
pub struct GatewayReader {
    client: Client,
    port: u16,
    envoy_port: u16,
    restraint: Arc<Restraint>,
    turns: Arc<Semaphore>,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// By itself.
    Whole,
    /// Where we stopped to read.
    Cut,
}

/// Why a pod's report is unknown.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// It does not answer, or with an error.
    #[error("no statistics")]
    Http(#[from] reqwest::Error),
    /// It says too much.
    #[error("statistics of more than {MAX_BYTES} bytes")]
    TooLarge,
}

impl GatewayReader {
    /// Asks on this port, usually [`STATS_PORT`].
    ///
    /// # Errors
    /// No client can be made; this machine lacks something.
    pub fn new(port: u16) -> Result<Self, GatewayError> {
        use_ring();
        // The pods are asked by plain HTTP: no certificate authority is of use, and none need be there. They are in this
        // cluster: whatever proxy leads out of it knows nothing of them.
        let client = Client::builder().timeout(TIMEOUT).connect_timeout(CONNECT_TIMEOUT);
        let client = client.redirect(redirect::Policy::none()).tls_certs_only([]);
        // Nor is a connection kept to each of them until it is asked again.
        let client = client.no_proxy().pool_max_idle_per_host(0).build()?;
        let turns = Arc::new(Semaphore::new(CONCURRENCY));
        Ok(Self { client, port, envoy_port: ENVOY_PORT, restraint: Arc::default(), turns })
    }

    /// Asks Envoys for their own statistics on this port.
    #[must_use]
    pub fn with_envoy_port(self, envoy_port: u16) -> Self {
        Self { envoy_port, ..self }
    }

    /// Asks pods of a namespace, some at a time, and gives what they say in the order in which they do; none where a pod could
    /// not be asked, which says nothing about its health. One that never comes to an end is not asked again for a while.
    pub async fn read(&self, pods: Vec<GatewayPod>) -> Vec<(GatewayPod, Option<GatewayReport>)> {
        self.restraint.keep(&pods);
        let reports = stream::iter(pods).map(|pod| async move {
            if self.restraint.applies_to(&pod) {
                return (pod, None);
            }
            let _turn = self.turns.acquire().await;
            let report = self.read_one(pod.address).await;
            self.restraint.learn(&pod, &report);
            let report = report.inspect_err(|error| {
                debug!(namespace = &*pod.namespace, pod = &*pod.name, %error, "a gateway cannot be asked");
            });
            (pod, report.ok())
        });
        reports.buffer_unordered(OF_NAMESPACE).collect().await
    }

    async fn read_one(&self, address: IpAddr) -> Result<GatewayReport, GatewayError> {
        let url = format!("http://{}/stats/prometheus", SocketAddr::new(address, self.port));
        let (report, ending) = self.scan(&url).await?;
        if ending == Ending::Whole {
            return Ok(report);
        }
        // The agent's own numbers come before Envoy's: they were among what was read.
        let url = format!("http://{}/stats/prometheus?{FILTER}", SocketAddr::new(address, self.envoy_port));
        match self.scan(&url).await {
            Ok((filter, Ending::Whole)) => Ok(GatewayReport { module_failures: report.module_failures, ..filter }),
            // What is measured may be unknown.
            Ok((_, Ending::Cut)) | Err(_) if report.revision.is_some() => Ok(report),
            Ok((GatewayReport { revision: Some(revision), .. }, Ending::Cut)) => {
                Ok(GatewayReport { revision: Some(revision), ..report })
            }
            Ok((_, Ending::Cut)) | Err(_) => Err(GatewayError::TooLarge),
        }
    }

    /// Reads an answer as far as we care to.
    async fn scan(&self, url: &str) -> Result<(GatewayReport, Ending), GatewayError> {
        let mut response = self.client.get(url).send().await?.error_for_status()?;
        let mut stats = Stats::default();
        let mut bytes = 0;
        while let Some(piece) = response.chunk().await? {
            bytes += piece.len();
            if bytes > MAX_BYTES {
                return Ok((stats.cut(), Ending::Cut));
            }
            stats.read(&piece);
        }
        Ok((stats.finish(), Ending::Whole))
    }
}
