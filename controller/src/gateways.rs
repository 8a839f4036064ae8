//! What the gateway pods themselves say: which of the filter's configurations is in force, and whether
//! the module could be fetched. Istio's own status says neither.

mod stats;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mcwan_core::rollout::{GatewayPod, GatewayReport};
use reqwest::{Client, redirect};
use tracing::debug;

use crate::module::use_ring;
use stats::Stats;

/// Where an istio-agent serves its statistics with Envoy's.
pub const STATS_PORT: u16 = 15020;

/// How long a pod may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How many pods are asked at a time.
const CONCURRENCY: usize = 16;

/// Bytes of an answer: an Envoy with thousands of clusters has some megabytes to say.
const MAX_BYTES: usize = 64 << 20;

/// Asks gateway pods.
#[derive(Clone, Debug)]
pub struct GatewayReader {
    client: Client,
    port: u16,
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
        // The pods are asked by plain HTTP: no certificate authority is of use, and none need be there.
        let client =
            Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).tls_certs_only([]).build()?;
        Ok(Self { client, port })
    }

    /// Asks pods, some at a time; none where a pod could not be asked, which says nothing about its health.
    pub async fn read(&self, pods: Vec<GatewayPod>) -> Vec<(GatewayPod, Option<GatewayReport>)> {
        let reports = stream::iter(pods).map(|pod| async move {
            let report = self.read_one(pod.address).await.inspect_err(|error| {
                debug!(namespace = &*pod.namespace, pod = &*pod.name, %error, "a gateway cannot be asked");
            });
            (pod, report.ok())
        });
        reports.buffered(CONCURRENCY).collect().await
    }

    async fn read_one(&self, address: IpAddr) -> Result<GatewayReport, GatewayError> {
        let url = format!("http://{}/stats/prometheus", SocketAddr::new(address, self.port));
        let mut response = self.client.get(url).send().await?.error_for_status()?;
        let mut stats = Stats::default();
        let mut bytes = 0;
        while let Some(piece) = response.chunk().await? {
            bytes += piece.len();
            if bytes > MAX_BYTES {
                return Err(GatewayError::TooLarge);
            }
            stats.read(&piece);
        }
        Ok(stats.finish())
    }
}
