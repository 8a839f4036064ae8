//! What the gateway pods themselves say: which of the filter's configurations is in force, and whether
//! the module could be fetched. Istio's own status says neither.

mod progress;
mod record;
mod reload;
mod stats;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use reqwest::{Client, redirect};
use tracing::debug;

use crate::module::use_ring;
pub use progress::Progress;
pub use record::Record;
pub use reload::Reload;
pub use stats::GatewayReport;
use stats::Stats;

/// Where an istio-agent serves its statistics with Envoy's.
pub const STATS_PORT: u16 = 15020;

/// How long a pod may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How many pods are asked at a time.
const CONCURRENCY: usize = 16;

/// Bytes of an answer: an Envoy with thousands of clusters has some megabytes to say.
const MAX_BYTES: usize = 64 << 20;

/// A ready pod of an egress gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayPod {
    /// Of the pod, its gateway and its imports.
    pub namespace: Arc<str>,
    /// Name of the Gateway.
    pub gateway: Arc<str>,
    /// Name of the pod.
    pub name: Arc<str>,
    /// Where it listens.
    pub address: IpAddr,
}

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

    /// Asks pods, some at a time. The answers are in their order; none where a pod could not be asked,
    /// which says nothing about its health.
    pub async fn read(&self, pods: &[GatewayPod]) -> Vec<Option<GatewayReport>> {
        let reports = stream::iter(pods.to_vec()).map(|pod| async move {
            match self.read_one(pod.address).await {
                Ok(report) => Some(report),
                Err(error) => {
                    debug!(namespace = &*pod.namespace, pod = &*pod.name, %error, "a gateway cannot be asked");
                    None
                }
            }
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
