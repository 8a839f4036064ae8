//! The watch of one kind.

use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use kube::Client;
use kube::api::{ListParams, WatchParams};
use kube::core::{DynamicObject, ObjectList, Request, Resource, WatchEvent as Heard};
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::api::service_export::McsVersion;
use mcwan_core::backoff::Backoff;
use mcwan_core::rollout::WatchEvent;
use mcwan_core::snapshot::{Key, Keyed};
use mcwan_core::watched::Watched;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::reading::Reading;
use super::served::{self, Served};
use super::{Source, WatchError};
use crate::errors::text_of;

/// How long a page of a list, or the beginning of a watch, may take.
const PAGE_TIMEOUT: Duration = Duration::from_mins(1);
/// A watch that ends sooner is none: one after the other would keep both sides busy.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);
/// How much longer than it was asked for a watch may be silent: an API server that is well has ended it by then.
const SILENCE_MARGIN: Duration = Duration::from_secs(5);
/// The longest wait after a failure, and for how long a watch must have gone well before the next one counts as the first: a
/// list that is followed by a failure all the time is costly.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The waits after failures.
const WAITS: Backoff = Backoff::new(Duration::from_millis(500), LONGEST_WAIT);

/// The watch of one kind, for as long as somebody listens.
pub(super) struct Task {
    kind: Watched,
    source: Source,
    events: mpsc::Sender<WatchEvent>,
    /// What the consumer has been told of and not told that it is gone.
    known: Keyed<()>,
    /// Since when it follows what it has listed.
    following: Option<Instant>,
}

/// Why a watch is over.
enum Ended {
    /// Nobody listens any more.
    Closed,
    /// It has failed.
    Failed(WatchError),
}

impl Task {
    /// Starts without knowing anything.
    pub(super) fn new(kind: Watched, source: Source, events: mpsc::Sender<WatchEvent>) -> Self {
        Self { kind, source, events, known: Keyed::default(), following: None }
    }

    /// Watches until nobody listens any more.
    pub(super) async fn run(self) {
        match self.kind.emitted() {
            Some(_) => self.run_as::<true>().await,
            None => self.run_as::<false>().await,
        }
    }

    /// The same for a kind that we write, or for one that we do not write.
    async fn run_as<const WRITTEN: bool>(mut self) {
        let mut backoff = WAITS;
        loop {
            self.following = None;
            let told = match self.watch::<WRITTEN>().await {
                Err(Ended::Failed(error)) => {
                    self.send(WatchEvent::Failed { kind: self.kind, error: text_of(&error) }).await
                }
                ended => ended,
            };
            if told.is_err() {
                return;
            }
            if self.following.is_some_and(|since| since.elapsed() >= LONGEST_WAIT) {
                backoff.succeeded();
            }
            sleep(backoff.failed(fastrand::f64())).await;
        }
    }

    /// Lists and follows until it must be begun anew, with a new list: that alone tells at once that a registry is there
    /// again, and that an API server was restored from a backup, which tells those who watch from a version in its future
    /// nothing.
    async fn watch<const WRITTEN: bool>(&mut self) -> Result<(), Ended> {
        let mcs = match self.served().await.map_err(Ended::Failed)? {
            Served::Version(version) => version,
            Served::Nothing => return self.not_installed().await,
        };
        let collection = Collection::of(self.kind, &self.source, mcs);
        let mut version = match self.list::<WRITTEN>(&collection).await {
            Err(Ended::Failed(error)) if error.is_not_found() => {
                return if self.kind.is_in_registry() {
                    Err(Ended::Failed(WatchError::NotPrepared))
                } else if self.is_lacking().await.map_err(Ended::Failed)? {
                    self.not_installed().await
                } else {
                    Err(Ended::Failed(error))
                };
            }
            listed => listed?,
        };
        self.following = Some(Instant::now());
        let mut superseded = pin!(served::superseded(self.source.client.clone(), self.kind, mcs));
        loop {
            let mut events = pin!(collection.events::<WRITTEN>(&version).await.map_err(Ended::Failed)?);
            let start = Instant::now();
            loop {
                let event = tokio::select! {
                    event = timeout(collection.silence(), events.next()) => event,
                    () = &mut superseded => return Ok(()),
                };
                match event {
                    Ok(Some(Ok(event))) => version = self.heard(event).await?,
                    Ok(Some(Err(error))) => return Err(Ended::Failed(error.into())),
                    // Each ends after a while.
                    Ok(None) => break,
                    Err(silence) => return Err(Ended::Failed(silence.into())),
                }
            }
            if start.elapsed() < SHORTEST_WATCH {
                return Err(Ended::Failed(WatchError::TooShort));
            }
            if collection.is_before::<WRITTEN>(&version).await.map_err(Ended::Failed)? {
                return Ok(());
            }
        }
    }

