//! What is written, what is on its way, and what has failed.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use fastrand::Rng;

use super::desired::Desired;
use super::event::{ApplyError, Command};
use super::key::ReconcileKey;
use crate::backoff::Backoff;
use crate::emit::object::{Kind, Object, ObjectId};
use crate::moment::Moment;
use crate::observed::{Comparison, Digest, Live, Observed};
use crate::outcome::{NOT_LEADING_WAIT, REFUSED_WAIT, WriteError, WriteOutcome};
use crate::problem::Reason;
use crate::watched::Watched;

/// The waits after failures: most pass within a moment, and an API server that has too much to do is not asked for more.
const WAITS: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
/// The waits between two undoings of what others add: one who insists costs no more, and none of them for ever.
const ADDITION_WAITS: Backoff = Backoff::new(Duration::from_secs(1), ADDITION_LONGEST);
/// After so long, an addition is a new one.
const ADDITION_LONGEST: Duration = Duration::from_mins(10);
/// When it is looked again whether an object is gone, if no event says so.
const DELETING_WAIT: Duration = Duration::from_secs(10);

/// The wanted objects, and how far they are.
#[derive(Debug)]
pub(super) struct Objects {
    /// What the API server has of the kinds that we write.
    pub(super) observed: Observed,
    /// What is wanted.
    pub(super) desired: Desired,
    /// What is under way.
    requests: HashMap<ObjectId, InFlight>,
    /// How many of them are to this cluster's API server.
    local_requests: usize,
    /// How many requests of a part are under way: when none is, it is looked at again.
    under_way: HashMap<ReconcileKey, usize>,
    failures: HashMap<ObjectId, Failure>,
    /// The objects that others have added to, and until when that is left alone.
    additions: HashMap<ObjectId, (Backoff, Moment)>,
    /// The kinds of which the API server has made something else than we applied.
    unsettled: BTreeSet<Kind>,
    rng: Rng,
}

/// A request that is not answered yet.
#[derive(Debug, Default)]
struct InFlight {
    /// What is written; none: it is read or deleted.
    wanted: Option<Digest>,
    /// The uid of what is deleted, if anything is: the answer says nothing of another object that has the name by then.
    deletes: Box<str>,
    /// Who waits for it.
    key: Option<ReconcileKey>,
    /// The version of the last deletion of the object that was seen meanwhile: its answer may come later than that.
    deleted: Option<u64>,
}

/// What did not work.
#[derive(Debug)]
struct Failure {
    /// What could not be written; none: it could not be read or deleted.
    wanted: Option<Digest>,
    backoff: Backoff,
    /// It is left alone until then.
    until: Moment,
    /// Whether the API server was asked: what is known without may change without.
    was_asked: bool,
    outcome: WriteOutcome,
}

/// How far an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteState {
    /// It is in the wanted state.
    Written,
    /// It has just been sent.
    Sent,
    /// Something of it is under way.
    OnItsWay,
    /// It is left alone until then, because it failed.
    Failed(Moment),
}

