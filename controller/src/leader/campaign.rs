//! One candidate's side of the election.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};
use tokio::select;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{info, warn};

use super::Candidate;

const CONFLICT: u16 = 409;
const FIELD_MANAGER: &str = "mcwan";

/// How one try to take or renew the lease went.
enum Try {
    /// It is ours.
    Held,
    /// It is somebody else's.
    Theirs,
    /// Somebody was faster; who, the next try will tell.
    Conflict,
}

/// The lease as it was last observed.
struct Observation {
    spec: LeaseSpec,
    /// When it was first seen so, by our own clock.
    since: Instant,
}

pub(super) struct Campaign {
    api: Api<Lease>,
    candidate: Candidate,
    observed: Option<Observation>,
}

impl Campaign {
    pub(super) fn new(client: Client, candidate: Candidate) -> Self {
        Self { api: Api::namespaced(client, &candidate.namespace), candidate, observed: None }
    }

    /// Once `able` is over, follows, leads, follows again, until `stop` says so or is dropped.
    pub(super) async fn run(
        mut self,
        able: impl Future<Output = ()>,
        leading: watch::Sender<bool>,
        mut stop: oneshot::Receiver<()>,
    ) {
        select! {
            _ = &mut stop => return,
            () = able => {}
        }
        loop {
            let taken = select! {
                _ = &mut stop => return,
                taken = self.take() => taken,
            };
            info!(lease = self.candidate.lease, identity = self.candidate.identity, "we lead");
            leading.send_replace(true);
            let stopped = select! {
                _ = &mut stop => true,
                () = self.keep(taken) => false,
            };
            leading.send_replace(false);
            if stopped {
                if !matches!(timeout(self.candidate.timing.renew, self.release()).await, Ok(Ok(()))) {
                    warn!(lease = self.candidate.lease, "the lease could not be released; it runs out by itself");
                }
                return;
            }
            warn!(lease = self.candidate.lease, "we lead no more");
        }
    }

    /// Returns once the lease is ours; with the time from which on it counts.
    async fn take(&mut self) -> Instant {
        loop {
            let start = Instant::now();
            if let Some(Try::Held) = self.try_once().await {
                return start;
            }
            sleep(self.pause()).await;
        }
    }

    /// Renews the lease, and returns once it is not ours, or cannot be said to be.
    async fn keep(&mut self, mut renewed: Instant) {
        loop {
            let deadline = renewed + self.candidate.timing.renew;
            let renewal = async {
                loop {
                    sleep(self.pause()).await;
                    let start = Instant::now();
                    match self.try_once().await {
                        Some(Try::Held) => return Some(start),
                        Some(Try::Theirs) => return None,
                        Some(Try::Conflict) | None => {}
                    }
                }
            };
            match timeout_at(deadline, renewal).await {
                Ok(Some(start)) => renewed = start,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// None: the API server did not answer well, or not in time for a second try.
    async fn try_once(&mut self) -> Option<Try> {
        let limit = self.candidate.timing.renew / 2;
        match timeout(limit, self.try_to_hold()).await {
            Ok(Ok(outcome)) => Some(outcome),
            Ok(Err(error)) => {
                warn!(lease = self.candidate.lease, %error, "the lease cannot be read or written");
                None
            }
            Err(_) => {
                warn!(lease = self.candidate.lease, ?limit, "no answer about the lease");
                None
            }
        }
    }

    async fn try_to_hold(&mut self) -> kube::Result<Try> {
        let Some(mut lease) = self.api.get_opt(&self.candidate.lease).await? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(self.candidate.lease.clone()), ..ObjectMeta::default() },
                spec: Some(self.held(&LeaseSpec::default())),
            };
            return self.written(self.api.create(&Self::params(), &lease).await);
        };
        let spec = lease.spec.take().unwrap_or_default();
        if self.is_theirs(&spec) {
            return Ok(Try::Theirs);
        }
        lease.spec = Some(self.held(&spec));
        self.written(self.api.replace(&self.candidate.lease, &Self::params(), &lease).await)
    }

    fn params() -> PostParams {
        PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
    }

    fn written(&mut self, result: kube::Result<Lease>) -> kube::Result<Try> {
        match result {
            Ok(lease) => {
                self.observe(lease.spec.unwrap_or_default());
                Ok(Try::Held)
            }
            Err(Error::Api(status)) if status.code == CONFLICT => Ok(Try::Conflict),
            Err(error) => Err(error),
        }
    }

    /// Whether somebody else holds the lease and has shown that he lives.
    fn is_theirs(&mut self, spec: &LeaseSpec) -> bool {
        let since = self.observe(spec.clone());
        let held = !self.is_ours(spec) && spec.holder_identity.as_deref().is_some_and(|holder| !holder.is_empty());
        let lasts = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default();
        held && since.elapsed() < Duration::from_secs(lasts)
    }

    /// Remembers the lease; returns when it was first seen as it is.
    fn observe(&mut self, spec: LeaseSpec) -> Instant {
        match &self.observed {
            Some(observed) if observed.spec == spec => observed.since,
            _ => self.observed.insert(Observation { spec, since: Instant::now() }).since,
        }
    }

    fn is_ours(&self, spec: &LeaseSpec) -> bool {
        spec.holder_identity.as_ref() == Some(&self.candidate.identity)
    }

    /// The lease after the one before, held by us from now on.
    fn held(&self, before: &LeaseSpec) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        let ours = self.is_ours(before);
        let transitions = before.lease_transitions.unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.candidate.identity.clone()),
            lease_duration_seconds: i32::try_from(self.candidate.timing.lease.as_secs()).ok(),
            acquire_time: if ours { before.acquire_time.clone() } else { now.clone() },
            renew_time: now,
            lease_transitions: Some(if ours { transitions } else { transitions.saturating_add(1) }),
            ..before.clone()
        }
    }

    /// Releases the lease if it is still ours.
    async fn release(&self) -> kube::Result<()> {
        let Some(mut lease) = self.api.get_opt(&self.candidate.lease).await? else { return Ok(()) };
        let Some(spec) = lease.spec.as_mut().filter(|spec| self.is_ours(spec)) else { return Ok(()) };
        spec.holder_identity = None;
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        self.api.replace(&self.candidate.lease, &Self::params(), &lease).await?;
        info!(lease = self.candidate.lease, "the lease is released");
        Ok(())
    }

    /// The time to the next try: up to a fifth longer than asked for, so that candidates do not march in step.
    fn pause(&self) -> Duration {
        self.candidate.timing.retry.mul_f64(1.0 + 0.2 * fastrand::f64())
    }
}
