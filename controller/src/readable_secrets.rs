//! Which of the Secrets that `Route`s name we may read. None is read: what a `Route` may show to clients is what `OpenShift`'s
//! router, too, would have to be granted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, anyhow};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::PostParams;
use kube::{Api, Client};
use mcwan_core::backoff::Backoff;
use mcwan_core::snapshot::Key;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::errors::with_causes;

/// How often the same is asked again: nobody tells of a grant.
pub const PERIOD: Duration = Duration::from_secs(30);
/// How many questions are under way at once.
const CONCURRENCY: usize = 8;
/// How long the API server may take for one.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The waits while it does not answer.
const WAITS: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));
/// How long the first answers are waited for: whoever is never told must lead without, and serve all else.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks the API server, until this is dropped.
#[derive(Debug)]
pub struct ReadableSecrets {
    named: watch::Sender<BTreeSet<Key>>,
    answers: mpsc::Receiver<BTreeMap<Key, bool>>,
}

impl ReadableSecrets {
    /// Asks in a task of its own, as soon as it is told what, and again after each `period`.
    pub fn start(client: Client, period: Duration) -> Self {
        let (named, questions) = watch::channel(BTreeSet::new());
        let (sender, answers) = mpsc::channel(1);
        tokio::spawn(keep_asking(Api::all(client), period, questions, sender));
        Self { named, answers }
    }

    /// From now on, it is asked for these: for new ones at once.
    pub fn ask(&self, named: BTreeSet<Key>) {
        self.named.send_replace(named);
    }

    /// Whether we may read each of them: as soon as all is known, and then, as far as it is, whenever it is otherwise. None if nobody asks any
    /// more, which is so only after a panic.
    pub async fn next(&mut self) -> Option<BTreeMap<Key, bool>> {
        self.answers.recv().await
    }
}

async fn keep_asking(
    reviews: Api<SelfSubjectAccessReview>,
    period: Duration,
    mut questions: watch::Receiver<BTreeSet<Key>>,
    answers: mpsc::Sender<BTreeMap<Key, bool>>,
) {
    if questions.changed().await.is_err() {
        return;
    }
    let start = Instant::now();
    let (mut due, mut backoff) = (start, WAITS);
    let (mut known, mut told) = (BTreeMap::new(), None);
    loop {
        let named = questions.borrow_and_update().clone();
        known.retain(|secret, _| named.contains(secret));
        let is_due = due <= Instant::now();
        let asked: Vec<_> = named.iter().filter(|secret| is_due || !known.contains_key(*secret)).cloned().collect();
        let asked = stream::iter(asked).map(async |secret| (may_read(&reviews, &secret).await, secret));
        let mut failure = None;
        for (answer, secret) in asked.buffer_unordered(CONCURRENCY).collect::<Vec<_>>().await {
            match answer {
                Ok(may) => drop(known.insert(secret, may)),
                Err(error) => {
                    // What was said before holds. Who begins is not held up for ever.
                    if told.is_none() && start.elapsed() >= PATIENCE {
                        known.entry(secret.clone()).or_insert(false);
                    }
                    failure = Some((error, secret));
                }
            }
        }
        if let Some((error, secret)) = &failure {
            tracing::warn!(%secret, error = with_causes(&**error), "it is not known whether we may read a Secret");
            due = Instant::now() + backoff.failed(fastrand::f64());
        } else if is_due {
            due = Instant::now() + period;
            backoff.succeeded();
        }
        let is_known = || named.iter().all(|secret| known.contains_key(secret));
        if (told.is_some() || is_known()) && told.as_ref() != Some(&known) {
            told = Some(known.clone());
            if answers.send(known.clone()).await.is_err() {
                return;
            }
        }
        tokio::select! {
            changed = questions.changed() => if changed.is_err() { return },
            () = sleep_until(due) => {}
        }
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
