//! Which of the Secrets that `Route`s name we may read. None is read: what a `Route` may show to clients is what `OpenShift`'s
//! router, too, would have to be granted.
//!
//! Each Secret is asked for by itself, and each answer is told as it comes: one that does not come holds up no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::PostParams;
use kube::{Api, Client};
use mcwan_core::backoff::Backoff;
use mcwan_core::snapshot::Key;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::errors::with_causes;

/// How many questions are under way at once. Who waits takes turns, and waits for a timeout at most while as many do not answer.
const CONCURRENCY: usize = 64;
/// How many of them are for Secrets of one namespace: whatever is named there, there is room for others.
const OF_NAMESPACE: usize = 4;
/// How long the API server may take for one: it answers from memory, and who waits for a turn waits as long at most.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The waits while it does not answer: soon at first, and never so often that all questions together burden it.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));

/// How long is waited.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Until the same is asked again: nobody tells of a grant.
    pub period: Duration,
    /// For the first answers: whoever is never told must lead without, and serve all else.
    pub patience: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { period: Duration::from_secs(30), patience: Duration::from_mins(1) }
    }
}

/// Asks the API server, until this is dropped.
#[derive(Debug)]
pub struct ReadableSecrets {
    named: watch::Sender<BTreeSet<Key>>,
    known: watch::Receiver<BTreeMap<Key, bool>>,
}

impl ReadableSecrets {
    /// Asks in tasks of its own, as soon as it is told what, and again and again.
    pub fn start(client: Client, waits: Waits) -> Self {
        let (named, questions) = watch::channel(BTreeSet::new());
        let (sender, known) = watch::channel(BTreeMap::new());
        tokio::spawn(gather(Api::all(client), waits, questions, sender));
        Self { named, known }
    }

    /// From now on, it is asked for these: for new ones at once.
    pub fn ask(&self, named: BTreeSet<Key>) {
        self.named.send_replace(named);
    }

    /// Whether we may read each of them: as soon as all is known, and then, as far as it is, whenever it is otherwise. None if nobody asks any
    /// more, which is so only after a panic.
    pub async fn next(&mut self) -> Option<BTreeMap<Key, bool>> {
        self.known.changed().await.ok()?;
        Some(self.known.borrow_and_update().clone())
    }
}

/// Has everything asked that is named, and tells what is known.
async fn gather(
    reviews: Api<SelfSubjectAccessReview>,
    waits: Waits,
    mut questions: watch::Receiver<BTreeSet<Key>>,
    known: watch::Sender<BTreeMap<Key, bool>>,
) {
    if questions.changed().await.is_err() {
        return;
    }
    questions.mark_changed();
    let end_of_patience = Instant::now() + waits.patience;
    let (said, mut answers) = mpsc::channel(CONCURRENCY);
    let mut askers = Askers::new(reviews, waits.period, said);
    let mut named = BTreeSet::new();
    // That nothing is named is told, too.
    let (mut is_news, mut is_told) = (true, false);
    let change = |how: &mut dyn FnMut(&mut BTreeMap<Key, bool>)| {
        known.send_if_modified(|known| {
            how(known);
            false
        });
    };
    loop {
        tokio::select! {
            changed = questions.changed() => {
                if changed.is_err() {
                    return;
                }
                named.clone_from(&questions.borrow_and_update());
                askers.ask(&named);
                change(&mut |known| {
                    let before = known.len();
                    known.retain(|secret, _| named.contains(secret));
                    is_news |= known.len() != before;
                });
            }
            Some((secret, may)) = answers.recv() => if named.contains(&secret) {
                change(&mut |known| is_news |= known.insert(secret.clone(), may) != Some(may));
            },
            Some(ended) = askers.tasks.join_next() => if ended.is_err_and(|error| error.is_panic()) {
                return;
            },
            () = sleep_until(end_of_patience), if !is_told => {
                change(&mut |known| {
                    for secret in &named {
                        known.entry(secret.clone()).or_insert(false);
                    }
                });
            }
        }
        is_told |= known.borrow().len() == named.len();
        if is_told && std::mem::take(&mut is_news) {
            known.send_modify(|_| ());
        }
    }
}

