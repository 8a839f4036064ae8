//! The controller's edge to the API server, and what it has told so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;
use mcwan::apply::Applier;
use mcwan::watch::{Source, Watches};
use mcwan_core::emit::object::{Object, ObjectId};
use mcwan_core::observed::{Comparison, Digest, Observed};
use mcwan_core::outcome::{WriteError, WriteOutcome};
use mcwan_core::problem::Reason;
use mcwan_core::rollout::{ApplyError, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::translate::FrontEnds;
use mcwan_core::watched::Watched;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long anything may take.
const DEADLINE: Duration = Duration::from_mins(2);
/// The cluster that the controller is of.
pub(crate) const CLUSTER: &str = "cluster-2";

/// What a consumer of the watches knows.
pub(crate) struct Edge {
    pub(crate) observed: Observed,
    pub(crate) applier: Applier,
    pub(crate) inputs: BTreeMap<(Watched, Key), Value>,
    pub(crate) synced: BTreeSet<Watched>,
    pub(crate) forbidden: BTreeSet<Watched>,
    /// The kinds that the registry lacks.
    pub(crate) unprepared: BTreeSet<Watched>,
    /// What happened, in a word, and to what.
    pub(crate) deleted: Vec<(Watched, Key)>,
    pub(crate) events: Vec<String>,
    /// Whether we lead.
    pub(crate) leading: watch::Sender<bool>,
    watches: Watches,
}

impl Edge {
    /// Starts to watch, as the leader.
    pub(crate) fn new(client: &Client) -> Self {
        let source = Source::new(client.clone(), client.clone(), CLUSTER);
        let (leading, is_leading) = watch::channel(true);
        Self {
            observed: Observed::default(),
            applier: Applier::new(&source, is_leading),
            inputs: BTreeMap::new(),
            synced: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            unprepared: BTreeSet::new(),
            deleted: Vec::new(),
            events: Vec::new(),
            leading,
            watches: Watches::start(&source, FrontEnds::default()),
        }
    }

    /// Starts to watch, and waits until everything is known but for what the registry lacks.
    pub(crate) async fn synced(client: &Client) -> Result<Self> {
        let mut edge = Self::new(client);
        let is_known = |edge: &Self, kind| edge.synced.contains(&kind) || edge.unprepared.contains(&kind);
        edge.until("everything is known", |edge| Watched::all().all(|kind| is_known(edge, kind))).await?;
        Ok(edge)
    }

    /// Takes note of events until a condition holds.
    pub(crate) async fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> Result<()> {
        let wait = async {
            while !condition(self) {
                let Some(event) = self.watches.next().await else { bail!("a watch has ended") };
                self.handle(event);
            }
            Ok(())
        };
        let result = timeout(DEADLINE, wait).await;
        result.with_context(|| {
            format!("waited in vain until {what}; synced: {:?}, complaints: {:?}", self.synced, self.events)
        })?
    }

    /// Applies one object that is not there as it is wanted.
    pub(crate) async fn apply(&mut self, object: &Object) -> WriteOutcome {
        let desired = Digest::of_desired(&object.body);
        let uid = match self.observed.compare(&object.id, desired) {
            Comparison::Same => panic!("{:?} is there as it is wanted", object.id),
            Comparison::Foreign => return WriteOutcome::Conflict,
            Comparison::Deleting => return outcome_of(WriteError::passing(Reason::Deleting, "it is going")),
            Comparison::Missing => None,
            Comparison::Different { uid } => Some(uid),
        };
        match self.applier.apply(object.clone(), uid.as_deref()).await {
            Ok(live) => {
                self.observed.applied(&object.id, desired, live);
                WriteOutcome::Applied
            }
            Err(ApplyError::Found(Some(live))) if !live.is_ours() => WriteOutcome::Conflict,
            Err(ApplyError::Found(_)) => outcome_of(WriteError::passing(Reason::Changed, "it has just changed")),
            Err(ApplyError::Failed(error)) => outcome_of(error),
        }
    }

    /// Applies one object until that works, and fails if it is refused.
    pub(crate) async fn apply_until_done(&mut self, object: &Object) -> Result<()> {
        while !self.observed.is_same(object) {
            match self.apply(object).await {
                WriteOutcome::Applied => break,
                WriteOutcome::Retry { after, .. } => {
                    // While we wait, the watches go on.
                    let _ = timeout(after, self.until("never", |_| false)).await;
                }
                outcome => bail!("{:?}: {outcome:?}", object.id),
            }
        }
        Ok(())
    }

    /// Deletes one object.
    pub(crate) async fn delete(&mut self, id: &ObjectId) -> WriteOutcome {
        let live = match self.observed.get(id) {
            None => return WriteOutcome::Deleted,
            Some(live) if !live.is_ours() => return WriteOutcome::Conflict,
            Some(live) => live.clone(),
        };
        match self.applier.delete(id, &live).await {
            Ok(()) => {
                self.observed.going(id, &live.uid);
                WriteOutcome::Deleted
            }
            Err(error) => outcome_of(error),
        }
    }

    fn handle(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Changed { kind, key, live, input } => {
                if let (Some(emitted), Some(live)) = (kind.emitted(), live) {
                    self.observed.changed(emitted, &key, live);
                }
                let _ = match input {
                    Some(object) => self.inputs.insert((kind, key), object),
                    None => self.inputs.remove(&(kind, key)),
                };
            }
            WatchEvent::Deleted { kind, key, version } => {
                if let Some(emitted) = kind.emitted() {
                    self.observed.deleted(emitted, &key, version);
                }
                self.inputs.remove(&(kind, key.clone()));
                self.deleted.push((kind, key));
            }
            WatchEvent::Listing { kind } => kind.emitted().into_iter().for_each(|kind| self.observed.listing(kind)),
            WatchEvent::Synced { kind } | WatchEvent::NotInstalled { kind } => {
                kind.emitted().into_iter().for_each(|kind| drop(self.observed.listed(kind)));
                self.synced.insert(kind);
            }
            WatchEvent::Failed { kind, error } if error.starts_with("not allowed") => {
                self.forbidden.insert(kind);
            }
            WatchEvent::Failed { kind, error } if error.contains("mcwan registry init") => {
                self.unprepared.insert(kind);
            }
            WatchEvent::Failed { kind, error } => self.events.push(format!("{}: {error}", kind.name())),
            WatchEvent::McsVersion(version) => self.events.push(version.as_str().to_owned()),
        }
    }
}

/// What an error means, without the waits that the controller has.
fn outcome_of(error: WriteError) -> WriteOutcome {
    match error {
        WriteError::Conflict => WriteOutcome::Conflict,
        WriteError::NotFound { message } => {
            WriteOutcome::Retry { after: Duration::from_millis(200), reason: Reason::NotInstalled, message }
        }
        WriteError::Passing { reason, message, after } => {
            WriteOutcome::Retry { after: after.unwrap_or(Duration::from_millis(200)), reason, message }
        }
        WriteError::Lasting { reason, message } => WriteOutcome::Refused { reason, message },
        WriteError::NotLeading => WriteOutcome::NotLeading,
    }
}
