//! What this cluster and the registry know of each other, beside objects.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use mcwan_core::liveness::RegistryState;
use mcwan_core::moment::Moment;
use mcwan_core::rollout::Rollout;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::renewal::{Renewal, Told};
use crate::admin::Metrics;
use crate::apply::Contact;
use crate::watch::Source;

/// Where the registry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistrySite {
    /// In this cluster's own API server. While that does not answer, nothing can be said anyway, and afterwards there is
    /// nothing to say.
    Here,
    /// In another API server.
    Elsewhere,
}

/// Whether the registry hears of us, and we of it.
pub(super) struct Registry {
    site: RegistrySite,
    told: watch::Sender<Told>,
    contact: watch::Receiver<Contact>,
    metrics: Arc<Metrics>,
    /// The renewals of our Lease; they end when this is dropped.
    renewals: JoinSet<()>,
}

impl Registry {
    /// Gets ready to renew the Lease of this cluster. `lease`: how long it may be silent.
    pub(super) fn new(
        source: &Source,
        site: RegistrySite,
        lease: Duration,
        leading: watch::Receiver<bool>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (sender, contact) = watch::channel(Contact::default());
        let (told, is_told) = watch::channel(None);
        let mut renewals = JoinSet::new();
        renewals.spawn(Renewal::new(source, lease, is_told, leading, sender, Arc::clone(&metrics)).run());
        Self { site, told, contact, metrics, renewals }
    }

    /// Whether the registry answers to our renewals.
    pub(super) fn contact(&self) -> watch::Receiver<Contact> {
        self.contact.clone()
    }

    /// Ends when that changes.
    ///
    /// # Errors
    /// Nobody renews any more.
    pub(super) async fn changed(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            changed = self.contact.changed() => if changed.is_ok() { return Ok(()) },
            _ = self.renewals.join_next() => {}
        }
        bail!("the renewal of this cluster's Lease has ended")
    }

    /// Takes in what is known by now; `leads`: we lead and know everything.
    pub(super) fn follow(&mut self, rollout: &mut Rollout, leads: bool, now: Moment) {
        let silent = [&rollout.snapshot().stale_clusters, &rollout.snapshot().refused_clusters];
        let refused = silent[1].len();
        self.told.send_if_modified(|told| {
            let is_other = told.as_ref().map(|told| told.each_ref()) != leads.then_some(silent);
            if is_other {
                *told = leads.then(|| Arc::new(silent.map(BTreeSet::clone)));
            }
            is_other
        });
        let health = rollout.registry_health();
        let contact = self.contact.borrow_and_update().clone();
        health.leads(leads, now);
        health.complain(contact.complaint().map(str::to_owned));
        match health.look(now) {
            Some(RegistryState::Reachable) => tracing::info!("the registry can be reached"),
            Some(RegistryState::Unreachable(why)) => tracing::warn!(why, "the registry cannot be reached"),
            None => {}
        }
        let found = health.state().clone();
        self.metrics.registry(&found);
        let is_told = self.site == RegistrySite::Elsewhere || matches!(contact, Contact::Refuses(_));
        rollout.say_of_registry(if is_told { found } else { RegistryState::Reachable });
        let [live, stale] = rollout.clusters();
        self.metrics.clusters([live, stale, refused].map(|count| u64::try_from(count).unwrap_or(u64::MAX)));
        self.metrics.longest_stale(rollout.longest_stale());
        self.metrics.unreadable(rollout.unreadable());
        self.metrics.untold_gateways(u64::try_from(rollout.untold_gateways()).unwrap_or(u64::MAX));
    }
}
