//! The way in: what the API server says of the objects that we read and write.
//!
//! Every kind has one watch, which lists and then follows, for as long as the process lives: it survives an API server
//! that is away, lists anew where it has lost its place, and finds a kind that is installed later. All report to one
//! consumer, which needs no more than this to be right:
//!
//! - Until every kind of [`Watched::all`] has had its first [`Event::Synced`], absence means nothing.
//! - [`Event::Deleted`] is said of objects that [`Event::Changed`] told of, and of no others: also of those that went
//!   while nobody watched.
//! - The same [`Event::Changed`] may come again.

mod error;
mod reading;
mod served;
mod task;

use std::sync::Arc;

use kube::Client;
use mcwan_core::api::service_export::McsVersion;
use mcwan_core::observed::Live;
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use error::WatchError;

use task::Task;

/// How many events wait for the consumer; the watches wait for it, too.
const WAITING_EVENTS: usize = 2_048;

/// What a watch saw.
#[derive(Debug)]
pub enum Event {
    /// An object is there, maybe the same as before.
    Changed {
        /// Its kind.
        kind: Watched,
        /// Its namespace and name.
        key: Key,
        /// What [`Observed`](crate::apply::Observed) keeps of it; none for a kind that we do not write.
        live: Option<Live>,
        /// The object, for the snapshot, without `managedFields`. None for a kind that is not read, and for what we wrote
        /// ourselves, except into the registry: that is no input (any more).
        input: Option<Value>,
    },
    /// An object is gone.
    Deleted {
        /// Its kind.
        kind: Watched,
        /// Its namespace and name.
        key: Key,
        /// The version of the deletion, if it was seen.
        version: Option<u64>,
    },
    /// All objects of a kind are told, and what was told before and is gone is told, too. A kind that is not installed
    /// has none, but for those of the registry. Of these, this follows each [`Event::Failed`] once all is well again.
    Synced {
        /// The kind.
        kind: Watched,
    },
    /// A kind cannot be watched at the moment. What is known of it stays.
    Failed {
        /// The kind.
        kind: Watched,
        /// Why.
        error: WatchError,
    },
    /// Which version the [`Watched::ServiceExport`]s that follow have.
    McsVersion(McsVersion),
}

/// From where, and for whom.
#[derive(Clone)]
pub struct Source {
    /// The API server of this cluster.
    pub client: Client,
    /// The API server that is the registry.
    pub registry: Client,
    /// The registry's namespace.
    pub registry_namespace: Arc<str>,
    /// This cluster, by its name in the registry.
    pub cluster: Arc<str>,
}

/// All watches. They end when this is dropped.
#[derive(Debug)]
pub struct Watches {
    events: mpsc::Receiver<Event>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Starts watching every kind.
    pub fn start(source: &Source) -> Self {
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        let mut tasks = JoinSet::new();
        for kind in Watched::all() {
            let (client, namespace) = if kind.is_in_registry() {
                (&source.registry, Some(Arc::clone(&source.registry_namespace)))
            } else {
                (&source.client, None)
            };
            let cluster = Arc::clone(&source.cluster);
            tasks.spawn(Task::new(kind, client.clone(), namespace, cluster, sender.clone()).run());
        }
        Self { events, tasks }
    }

    /// The next event. None if a watch has ended, which none does unless it panics: then the process had better end.
    pub async fn next(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            event = self.events.recv() => event,
            _ = self.tasks.join_next() => None,
        }
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}
