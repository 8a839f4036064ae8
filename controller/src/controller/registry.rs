//! What this cluster and the registry know of each other, beside objects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::engine::Engine;
use super::renewal::{Renewal, Told};
use crate::admin::Metrics;
use crate::apply::Contact;
use crate::watch::Source;

/// Whether the registry hears of us, and we of it.
pub(super) struct Registry {
    told: watch::Sender<Told>,
    contact: watch::Receiver<Contact>,
    metrics: Arc<Metrics>,
    /// The renewals of our Lease; they end when this is dropped.
    renewals: JoinSet<()>,
}

impl Registry {
    /// Gets ready to renew the Lease of this cluster. `lease`: how long it may be silent.
    pub(super) fn new(source: &Source, lease: Duration, leading: watch::Receiver<bool>, metrics: Arc<Metrics>) -> Self {
        let (sender, contact) = watch::channel(Contact::default());
        let (told, is_told) = watch::channel(None);
        let mut renewals = JoinSet::new();
        renewals.spawn(Renewal::new(source, lease, is_told, leading, sender, Arc::clone(&metrics)).run());
        Self { told, contact, metrics, renewals }
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

    /// Takes note of what is known by now; `leads`: we lead and know everything.
    pub(super) fn follow(&mut self, engine: &mut Engine, leads: bool) {
        let now = Instant::now();
        let stale = &engine.world.snapshot.stale_clusters;
        self.told.send_if_modified(|told| {
            let is_other = told.as_deref() != leads.then_some(stale);
            if is_other {
                *told = leads.then(|| Arc::new(stale.clone()));
            }
            is_other
        });
        let reach = &mut engine.world.reach;
        reach.leads(leads, now);
        reach.complain(self.contact.borrow_and_update().complaint().map(str::to_owned));
        if let Some(state) = reach.look(now) {
            tracing::info!(?state, "the registry");
            engine.statuses.registry_changed(state.clone(), &engine.world.snapshot);
        }
        self.metrics.registry(engine.world.reach.state());
        let [live, stale] = engine.world.clusters().map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        self.metrics.clusters(live, stale);
    }
}
