//! What is known of the cluster and the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::event::WatchEvent;
use crate::api::{McsVersion, OpenshiftRoute};
use crate::emit::object::{Kind, ObjectId};
use crate::liveness::{Judge, Lease, RegistryHealth};
use crate::moment::Moment;
use crate::observed::{Istiod, Live, Observed};
use crate::snapshot::change::{Change, Input, InputKind};
use crate::snapshot::{Key, Objects, Snapshot, input, named_secret};
use crate::watched::Watched;

/// What is known of the cluster and the registry.
#[derive(Debug)]
pub(super) struct World {
    /// What users and other clusters want.
    pub(super) snapshot: Snapshot,
    /// Which clusters are alive.
    judge: Judge,
    /// Whether the registry can be reached.
    pub(super) registry_health: RegistryHealth,
    /// The kinds of which not everything is known yet.
    unsynced: BTreeSet<Watched>,
    /// Whether there is an istiod, as far as it shows: where there is none, nobody is waited for.
    pub(super) has_istiod: bool,
    /// What is known of the `ServiceExport`s of this cluster.
    pub(super) exports: Knowledge,
    /// Whether `Route`s are others than when it was last asked which Secrets they name.
    pub(super) has_other_routes: bool,
    /// The `Route`s as they are by now, of whose Secrets it is not known whether we may read them: that is told in a moment.
    /// For so long they stay what they were.
    held_routes: BTreeMap<Key, OpenshiftRoute>,
    /// The objects in the registry that cannot be read.
    pub(super) unreadable: BTreeSet<(Watched, Arc<str>)>,
}

/// What is known of objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// Everything.
    Whole,
    /// Nothing: the kind is not installed, and was not since the start. The API server may have lost it, and get it back.
    Lost,
    /// The kind has come back then; its objects may follow.
    Back(Moment),
}

/// What an event means.
#[derive(Debug, Default)]
pub(super) struct News {
    /// What may mean something else than before.
    pub(super) changes: Vec<Change>,
    /// Objects of the kinds that we write that are otherwise than we left them.
    pub(super) touched: Vec<ObjectId>,
    /// The version of the Multi-Cluster Services API, where it is told.
    pub(super) mcs_version: Option<McsVersion>,
    /// Whether the cluster has the `ServiceImport` of that API, where it is told.
    pub(super) has_mcs_imports: Option<bool>,
    /// Whether it has `ClusterConnection`, where it is told.
    pub(super) has_connections: Option<bool>,
}

impl News {
    /// The cluster has a kind, or has not.
    fn has(&mut self, kind: Watched, has_it: bool) {
        match kind {
            Watched::Emitted(Kind::McsServiceImport) => self.has_mcs_imports = Some(has_it),
            Watched::Emitted(Kind::ClusterConnection) => self.has_connections = Some(has_it),
            _ => {}
        }
    }
}