    /// Lists; gives the version from which on it is followed.
    async fn list<const WRITTEN: bool>(&mut self, collection: &Collection) -> Result<String, Ended> {
        self.send(WatchEvent::Listing { kind: self.kind }).await?;
        let (mut listed, mut token) = (Keyed::default(), None);
        loop {
            let ObjectList { metadata, items, .. } = collection.page::<WRITTEN>(token).await.map_err(Ended::Failed)?;
            for reading in items {
                listed.insert(&reading.key, ());
                self.changed(reading).await?;
            }
            token = metadata.continue_.filter(|token| !token.is_empty());
            if token.is_none() {
                self.retain(&listed).await?;
                self.send(WatchEvent::Synced { kind: self.kind }).await?;
                let version = metadata.resource_version.filter(|version| !version.is_empty());
                return version.ok_or(Ended::Failed(WatchError::Unversioned));
            }
        }
    }

    /// Whether the API server says that it does not have the kind. That a list is not found, a load balancer says, too.
    async fn is_lacking(&self) -> Result<bool, WatchError> {
        Ok(timeout(PAGE_TIMEOUT, served::is_lacking(&self.source.client, self.kind.info())).await??)
    }

    async fn served(&self) -> Result<Served, WatchError> {
        match self.kind.info() {
            info if info.is_of_mcs() => {
                let served = timeout(PAGE_TIMEOUT, served::newest(&self.source.client, info)).await??;
                if let Served::Version(version) = served {
                    self.source.mcs.set(version);
                    // That nobody listens any more shows with the next event.
                    let _ = self.events.send(WatchEvent::McsVersion(version)).await;
                }
                Ok(served)
            }
            info if self.kind.is_optional() => {
                match timeout(PAGE_TIMEOUT, served::is_there(&self.source.registry, info)).await? {
                    Ok(true) => Ok(Served::Version(McsVersion::default())),
                    Ok(false) => Ok(Served::Nothing),
                    Err(error) if served::is_not_there(&error) => Err(WatchError::NotPrepared),
                    Err(error) => Err(error.into()),
                }
            }
            _ => Ok(Served::Version(McsVersion::default())),
        }
    }

    /// Takes in an event; gives the version from which on it goes on.
    async fn heard<const WRITTEN: bool>(&mut self, event: Heard<Reading<WRITTEN>>) -> Result<String, Ended> {
        let version = match event {
            Heard::Added(reading) | Heard::Modified(reading) => {
                let version = reading.resource_version.clone();
                self.changed(reading).await?;
                version
            }
            Heard::Deleted(reading) => {
                let version = Some(reading.version());
                self.known.remove(&reading.key);
                self.send(WatchEvent::Deleted { kind: self.kind, key: reading.key, version }).await?;
                reading.resource_version
            }
            Heard::Bookmark(bookmark) => bookmark.metadata.resource_version,
            Heard::Error(status) => return Err(Ended::Failed(kube::Error::Api(status).into())),
        };
        if version.is_empty() { Err(Ended::Failed(WatchError::Unversioned)) } else { Ok(version) }
    }

    async fn changed<const WRITTEN: bool>(&mut self, reading: Reading<WRITTEN>) -> Result<(), Ended> {
        let key = reading.key.clone();
        self.known.insert(&key, ());
        let (live, object) = reading.seen_from(&self.source.cluster);
        let live = self.kind.emitted().map(|_| live);
        let input = object.filter(|_| self.kind.is_read());
        self.send(WatchEvent::Changed { kind: self.kind, key, live, input }).await
    }

