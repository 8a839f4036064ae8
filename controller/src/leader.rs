//! Leader election by a Lease, as client-go's `leaderelection` does it.
//!
//! No clock is compared with another's: who wants the lease takes it once he himself has seen it
//! unchanged for as long as it lasts. The leader gives up earlier than that if he cannot renew it.

mod campaign;

use std::time::Duration;

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use campaign::Campaign;

/// How fast a lost leader is replaced, and how patient one is with the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease: Duration,
    renew: Duration,
    retry: Duration,
}

/// Durations among which nobody could lead safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease must last whole seconds, longer than its renewal may take, and that longer than two tries")]
pub struct TimingError;

impl Timing {
    /// `lease`: how long the others leave an unchanged lease alone; written in whole seconds. `renew`:
    /// how long the leader tries to renew it before he stops. `retry`: the time between two tries.
    ///
    /// # Errors
    /// The lease could be taken before its holder has stopped.
    pub fn new(lease: Duration, renew: Duration, retry: Duration) -> Result<Self, TimingError> {
        let whole = lease.subsec_nanos() == 0 && i32::try_from(lease.as_secs()).is_ok();
        let sound = whole && lease > renew && renew > retry * 2 && !retry.is_zero();
        sound.then_some(Self { lease, renew, retry }).ok_or(TimingError)
    }
}

impl Default for Timing {
    /// client-go's: 15, 10 and 2 seconds.
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), renew: Duration::from_secs(10), retry: Duration::from_secs(2) }
    }
}

/// Who stands for which lease.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub lease: String,
    /// Nobody else's, not even that of the process before us in the same pod.
    pub identity: String,
    /// How fast and how patient.
    pub timing: Timing,
}

/// Stands for election until it is released or dropped.
#[derive(Debug)]
pub struct Leader {
    leading: watch::Receiver<bool>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Leader {
    /// Stands for election in a task of its own, as soon as `able` is over: who cannot do anything yet should leave the
    /// lease to others.
    pub fn run(client: Client, candidate: Candidate, able: impl Future<Output = ()> + Send + 'static) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (sender, leading) = watch::channel(false);
        let campaign = Campaign::new(client, candidate);
        let task = tokio::spawn(campaign.run(able, sender, stopped));
        Self { leading, stop, task }
    }

    /// Whether we lead. Once it turns false, or its sender is gone, no write may follow: at most the
    /// time between [`Timing`]'s `renew` and `lease` is left before another one leads.
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// Stops, and lets the lease go if we hold it, so that another one need not wait for its end. Whoever
    /// writes must have stopped before.
    pub async fn release(self) {
        // Whether the task is there to hear of it or not: it is over afterwards.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_durations_among_which_no_two_lead_are_taken() {
        let milliseconds = Duration::from_millis;
        assert_eq!(Timing::new(milliseconds(15_000), milliseconds(10_000), milliseconds(2_000)), Ok(Timing::default()));
        for (lease, renew, retry, why) in [
            (10_000, 10_000, 2_000, "the lease ends with the renewal"),
            (15_000, 4_000, 2_000, "the renewal has time for one retry only"),
            (15_000, 10_000, 0, "no time between tries"),
            (1_500, 1_000, 100, "half a second"),
        ] {
            let timing = Timing::new(milliseconds(lease), milliseconds(renew), milliseconds(retry));
            assert_eq!(timing, Err(TimingError), "{why}");
        }
    }
}