/// Those who ask, each for one Secret.
struct Askers {
    reviews: Api<SelfSubjectAccessReview>,
    period: Duration,
    said: mpsc::Sender<(Key, bool)>,
    turns: Arc<Semaphore>,
    tasks: JoinSet<()>,
    of_secrets: BTreeMap<Key, AbortHandle>,
    turns_of_namespaces: BTreeMap<Arc<str>, Arc<Semaphore>>,
}

impl Askers {
    fn new(reviews: Api<SelfSubjectAccessReview>, period: Duration, said: mpsc::Sender<(Key, bool)>) -> Self {
        Self {
            reviews,
            period,
            said,
            turns: Arc::new(Semaphore::new(CONCURRENCY)),
            tasks: JoinSet::new(),
            of_secrets: BTreeMap::new(),
            turns_of_namespaces: BTreeMap::new(),
        }
    }

    /// Asks for these and no others from now on.
    fn ask(&mut self, named: &BTreeSet<Key>) {
        for (_, asker) in self.of_secrets.extract_if(.., |secret, _| !named.contains(secret)) {
            asker.abort();
        }
        let namespaces: BTreeSet<_> = named.iter().map(|secret| &secret.namespace).collect();
        self.turns_of_namespaces.retain(|namespace, _| namespaces.contains(namespace));
        for secret in named {
            if self.of_secrets.contains_key(secret) {
                continue;
            }
            let own_turns = self.turns_of_namespaces.entry(Arc::clone(&secret.namespace));
            let own_turns = own_turns.or_insert_with(|| Arc::new(Semaphore::new(OF_NAMESPACE)));
            let turns = [own_turns, &self.turns].map(Arc::clone);
            let asker = keep_asking(self.reviews.clone(), secret.clone(), self.period, turns, self.said.clone());
            self.of_secrets.insert(secret.clone(), self.tasks.spawn(asker));
        }
    }
}

/// Asks for a Secret for ever, when it is its turn in its namespace and then among all.
async fn keep_asking(
    reviews: Api<SelfSubjectAccessReview>,
    secret: Key,
    period: Duration,
    [own_turns, turns]: [Arc<Semaphore>; 2],
    said: mpsc::Sender<(Key, bool)>,
) {
    let mut backoff = BACKOFF;
    let mut is_failing = false;
    loop {
        let answer = {
            let (Ok(_own), Ok(_turn)) = (own_turns.acquire().await, turns.acquire().await) else { return };
            // Boxed, so that those who wait take little room.
            Box::pin(may_read(&reviews, &secret)).await
        };
        let wait = match answer {
            Ok(may) => {
                if said.send((secret.clone(), may)).await.is_err() {
                    return;
                }
                is_failing = false;
                backoff.succeeded();
                period
            }
            Err(error) => {
                // What was said before holds.
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(%secret, error = with_causes(&*error), "it is not known whether we may read a Secret");
                }
                backoff.failed(fastrand::f64())
            }
        };
        sleep(wait).await;
    }
}

/// Whether we may read a Secret.
async fn may_read(reviews: &Api<SelfSubjectAccessReview>, secret: &Key) -> anyhow::Result<bool> {
    let attributes = ResourceAttributes {
        namespace: Some(secret.namespace.to_string()),
        name: Some(secret.name.to_string()),
        resource: Some("secrets".to_owned()),
        verb: Some("get".to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let params = PostParams::default();
    let answer = timeout(TIMEOUT, reviews.create(&params, &review)).await.context("no answer")??;
    let SubjectAccessReviewStatus { allowed, evaluation_error, .. } = answer.status.context("an answer without one")?;
    match evaluation_error.filter(|_| !allowed) {
        // Who could not look everywhere has not said no.
        Some(error) => Err(anyhow!(error)),
        None => Ok(allowed),
    }
}