    /// Says of what is known, and not listed, that it is gone.
    async fn retain(&mut self, listed: &Keyed<()>) -> Result<(), Ended> {
        let is_gone = |key: &Key| listed.get(&key.namespace, &key.name).is_none();
        let gone: Vec<_> = self.known.iter().map(|(key, ())| key).filter(is_gone).collect();
        for key in gone {
            self.known.remove(&key);
            self.send(WatchEvent::Deleted { kind: self.kind, key, version: None }).await?;
        }
        Ok(())
    }

    /// A kind that is not installed has no objects. Of the registry's that is said of those alone that one of an earlier
    /// release lacks, and by what it serves: else it is none, or the wrong one.
    async fn not_installed(&mut self) -> Result<(), Ended> {
        tracing::debug!(kind = self.kind.name(), "the kind is not installed");
        self.retain(&Keyed::default()).await?;
        self.send(WatchEvent::NotInstalled { kind: self.kind }).await
    }

    async fn send(&self, event: WatchEvent) -> Result<(), Ended> {
        self.events.send(event).await.map_err(|_| Ended::Closed)
    }
}

/// The objects of a kind: where they are, and which.
struct Collection {
    client: Client,
    request: Request,
    list: ListParams,
    watch: WatchParams,
}

impl Collection {
    fn of(kind: Watched, source: &Source, mcs: McsVersion) -> Self {
        let (client, namespace) =
            if kind.is_in_registry() { (&source.registry, Some(REGISTRY_NAMESPACE)) } else { (&source.client, None) };
        let label_selector = match kind {
            Watched::OpenshiftRoute => Some(source.routes.to_string()),
            kind => kind.selector().map(str::to_owned),
        };
        Self {
            client: client.clone(),
            request: Request::new(DynamicObject::url_path(&kind.resource(mcs), namespace)),
            list: ListParams {
                label_selector: label_selector.clone(),
                limit: Some(kind.page()),
                ..ListParams::default()
            },
            watch: WatchParams { label_selector, timeout: Some(kind.silence()), ..WatchParams::default() },
        }
    }

    /// For how long a watch may say nothing.
    fn silence(&self) -> Duration {
        Duration::from_secs(self.watch.timeout.unwrap_or_default().into()) + SILENCE_MARGIN
    }

    /// A page of a list: the first, or that of a token.
    async fn page<const WRITTEN: bool>(
        &self,
        continue_token: Option<String>,
    ) -> Result<ObjectList<Reading<WRITTEN>>, WatchError> {
        let params = ListParams { continue_token, ..self.list.clone() };
        let request = self.request.list(&params).map_err(kube::Error::BuildRequest)?;
        Ok(timeout(PAGE_TIMEOUT, self.client.request(request)).await??)
    }

    /// Whether the API server is not as far as a version, as one that took the place of another.
    async fn is_before<const WRITTEN: bool>(&self, version: &str) -> Result<bool, WatchError> {
        // Of any of them: the API server reads on until it has found one that is meant, and the version is the same.
        let params = ListParams { limit: Some(1), ..ListParams::default() };
        let request = self.request.list(&params).map_err(kube::Error::BuildRequest)?;
        let list: ObjectList<Reading<WRITTEN>> = timeout(PAGE_TIMEOUT, self.client.request(request)).await??;
        let number = |version: &str| version.parse::<u64>().ok();
        Ok(list.metadata.resource_version.as_deref().and_then(number) < number(version))
    }

    /// What becomes of them after a version.
    async fn events<const WRITTEN: bool>(
        &self,
        version: &str,
    ) -> Result<impl Stream<Item = kube::Result<Heard<Reading<WRITTEN>>>> + use<WRITTEN>, WatchError> {
        let request = self.request.watch(&self.watch, version).map_err(kube::Error::BuildRequest)?;
        Ok(timeout(PAGE_TIMEOUT, self.client.request_events(request)).await??)
    }
}