impl World {
    /// Knows nothing yet. `lease`: how long a cluster may be silent; `refused_after`: how long it may be stale, if not for
    /// ever.
    pub(super) fn new(cluster: &str, lease: Duration, refused_after: Option<Duration>, now: Moment) -> Self {
        Self {
            snapshot: Snapshot { namespaces: Some(Objects::default()), ..Snapshot::default() },
            judge: Judge::new(cluster, lease).refusing_after(refused_after),
            registry_health: RegistryHealth::new(lease, now),
            unsynced: Watched::all().collect(),
            has_istiod: false,
            exports: Knowledge::Whole,
            has_other_routes: true,
            held_routes: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }

    /// Whether everything is known. Until then absence means nothing.
    pub(super) fn is_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    /// Whether everything of this cluster itself is known.
    pub(super) fn is_cluster_synced(&self) -> bool {
        self.unsynced.iter().all(|kind| kind.is_in_registry())
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

    /// For how long another cluster has been stale, of several the longest.
    pub(super) fn longest_stale(&self) -> Duration {
        self.judge.longest_stale()
    }

    /// Takes in what a watch saw.
    pub(super) fn update(&mut self, event: WatchEvent, observed: &mut Observed, now: Moment) -> News {
        let mut news = News::default();
        self.update_clusters(&event, &mut news, now);
        if let WatchEvent::Changed { kind: Watched::OpenshiftRoute, key, .. }
        | WatchEvent::Deleted { kind: Watched::OpenshiftRoute, key, .. } = &event
        {
            self.has_other_routes |= self.held_routes.remove(key).is_some();
        }
        match event {
            WatchEvent::Changed { kind, key, live, input } => {
                let is_ours = live.as_ref().is_some_and(Live::is_ours);
                self.has_istiod |= live.as_ref().is_some_and(|live| live.is_ours() && live.istiod != Istiod::Silent);
                if let (Some(emitted), Some(live)) = (kind.emitted(), live)
                    && observed.changed(emitted, &key, live)
                {
                    news.touched.push(ObjectId { kind: emitted, key: key.clone() });
                }
                self.unreadable.remove(&(kind, Arc::clone(&key.name)));
                let [now, otherwise] = [is_ours, !is_ours].map(|is_ours| kind.input_of(is_ours));
                if otherwise != now {
                    news.changes.extend(otherwise.into_iter().flat_map(|kind| self.snapshot.remove(kind, &key)));
                }
                if let Some(input_kind) = now {
                    news.changes.extend(match input {
                        Some(object) => self.read(kind, input_kind, &key, &object),
                        None => self.snapshot.remove(input_kind, &key),
                    });
                }
            }
            WatchEvent::Deleted { kind, key, version } => {
                if let Some(emitted) = kind.emitted()
                    && observed.deleted(emitted, &key, version)
                {
                    news.touched.push(ObjectId { kind: emitted, key: key.clone() });
                }
                self.unreadable.remove(&(kind, Arc::clone(&key.name)));
                let inputs: BTreeSet<_> =
                    [true, false].into_iter().filter_map(|is_ours| kind.input_of(is_ours)).collect();
                news.changes.extend(inputs.into_iter().flat_map(|input| self.snapshot.remove(input, &key)));
            }
            WatchEvent::Listing { kind } => {
                kind.emitted().into_iter().for_each(|kind| observed.listing(kind));
            }
            WatchEvent::Synced { kind } => {
                news.has(kind, true);
                news.touched.extend(kind.emitted().into_iter().flat_map(|kind| observed.listed(kind)));
                if self.unsynced.remove(&kind) {
                    tracing::debug!(kind = kind.name(), "synced");
                }
                if kind == Watched::ServiceExport && matches!(self.exports, Knowledge::Lost) {
                    self.exports = Knowledge::Back(now);
                    // What of them was only kept is looked at again.
                    news.touched.extend(Kind::ALL.into_iter().flat_map(|kind| observed.ours(kind)));
                }
            }
            WatchEvent::NotInstalled { kind } => {
                news.has(kind, false);
                news.touched.extend(kind.emitted().into_iter().flat_map(|kind| observed.listed(kind)));
                if self.unsynced.remove(&kind) && kind == Watched::ServiceExport {
                    tracing::info!(
                        "ServiceExport is not installed: what this cluster has exported before stays as it is"
                    );
                    self.exports = Knowledge::Lost;
                }
            }
            WatchEvent::Failed { kind, error } => {
                tracing::warn!(kind = kind.name(), error, "cannot watch");
            }
            WatchEvent::McsVersion(version) => news.mcs_version = Some(version),
        }
        self.has_other_routes |= news.changes.iter().any(|change| matches!(change, Change::OpenshiftRoute(_)));
        news
    }

    /// Takes note of which Secrets that `Route`s name we may read.
    pub(super) fn allow(&mut self, mut secrets: BTreeMap<Key, bool>) -> Vec<Change> {
        // What was told of one that was named no more, and is again: that holds until there is an answer.
        for secret in self.snapshot.openshift_routes.iter().filter_map(named_secret) {
            if let Some(may) = self.snapshot.secrets.as_ref().and_then(|known| known.get(&secret)) {
                secrets.entry(secret).or_insert(*may);
            }
        }
        let mut changes = self.snapshot.allow(secrets);
        for route in std::mem::take(&mut self.held_routes).into_values() {
            changes.extend(self.put_route(route));
        }
        changes
    }

    /// A `Route` is taken in once it is known whether we may read its Secret, if it names one.
    fn put_route(&mut self, route: OpenshiftRoute) -> Vec<Change> {
        let is_known = |secret| self.snapshot.secrets.as_ref().is_some_and(|known| known.contains_key(&secret));
        if named_secret(&route).is_none_or(is_known) {
            return self.snapshot.put(Input::OpenshiftRoute(route));
        }
        self.held_routes.insert(Key::of(&route.metadata), route);
        Vec::new()
    }

    /// The `Route`s that wait for that.
    pub(super) fn held_routes(&self) -> impl Iterator<Item = &OpenshiftRoute> {
        self.held_routes.values()
    }

    /// Whether a `Route` is another one by now, and waits for that.
    pub(super) fn holds_route(&self, key: &Key) -> bool {
        self.held_routes.contains_key(key)
    }

    /// Takes in what an event says of clusters and of the registry.
    fn update_clusters(&mut self, event: &WatchEvent, news: &mut News, now: Moment) {
        match event {
            WatchEvent::Changed { kind: Watched::Lease, key, input: Some(object), .. } => {
                if self.judge.observe(&key.name, Lease::of(object), now) {
                    self.registry_health.proved(now);
                }
            }
            WatchEvent::Changed { kind: Watched::Emitted(Kind::WanCluster), key, .. } => {
                self.judge.join(&key.name, now);
            }
            WatchEvent::Deleted { kind: Watched::Emitted(Kind::WanCluster), key, .. } => self.judge.leave(&key.name),
            WatchEvent::Listing { kind: Watched::Lease } => {
                self.judge.listing();
                return;
            }
            WatchEvent::Synced { kind } | WatchEvent::NotInstalled { kind } if kind.is_in_registry() => {
                self.registry_health.listed(*kind);
                if *kind == Watched::Lease {
                    self.judge.listed();
                }
            }
            WatchEvent::Failed { kind, error } if kind.is_in_registry() => {
                self.registry_health.failed(*kind, error.clone(), now);
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
        let refused = self.judge.refused();
        for cluster in refused.difference(&self.snapshot.refused_clusters) {
            tracing::warn!(cluster, "a cluster has been stale for too long: its egress gateways are refused");
        }
        news.changes.extend(self.snapshot.refuse(refused));
    }

    /// Takes in an input. One that cannot be read is as good as gone, unless what it should forbid would be open.
    fn read(&mut self, watched: Watched, kind: InputKind, key: &Key, object: &Value) -> Vec<Change> {
        match input::read(kind, object) {
            Ok(Input::OpenshiftRoute(route)) => {
                let changes = self.put_route(route);
                self.has_other_routes |= self.held_routes.contains_key(key);
                changes
            }
            Ok(input) => self.snapshot.put(input),
            Err(unreadable) => {
                let error = unreadable.error;
                tracing::warn!(?kind, %key, error, "an object cannot be read, and is not used");
                if watched.is_in_registry() {
                    self.unreadable.insert((watched, Arc::clone(&key.name)));
                }
                self.snapshot.remove(kind, key)
            }
        }
    }
}
