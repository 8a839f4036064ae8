//! What is known of the cluster and the registry.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::McsVersion;
use crate::apply::Observed;
use crate::emit::object::{Kind, ObjectId};
use crate::gather::change::{Change, InputKind};
use crate::gather::{Key, Objects, Snapshot, input};
use crate::liveness::{Judge, Lease, Reach};
use crate::watch::{Event, Watched};

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
                if let Some(input_kind) = kind.input() {
                    news.changes.extend(match input {
                        Some(object) => self.read(kind, input_kind, &key, &object),
                        None => self.snapshot.remove(input_kind, &key),
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
    /// What another cluster says stays as it was: that cluster may be ahead of us, and is not away for that.
    fn read(&mut self, watched: Watched, kind: InputKind, key: &Key, object: &Value) -> Vec<Change> {
        match input::read(kind, object) {
            Ok(input) => self.snapshot.put(input),
            Err(unreadable) => {
                let error = unreadable.error;
                if watched.is_in_registry() {
                    tracing::warn!(?kind, %key, error, "an object cannot be read: what was read of it before holds");
                    return Vec::new();
                }
                tracing::warn!(?kind, %key, error, "an object cannot be read, and is not used");
                self.snapshot.remove(kind, key)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mk_world() -> World {
        World::new("cluster-2", Duration::from_secs(30))
    }

    /// Hears that an object is there.
    fn hear(world: &mut World, kind: Watched, object: &Value) -> Vec<Change> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let key = Key::new(text("/metadata/namespace"), text("/metadata/name"));
        let mut news = News::default();
        let event = Event::Changed { kind, key, live: None, input: Some(object.clone()) };
        world.hear(event, &mut news);
        news.changes
    }

    fn mk_exported(protocol: &str, pods: u32) -> Value {
        json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ExportedService",
            "metadata": {"namespace": "mc-wan-registry", "name": "cluster-1.secure.payment"},
            "spec": {"cluster": "cluster-1", "namespace": "secure", "name": "payment", "readyPods": pods,
                "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080, "protocol": protocol, "of": "later"}],
                "gateways": ["10.0.0.1"], "addedLater": true}})
    }

    #[test]
    fn a_cluster_that_is_ahead_of_us_is_not_away() {
        let mut world = mk_world();
        let kind = Watched::Emitted(Kind::ExportedService);
        assert!(!hear(&mut world, kind, &mk_exported("TCP", 3)).is_empty(), "fields of a later version");
        assert_eq!(hear(&mut world, kind, &mk_exported("ADDED_LATER", 4)), [], "a value of a later version");
        let known = world.snapshot.exported_services.get("mc-wan-registry", "cluster-1.secure.payment");
        assert_eq!(known.map(|export| export.spec.ready_pods), Some(3));

        let kind = Watched::Emitted(Kind::WanCluster);
        let mk_cluster = |port: u32| {
            json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANCluster",
                "metadata": {"namespace": "mc-wan-registry", "name": "cluster-1"},
                "spec": {"tiers": [{"name": "high", "port": port, "addedLater": 1}], "egressGateways": [{
                    "namespace": "secure", "addresses": ["10.0.0.2"], "addedLater": 1}], "addedLater": 1}})
        };
        assert!(!hear(&mut world, kind, &mk_cluster(31111)).is_empty(), "fields of a later version");
        assert_eq!(hear(&mut world, kind, &mk_cluster(0)), [], "what nobody can mean");
        assert!(world.snapshot.wan_clusters.get("mc-wan-registry", "cluster-1").is_some());
    }

    #[test]
    fn what_of_ours_cannot_be_read_is_not_used() {
        let mut world = mk_world();
        let mk_policy = |port: u32| {
            json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy",
                "metadata": {"namespace": "mc-wan", "name": "high"}, "spec": {"port": port}})
        };
        for (port, is_known) in [(31111, true), (0, false)] {
            assert_eq!(hear(&mut world, Watched::WanPolicy, &mk_policy(port)), [Change::Everything]);
            assert_eq!(world.snapshot.wan_policies.get("mc-wan", "high").is_some(), is_known);
        }
    }
}
