//! What is known of the cluster and the registry.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mcwan_core::api::McsVersion;
use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::liveness::{Judge, Lease, Reach};
use mcwan_core::observed::Observed;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Key, Objects, Snapshot, input};
use mcwan_core::watched::Watched;
use serde_json::Value;

use crate::watch::Event;

/// What is known of the cluster and the registry.
#[derive(Debug)]
pub(super) struct World {
    /// What users and other clusters want.
    pub(super) snapshot: Snapshot,
    /// What is there of the kinds that we write.
    pub(super) observed: Observed,
    /// Which clusters are alive.
    judge: Judge,
    /// Whether the registry can be reached.
    pub(super) reach: Reach,
    /// The kinds of which not everything is known yet.
    unsynced: BTreeSet<Watched>,
}

/// What events mean.
#[derive(Debug, Default)]
pub(super) struct News {
    /// What may mean something else than before.
    pub(super) changes: Vec<Change>,
    /// Objects of the kinds that we write that are otherwise than we left them.
    pub(super) touched: Vec<ObjectId>,
    /// Kinds that cannot be watched at the moment.
    pub(super) failed: Vec<Watched>,
    /// The version of the Multi-Cluster Services API, where it is told.
    pub(super) mcs_version: Option<McsVersion>,
}

impl World {
    /// Knows nothing yet. `lease`: how long a cluster may be silent.
    pub(super) fn new(cluster: &str, lease: Duration) -> Self {
        Self {
            snapshot: Snapshot { namespaces: Some(Objects::default()), ..Snapshot::default() },
            observed: Observed::default(),
            judge: Judge::new(cluster, lease),
            reach: Reach::new(lease, Instant::now()),
            unsynced: Watched::all().collect(),
        }
    }

    /// Whether everything is known. Until then absence means nothing.
    pub(super) fn is_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    /// Whether everything in the registry is known.
    pub(super) fn is_registry_synced(&self) -> bool {
        !self.unsynced.iter().any(|kind| kind.is_in_registry())
    }

    /// How many other clusters are live, and how many stale.
    pub(super) fn clusters(&self) -> [usize; 2] {
        let stale = self.snapshot.stale_clusters.len();
        [self.judge.members().saturating_sub(stale), stale]
    }

    /// Takes note of an event.
    pub(super) fn hear(&mut self, event: Event, news: &mut News) {
        self.hear_of_clusters(&event, news);
        match event {
            Event::Changed { kind, key, live, input } => {
                if let (Some(emitted), Some(live)) = (kind.emitted(), live)
                    && self.observed.changed(emitted, &key, live)
                {
                    news.touched.push(ObjectId { kind: emitted, key: key.clone() });
                }
                if let Some(kind) = kind.input() {
                    news.changes.extend(match input {
                        Some(object) => self.read(kind, &key, &object),
                        None => self.snapshot.remove(kind, &key),
                    });
                }
            }
            Event::Deleted { kind, key, version } => {
                if let Some(emitted) = kind.emitted()
                    && self.observed.deleted(emitted, &key, version)
                {
                    news.touched.push(ObjectId { kind: emitted, key: key.clone() });
                }
                if let Some(input) = kind.input() {
                    news.changes.extend(self.snapshot.remove(input, &key));
                }
            }
            Event::Synced { kind } => {
                if self.unsynced.remove(&kind) {
                    tracing::debug!(kind = kind.name(), "synced");
                }
            }
            Event::Failed { kind, error } => {
                tracing::warn!(kind = kind.name(), %error, "cannot watch");
                news.failed.push(kind);
            }
            Event::McsVersion(version) => news.mcs_version = Some(version),
        }
    }

    /// Takes note of what an event says of clusters and of the registry.
    fn hear_of_clusters(&mut self, event: &Event, news: &mut News) {
        let now = Instant::now();
        match event {
            Event::Changed { kind: Watched::Lease, key, input: Some(object), .. } => {
                if self.judge.see(&key.name, Lease::of(object), now) {
                    self.reach.proved(now);
                }
            }
            Event::Changed { kind: Watched::Emitted(Kind::WanCluster), key, .. } => self.judge.join(&key.name, now),
            Event::Deleted { kind: Watched::Emitted(Kind::WanCluster), key, .. } => self.judge.leave(&key.name),
            Event::Synced { kind } if kind.is_in_registry() => {
                self.reach.listed(*kind);
                if *kind == Watched::Lease {
                    self.judge.listed();
                }
            }
            Event::Failed { kind, error } if kind.is_in_registry() => {
                self.reach.failed(*kind, error.to_string(), now);
                if *kind == Watched::Lease {
                    self.judge.lose_sight();
                }
            }
            _ => return,
        }
        let changes = self.snapshot.judge(self.judge.stale());
        for change in &changes {
            if let Change::Liveness(cluster) = change {
                let is_stale = self.snapshot.stale_clusters.contains(&**cluster);
                tracing::info!(cluster = &**cluster, is_stale, "a cluster's Lease");
            }
        }
        news.changes.extend(changes);
    }

    /// Takes note of an input. One that cannot be read is as good as gone, unless what it should forbid would be open.
    fn read(&mut self, kind: InputKind, key: &Key, object: &Value) -> Vec<Change> {
        match input::read(kind, object) {
            Ok(input) => self.snapshot.put(input),
            Err(unreadable) => {
                let error = unreadable.error;
                tracing::warn!(?kind, %key, error, "an object cannot be read, and is not used");
                self.snapshot.remove(kind, key)
            }
        }
    }
}
