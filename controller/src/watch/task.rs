//! The watch of one kind.

use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use kube::Api;
use kube::discovery::ApiResource;
use kube::runtime::watcher::{self, watcher};
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::api::service_export::McsVersion;
use mcwan_core::backoff::Backoff;
use mcwan_core::rollout::WatchEvent;
use mcwan_core::snapshot::{Key, Keyed};
use mcwan_core::watched::Watched;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::reading::Reading;
use super::served::{self, Served};
use super::{Source, WatchError};

/// How long a page of a list may take.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);
/// The waits after failures.
const WAITS: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// The watch of one kind, for as long as somebody listens.
pub(super) struct Task {
    kind: Watched,
    source: Source,
    events: mpsc::Sender<WatchEvent>,
    /// What the consumer has been told of and not told that it is gone.
    known: Keyed<()>,
}

/// Nobody listens any more.
struct Closed;

impl Task {
    /// Starts without knowing anything.
    pub(super) fn new(kind: Watched, source: Source, events: mpsc::Sender<WatchEvent>) -> Self {
        Self { kind, source, events, known: Keyed::default() }
    }

    /// Watches until nobody listens any more.
    pub(super) async fn run(self) {
        match self.kind.emitted() {
            Some(_) => self.follow::<true>().await,
            None => self.follow::<false>().await,
        }
    }

    /// The same for a kind that we write, or for one that we do not write.
    async fn follow<const WRITTEN: bool>(mut self) {
        let mut backoff = WAITS;
        while self.watch::<WRITTEN>(&mut backoff).await.is_ok() {
            sleep(backoff.failed(fastrand::f64())).await;
        }
    }

    /// Lists and watches until it must be begun anew.
    async fn watch<const WRITTEN: bool>(&mut self, backoff: &mut Backoff) -> Result<(), Closed> {
        let mcs = match self.served().await {
            Ok(Served::Version(version)) => version,
            Ok(Served::Nothing) => return self.not_installed().await,
            Err(error) => return self.failed(error).await,
        };
        let mut superseded = pin!(served::superseded(self.source.client.clone(), self.kind, mcs));
        let mut events = pin!(self.stream::<WRITTEN>(&self.kind.resource(mcs)));
        // Those of the list that is under way.
        let mut listed = None;
        loop {
            let limit = if listed.is_some() { LIST_TIMEOUT } else { Duration::MAX };
            let event = tokio::select! {
                event = timeout(limit, events.next()) => event,
                () = &mut superseded => return Ok(()),
            };
            match event {
                Err(_) => return self.failed(WatchError::Timeout).await,
                Ok(None) => return Ok(()),
                Ok(Some(Ok(event))) => {
                    // The first event says only that a list follows.
                    if !matches!(event, watcher::Event::Init) {
                        backoff.succeeded();
                    }
                    self.heard(event, &mut listed).await?;
                }
                Ok(Some(Err(error))) => {
                    let error = WatchError::from(error);
                    if error.is_not_installed() {
                        return match listed {
                            Some(_) if self.kind.is_in_registry() => self.failed(WatchError::NotPrepared).await,
                            Some(_) => self.not_installed().await,
                            None => Ok(()),
                        };
                    }
                    // Of the registry it must be known when it is there again, which only a list tells at once.
                    let is_over = error.is_beyond_recovery() || self.kind.is_in_registry();
                    self.failed(error).await?;
                    if is_over {
                        return Ok(());
                    }
                    sleep(backoff.failed(fastrand::f64())).await;
                }
            }
        }
    }

    async fn served(&self) -> Result<Served, WatchError> {
        match self.kind.info() {
            info if info.is_of_mcs() => {
                let served = timeout(LIST_TIMEOUT, served::newest(&self.source.client, info)).await??;
                if let Served::Version(version) = served {
                    self.source.mcs.set(version);
                    // That nobody listens any more shows with the next event.
                    let _ = self.events.send(WatchEvent::McsVersion(version)).await;
                }
                Ok(served)
            }
            info if self.kind.is_optional() => {
                match timeout(LIST_TIMEOUT, served::is_there(&self.source.registry, info)).await? {
                    Ok(true) => Ok(Served::Version(McsVersion::default())),
                    Ok(false) => Ok(Served::Nothing),
                    Err(error) if served::is_not_there(&error) => Err(WatchError::NotPrepared),
                    Err(error) => Err(error.into()),
                }
            }
            _ => Ok(Served::Version(McsVersion::default())),
        }
    }

    fn stream<const WRITTEN: bool>(
        &self,
        resource: &ApiResource,
    ) -> impl Stream<Item = watcher::Result<watcher::Event<Reading<WRITTEN>>>> + use<WRITTEN> {
        let api: Api<Reading<WRITTEN>> = if self.kind.is_in_registry() {
            Api::namespaced_with(self.source.registry.clone(), REGISTRY_NAMESPACE, resource)
        } else {
            Api::all_with(self.source.client.clone(), resource)
        };
        let config = watcher::Config::default().page_size(self.kind.page()).timeout(self.kind.silence());
        watcher(
            api,
            match self.kind {
                Watched::OpenshiftRoute => config.labels(&self.source.routes.to_string()),
                kind => match kind.selector() {
                    Some(selector) => config.labels(selector),
                    None => config,
                },
            },
        )
    }

    async fn heard<const WRITTEN: bool>(
        &mut self,
        event: watcher::Event<Reading<WRITTEN>>,
        listed: &mut Option<Keyed<()>>,
    ) -> Result<(), Closed> {
        match event {
            watcher::Event::Init => {
                *listed = Some(Keyed::default());
                self.send(WatchEvent::Listing { kind: self.kind }).await?;
            }
            watcher::Event::InitApply(reading) => {
                if let Some(listed) = listed {
                    listed.insert(&reading.key, ());
                }
                self.changed(reading).await?;
            }
            watcher::Event::InitDone => {
                self.retain(&listed.take().unwrap_or_default()).await?;
                self.send(WatchEvent::Synced { kind: self.kind }).await?;
            }
            watcher::Event::Apply(reading) => self.changed(reading).await?,
            watcher::Event::Delete(reading) => {
                let version = Some(reading.version());
                self.known.remove(&reading.key);
                self.send(WatchEvent::Deleted { kind: self.kind, key: reading.key, version }).await?;
            }
        }
        Ok(())
    }

    async fn changed<const WRITTEN: bool>(&mut self, reading: Reading<WRITTEN>) -> Result<(), Closed> {
        let key = reading.key.clone();
        self.known.insert(&key, ());
        let (live, object) = reading.seen_from(&self.source.cluster);
        let live = self.kind.emitted().map(|_| live);
        let input = object.filter(|_| self.kind.is_read());
        self.send(WatchEvent::Changed { kind: self.kind, key, live, input }).await
    }

    /// Says of what is known, and not listed, that it is gone.
    async fn retain(&mut self, listed: &Keyed<()>) -> Result<(), Closed> {
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
    async fn not_installed(&mut self) -> Result<(), Closed> {
        tracing::debug!(kind = self.kind.name(), "the kind is not installed");
        self.retain(&Keyed::default()).await?;
        self.send(WatchEvent::NotInstalled { kind: self.kind }).await
    }

    async fn failed(&self, error: WatchError) -> Result<(), Closed> {
        self.send(WatchEvent::Failed { kind: self.kind, error: error.to_string() }).await
    }

    async fn send(&self, event: WatchEvent) -> Result<(), Closed> {
        self.events.send(event).await.map_err(|_| Closed)
    }
}
