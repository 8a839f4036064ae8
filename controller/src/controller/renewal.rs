//! Shows the registry that this cluster is alive.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::backoff::Backoff;
use mcwan_core::liveness;
use mcwan_core::observed::FIELD_MANAGER;
use mcwan_core::problem::Reason;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::admin::Metrics;
use crate::apply::Contact;
use crate::errors::{text_of, with_causes};
use crate::watch::Source;

/// In a lease time there are so many renewals.
const RENEWALS: u32 = 3;
/// A renewal may take this part of the lease time.
const PATIENCE: u32 = 6;
/// The waits after failures: parts of the lease time. Whoever was away with the registry must be back before the next
/// renewal of the others that were.
const WAITS: [u32; 2] = [60, 12];

/// What the registry is told with each renewal: the clusters that are stale to this one, and those of them that it refuses.
/// None: another replica tells.
pub(super) type Told = Option<Arc<[BTreeSet<String>; 2]>>;

/// Renews the Lease of this cluster for as long as this replica leads.
pub(super) struct Renewal {
    leases: Api<Lease>,
    cluster: Arc<str>,
    lease: Duration,
    told: watch::Receiver<Told>,
    leading: watch::Receiver<bool>,
    contact: watch::Sender<Contact>,
    metrics: Arc<Metrics>,
}

impl Renewal {
    /// `lease`: how long this cluster may be silent. What becomes of renewals goes to `contact`.
    pub(super) fn new(
        source: &Source,
        lease: Duration,
        told: watch::Receiver<Told>,
        leading: watch::Receiver<bool>,
        contact: watch::Sender<Contact>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let leases = Api::namespaced(source.registry.clone(), REGISTRY_NAMESPACE);
        Self { leases, cluster: Arc::clone(&source.cluster), lease, told, leading, contact, metrics }
    }

    /// Renews whenever it is time, and at once where there is something new to tell. Ends when nobody is left to tell
    /// what.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new(self.lease / WAITS[0], self.lease / WAITS[1]);
        loop {
            let Ok(told) = self.told.wait_for(Option::is_some).await.map(|told| told.clone()) else { return };
            let Some(silent) = told else { continue };
            let mut leading = self.leading.clone();
            let renewed = tokio::select! {
                biased;
                _ = leading.wait_for(|leads| !leads) => None,
                renewed = self.renew(&silent) => Some(renewed),
            };
            let Some(renewed) = renewed else {
                // Whoever loses the lead and has it again tells the same.
                if leading.wait_for(|leads| *leads).await.is_err() {
                    return;
                }
                continue;
            };
            let pause = self.note(renewed, &mut backoff);
            tokio::select! {
                changed = self.told.changed() => if changed.is_err() { return },
                () = sleep(pause) => {}
            }
        }
    }

    async fn renew(&self, silent: &[BTreeSet<String>; 2]) -> Result<(), Failure> {
        let lease = liveness::renewed(&self.cluster, self.lease, silent.each_ref(), Timestamp::now());
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let limit = self.lease / PATIENCE;
        timeout(limit, self.leases.patch(&self.cluster, &params, &Patch::Apply(&lease)))
            .await
            .map_err(|_| Failure::Timeout(limit))?
            .map(drop)
            .map_err(Failure::Kube)
    }

    /// Takes note of a renewal; gives the time to the next.
    fn note(&self, renewed: Result<(), Failure>, backoff: &mut Backoff) -> Duration {
        match renewed {
            Ok(()) => {
                backoff.succeeded();
                self.found(Contact::Answers);
                // Up to a tenth earlier than needed, so that clusters do not march in step.
                (self.lease / RENEWALS).mul_f64(1.0 - 0.1 * fastrand::f64())
            }
            Err(failure) => {
                tracing::warn!(error = with_causes(&failure), "the Lease of this cluster cannot be renewed");
                self.metrics.renewal_failed(failure.reason());
                self.found(failure.contact());
                backoff.failed(fastrand::f64())
            }
        }
    }

    fn found(&self, contact: Contact) {
        self.contact.send_if_modified(|known| {
            let is_other = *known != contact;
            *known = contact;
            is_other
        });
    }
}

/// Why a renewal failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the registry refuses it, or does not answer")]
    Kube(#[source] kube::Error),
}

impl Failure {
    fn reason(&self) -> Reason {
        match self {
            Self::Kube(kube::Error::Api(status)) if status.is_forbidden() => Reason::Forbidden,
            Self::Kube(kube::Error::Api(status)) if status.code == 401 => Reason::Unauthorized,
            Self::Kube(kube::Error::Api(status)) if status.code < 500 => Reason::Refused,
            Self::Kube(kube::Error::Api(_)) => Reason::ServerError,
            Self::Kube(_) => Reason::Unreachable,
            Self::Timeout(_) => Reason::Timeout,
        }
    }

    /// What it says of the registry.
    fn contact(&self) -> Contact {
        match self {
            Self::Kube(kube::Error::Api(status)) if status.code < 500 => Contact::Refuses(status.message.clone()),
            Self::Kube(error) => Contact::Silent(text_of(error)),
            Self::Timeout(_) => Contact::Silent(self.to_string()),
        }
    }
}
