//! The way in: what the API server says of the objects that we read and write.
//!
//! Every kind has one watch, which lists and then follows, for as long as the process lives: it survives an API server
//! that is away, lists anew where it has lost its place, and finds a kind that is installed later. All report to one
//! consumer, which needs no more than this to be right:
//!
//! - Until every kind of [`Watched::all`] has had its first [`WatchEvent::Synced`] or [`WatchEvent::NotInstalled`],
//!   absence means nothing.
//! - [`WatchEvent::Deleted`] is said of objects that [`WatchEvent::Changed`] told of, and of no others: also of those that went
//!   while nobody watched.
//! - The same [`WatchEvent::Changed`] may come again. One between [`WatchEvent::Listing`] and [`WatchEvent::Synced`] may be of
//!   a lower version than what was told before: it holds all the same.

mod error;
mod reading;
pub(crate) mod served;
mod task;

use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use mcwan_core::api::{McsVersion, RouteSelector};
use mcwan_core::rollout::WatchEvent;
use mcwan_core::translate::FrontEnds;
use mcwan_core::watched::Watched;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use error::WatchError;

use task::Task;

/// How many events wait for the consumer; the watches wait for it, too.
const WAITING_EVENTS: usize = 2_048;

/// From where, and for whom.
#[derive(Clone)]
pub struct Source {
    /// The API server of this cluster.
    pub client: Client,
    /// The API server that is the registry.
    pub registry: Client,
    /// This cluster, by its name in the registry.
    pub cluster: Arc<str>,
    /// Which `Route`s are ours.
    pub routes: RouteSelector,
    /// The version of the Multi-Cluster Services API that its API server serves, as watches find: writers use the same.
    pub mcs: McsServed,
}

impl Source {
    /// The API servers of a cluster and of its registry. No version is known yet.
    pub fn new(client: Client, registry: Client, cluster: &str) -> Self {
        let routes = RouteSelector::default();
        Self { client, registry, cluster: cluster.into(), routes, mcs: McsServed::default() }
    }

    /// The same with other `Route`s.
    #[must_use]
    pub fn with_routes(self, routes: RouteSelector) -> Self {
        Self { routes, ..self }
    }
}

/// The version of the Multi-Cluster Services API that is served.
#[derive(Clone, Debug, Default)]
pub struct McsServed(Arc<Mutex<McsVersion>>);

impl McsServed {
    /// The version that was found last.
    pub fn get(&self) -> McsVersion {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, version: McsVersion) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }
}

/// All watches. They end when this is dropped.
#[derive(Debug)]
pub struct Watches {
    events: mpsc::Receiver<WatchEvent>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Starts watching every kind, but for those that would give rules and are not to.
    pub fn start(source: &Source, front_ends: FrontEnds) -> Self {
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        let mut tasks = JoinSet::new();
        for kind in Watched::all() {
            let is_off = match kind {
                Watched::GrpcRoute => !front_ends.grpc_route,
                Watched::OpenshiftRoute => !front_ends.openshift_route,
                // `HTTPRoute`s are watched in any case: we write some.
                _ => false,
            };
            if is_off {
                // Nothing else is in the channel yet: there is room.
                let _ = sender.try_send(WatchEvent::NotInstalled { kind });
                continue;
            }
            tasks.spawn(Task::new(kind, source.clone(), sender.clone()).run());
        }
        Self { events, tasks }
    }

    /// The next event. None if a watch has ended, which none does unless it panics: then the process had better end.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        tokio::select! {
            biased;
            event = self.events.recv() => event,
            _ = self.tasks.join_next() => None,
        }
    }

    /// The next event, if there is one already.
    pub fn try_next(&mut self) -> Option<WatchEvent> {
        self.events.try_recv().ok()
    }
}
