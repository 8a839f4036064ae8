//! Whether a pod takes requests.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::time::timeout;

use crate::client::{self, Request};

/// How long an answer may take: as it is asked oftener than a Pod says, one that a busy machine holds up must not count for
/// several.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A readiness probe by HTTP. It waits as long as a Pod says before it asks at all, and asks oftener, as tests wait for it.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    address: SocketAddr,
    path: String,
    not_before: Instant,
    threshold: u32,
    failures: u32,
    ready: bool,
}

impl Probe {
    /// What a Pod asks for, whose container starts now; none: it does not ask by HTTP.
    pub(super) fn new(probe: &v1::Probe, host: Ipv4Addr) -> Option<Self> {
        let get = probe.http_get.as_ref()?;
        let IntOrString::Int(port) = get.port else { return None };
        let threshold = probe.failure_threshold.and_then(|threshold| threshold.try_into().ok()).unwrap_or(3);
        let address = SocketAddr::from((host, port.try_into().ok()?));
        let delay = probe.initial_delay_seconds.and_then(|seconds| seconds.try_into().ok()).unwrap_or_default();
        let not_before = Instant::now() + Duration::from_secs(delay);
        Some(Self { address, path: get.path.clone()?, not_before, threshold, failures: 0, ready: false })
    }

    /// Asks, and says whether the pod is ready: one success makes it so, and as many failures as the Pod says in a row
    /// end it.
    pub(super) async fn ask(&mut self) -> bool {
        if Instant::now() < self.not_before {
            return false;
        }
        let request = Request {
            method: "GET".to_owned(),
            host: Some(b"probe".to_vec()),
            path: self.path.clone(),
            headers: Vec::new(),
        };
        let answer = timeout(TIMEOUT, client::send(self.address, &request)).await;
        if matches!(answer, Ok(Ok(answer)) if (200..400).contains(&answer.status)) {
            (self.failures, self.ready) = (0, true);
        } else {
            self.failures = self.failures.saturating_add(1);
            self.ready = self.ready && self.failures < self.threshold;
        }
        self.ready
    }
}