impl Objects {
    /// Nothing is known yet. `seed`: of the jitter of waits.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            observed: Observed::default(),
            desired: Desired::default(),
            requests: HashMap::new(),
            local_requests: 0,
            under_way: HashMap::new(),
            failures: HashMap::new(),
            additions: HashMap::new(),
            unsettled: BTreeSet::new(),
            rng: Rng::with_seed(seed),
        }
    }

    /// How many requests to this cluster's API server are under way.
    pub(super) fn local_requests(&self) -> usize {
        self.local_requests
    }

    /// An object was seen to be deleted, in this version.
    pub(super) fn saw_deletion(&mut self, id: &ObjectId, version: u64) {
        if let Some(request) = self.requests.get_mut(id) {
            request.deleted = Some(version);
        }
    }

    /// Whether something of an object is under way.
    pub(super) fn is_on_its_way(&self, id: &ObjectId) -> bool {
        self.requests.contains_key(id)
    }

    /// Sends an object where it is not in the wanted state.
    pub(super) fn write(
        &mut self,
        key: &ReconcileKey,
        object: Object,
        now: Moment,
        out: &mut Vec<Command>,
    ) -> WriteState {
        let desired = Digest::of_desired(&object.body);
        let comparison = self.observed.compare(&object.id, desired);
        if let Some(request) = self.requests.get(&object.id) {
            // An answer may get lost where the request was not.
            let is_there = request.wanted == Some(desired) && comparison == Comparison::Same;
            return if is_there { WriteState::Written } else { WriteState::OnItsWay };
        }
        let uid = match comparison {
            Comparison::Same => {
                self.failures.remove(&object.id);
                self.undo_additions(key, object, desired, now, out);
                return WriteState::Written;
            }
            Comparison::Foreign => return self.failed(&object.id, Some(desired), WriteError::Conflict, now),
            Comparison::Deleting => {
                let after = Some(DELETING_WAIT);
                let message = "the object of that name is being deleted".to_owned();
                let error = WriteError::Passing { reason: Reason::Deleting, message, after };
                return self.failed(&object.id, Some(desired), error, now);
            }
            Comparison::Missing => None,
            Comparison::Different { uid } => Some(uid),
        };
        if let Some(until) = self.is_left_alone(&object.id, Some(desired), now) {
            return WriteState::Failed(until);
        }
        self.begin(&object.id, InFlight { wanted: Some(desired), key: Some(key.clone()), ..InFlight::default() });
        out.push(Command::Apply { object, desired, uid });
        WriteState::Sent
    }

    /// Takes away what others have added to an object. It counts as written, and nobody waits for it.
    fn undo_additions(
        &mut self,
        key: &ReconcileKey,
        object: Object,
        desired: Digest,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let Some(uid) = self.observed.with_additions(&object.id) else { return };
        let known = self.additions.get(&object.id).filter(|(_, until)| now.since(*until) < ADDITION_LONGEST);
        let (mut backoff, until) = known.copied().unwrap_or((ADDITION_WAITS, now));
        if until <= now {
            let until = now + backoff.failed(self.rng.f64());
            self.additions.insert(object.id.clone(), (backoff, until));
            self.begin(&object.id, InFlight { wanted: Some(desired), key: Some(key.clone()), ..InFlight::default() });
            out.push(Command::Apply { object, desired, uid: Some(uid) });
        }
    }

    /// Until when what others have added to an object is left alone.
    pub(super) fn tolerated_until(&self, id: &ObjectId) -> Option<Moment> {
        self.observed.with_additions(id)?;
        self.additions.get(id).map(|(_, until)| *until)
    }

    /// Asks for an object, or waits until what is under way of it is answered.
    pub(super) fn read(
        &mut self,
        key: &ReconcileKey,
        id: &ObjectId,
        now: Moment,
        out: &mut Vec<Command>,
    ) -> WriteState {
        if let Some(request) = self.requests.get_mut(id) {
            // Nobody waits for a deletion otherwise.
            if request.key.is_none() {
                request.key = Some(key.clone());
                *self.under_way.entry(key.clone()).or_default() += 1;
            }
            return WriteState::OnItsWay;
        }
        if let Some(until) = self.is_left_alone(id, None, now) {
            return WriteState::Failed(until);
        }
        self.begin(id, InFlight { key: Some(key.clone()), ..InFlight::default() });
        out.push(Command::Read { id: id.clone() });
        WriteState::Sent
    }

    /// Deletes an object of ours that nobody wants.
    pub(super) fn delete(&mut self, id: &ObjectId, now: Moment, out: &mut Vec<Command>) -> WriteState {
        let Some(live) = self.observed.get(id).filter(|live| live.is_ours() && !live.deleting) else {
            // The answer to its last request may have come later than the news that it is gone.
            self.failures.remove(id);
            self.additions.remove(id);
            return WriteState::Written;
        };
        if self.requests.contains_key(id) {
            return WriteState::OnItsWay;
        }
        let live = live.clone();
        if let Some(until) = self.is_left_alone(id, None, now) {
            return WriteState::Failed(until);
        }
        self.begin(id, InFlight { deletes: live.uid.clone(), ..InFlight::default() });
        out.push(Command::Delete { id: id.clone(), live });
        WriteState::Sent
    }

    /// An object was applied, or was not. Gives what it was of, whether that was the last of it, and what became of it.
    pub(super) fn applied(
        &mut self,
        id: &ObjectId,
        desired: Digest,
        result: Result<Live, ApplyError>,
        now: Moment,
    ) -> (Option<(ReconcileKey, bool)>, WriteOutcome) {
        let deleted = self.requests.get(id).and_then(|request| request.deleted);
        let key = self.end(id);
        let outcome = match result {
            Ok(live) if deleted.is_some_and(|version| live.version < version) => {
                let error = WriteError::passing(Reason::Changed, "the object was deleted once it was written");
                self.keep(id, Some(desired), error, now)
            }
            Ok(live) => {
                self.failures.remove(id);
                if !self.observed.applied(id, desired, live) && self.unsettled.insert(id.kind) {
                    // The manifest lacks a default. It is applied once more after each start, and no harm is done.
                    tracing::warn!(kind = id.kind.title(), key = %id.key, "the API server makes something else of what we apply");
                }
                WriteOutcome::Applied
            }
            Err(ApplyError::Found(found)) => {
                let error = match found {
                    Some(live) if !live.is_ours() => WriteError::Conflict,
                    Some(live) => {
                        self.observed.changed(id.kind, &id.key, live);
                        WriteError::passing(Reason::Changed, "the object has just been written")
                    }
                    None => {
                        self.observed.deleted(id.kind, &id.key, None);
                        WriteError::passing(Reason::Changed, "the object has just been deleted")
                    }
                };
                self.keep(id, Some(desired), error, now)
            }
            Err(ApplyError::Failed(error)) => self.keep(id, Some(desired), error, now),
        };
        (key, outcome)
    }

    /// An object was deleted, or was not. Gives who waits to read it, and what became of it.
    pub(super) fn deleted(
        &mut self,
        id: &ObjectId,
        result: Result<(), WriteError>,
        now: Moment,
    ) -> (Option<ReconcileKey>, WriteOutcome) {
        let deleted = self.requests.get_mut(id).map(|request| std::mem::take(&mut request.deletes)).unwrap_or_default();
        let key = self.end(id).and_then(|(key, is_last)| is_last.then_some(key));
        let outcome = match result {
            Ok(()) => {
                self.failures.remove(id);
                self.observed.going(id, &deleted);
                WriteOutcome::Deleted
            }
            Err(error) => self.keep(id, None, error, now),
        };
        (key, outcome)
    }

    /// An object was read, or was not. Gives what it was read for, whether that was the last of it, and why it was not.
    pub(super) fn was_read(
        &mut self,
        id: &ObjectId,
        error: Option<WriteError>,
        now: Moment,
    ) -> (Option<(ReconcileKey, bool)>, Option<WriteOutcome>) {
        let key = self.end(id);
        let outcome = error.map(|error| self.keep(id, None, error, now));
        if outcome.is_none() {
            self.failures.remove(id);
        }
        (key, outcome)
    }

    /// We do not lead any more, and nobody waits for answers.
    pub(super) fn stand_by(&mut self) {
        self.requests.clear();
        self.local_requests = 0;
        self.under_way.clear();
        self.failures.clear();
        self.additions.clear();
        self.desired = Desired::default();
    }

    /// What is wrong with an object that is wanted, or goes.
    pub(super) fn failure(&self, id: &ObjectId) -> Option<&WriteOutcome> {
        self.failures.get(id).map(|failure| &failure.outcome)
    }

    /// Whether nothing is wrong with anything.
    pub(super) fn is_sound(&self) -> bool {
        self.failures.is_empty()
    }

    /// An object is as it is wanted, or is neither wanted any more nor there: nothing is wrong with it.
    pub(super) fn forget(&mut self, id: &ObjectId) {
        self.failures.remove(id);
    }

    /// Another part of what we emit has the name of an object: the first has it.
    pub(super) fn taken(&mut self, object: &Object, now: Moment) -> WriteState {
        self.failed(&object.id, Some(Digest::of_desired(&object.body)), WriteError::Conflict, now)
    }

    fn begin(&mut self, id: &ObjectId, request: InFlight) {
        if let Some(key) = &request.key {
            *self.under_way.entry(key.clone()).or_default() += 1;
        }
        self.requests.insert(id.clone(), request);
        self.local_requests += usize::from(is_local(id));
    }

    /// A request was answered. Gives what it was of, and whether it was the last of it.
    fn end(&mut self, id: &ObjectId) -> Option<(ReconcileKey, bool)> {
        let request = self.requests.remove(id)?;
        self.local_requests = self.local_requests.saturating_sub(usize::from(is_local(id)));
        let key = request.key?;
        let left = self.under_way.get_mut(&key)?;
        *left = left.saturating_sub(1);
        let is_last = *left == 0;
        if is_last {
            self.under_way.remove(&key);
        }
        Some((key, is_last))
    }

    fn is_left_alone(&self, id: &ObjectId, wanted: Option<Digest>, now: Moment) -> Option<Moment> {
        let failure = self.failures.get(id).filter(|failure| failure.was_asked && failure.wanted == wanted)?;
        (failure.until > now).then_some(failure.until)
    }

    /// What stands in the way is known without a request.
    fn failed(&mut self, id: &ObjectId, wanted: Option<Digest>, error: WriteError, now: Moment) -> WriteState {
        if let Some(known) = self.failures.get(id).filter(|known| known.wanted == wanted && known.until > now) {
            return WriteState::Failed(known.until);
        }
        self.keep(id, wanted, error, now);
        let Some(failure) = self.failures.get_mut(id) else { return WriteState::Failed(now + REFUSED_WAIT) };
        failure.was_asked = false;
        WriteState::Failed(failure.until)
    }

    fn keep(&mut self, id: &ObjectId, wanted: Option<Digest>, error: WriteError, now: Moment) -> WriteOutcome {
        let mut backoff = self.failures.get(id).map_or(WAITS, |failure| failure.backoff);
        let (outcome, wait) = match error {
            WriteError::Passing { reason, message, after } => {
                let after = backoff.failed(self.rng.f64()).max(after.unwrap_or_default());
                (WriteOutcome::Retry { after, reason, message }, after)
            }
            WriteError::NotFound { message } => {
                let after = backoff.failed(self.rng.f64());
                let message = format!("{} is not installed: {message}", id.kind.title());
                (WriteOutcome::Retry { after, reason: Reason::NotInstalled, message }, after)
            }
            WriteError::Lasting { reason, message } => (WriteOutcome::Refused { reason, message }, REFUSED_WAIT),
            WriteError::Conflict => (WriteOutcome::Conflict, REFUSED_WAIT),
            WriteError::NotLeading => (WriteOutcome::NotLeading, NOT_LEADING_WAIT),
        };
        let failure = Failure { wanted, backoff, until: now + wait, was_asked: true, outcome: outcome.clone() };
        self.failures.insert(id.clone(), failure);
        outcome
    }
}

/// Whether it is this cluster's API server that has an object, not the registry.
fn is_local(id: &ObjectId) -> bool {
    !Watched::Emitted(id.kind).is_in_registry()
}
