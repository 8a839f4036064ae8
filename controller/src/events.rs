//! Events on the user's objects: what has changed of their conditions.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use mcwan_core::status::{News, NewsType, StatusPatch};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Who reports.
const REPORTER: &str = "mcwan";
/// What was done, in every event.
const ACTION: &str = "UpdateStatus";

/// Events that may be sent at once, and that may wait to be: more than anybody reads.
const BURST: u8 = 100;
/// In the long run, there is one event in this time: etcd keeps each for an hour.
const PERIOD: Duration = Duration::from_millis(200);
/// How long the API server may take for one: the next ones are worth more than an answer that is as late.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Sends events, but no flood of them: where ten thousand imports become ready at once, their conditions tell. Nobody
/// waits for them.
pub struct Events {
    queue: mpsc::Sender<Report>,
    allowance: Allowance,
}

/// An event and the object that it is about.
struct Report {
    event: Event,
    object: ObjectReference,
}

/// A bucket that fills with time.
#[derive(Debug)]
struct Allowance {
    /// When the bucket was, or would have been, empty.
    empty: Instant,
}

impl Events {
    /// Reports in the name of the pod `instance`; without one, of the host. Must be called within a Tokio runtime.
    pub fn new(client: Client, instance: Option<String>) -> Self {
        let reporter = match instance {
            Some(instance) => Reporter { controller: REPORTER.to_owned(), instance: Some(instance) },
            None => REPORTER.into(),
        };
        let (queue, reports) = mpsc::channel(BURST.into());
        tokio::spawn(send(Recorder::new(client, reporter), reports));
        Self { queue, allowance: Allowance::full(Instant::now()) }
    }

    /// Tells the news of a status that was patched, as far as there may be events. One that the API server does not
    /// take is lost: the condition says the same.
    pub fn publish(&mut self, patch: &StatusPatch) {
        let object = reference(patch);
        for news in &patch.news {
            let report = Report { event: event(news), object: object.clone() };
            if !self.allowance.take(Instant::now()) || self.queue.try_send(report).is_err() {
                tracing::debug!(object = %patch.key, reason = %news.reason, "too many events: one is left out");
            }
        }
    }
}

/// Sends reports, one after the other, until there will be no more.
async fn send(recorder: Recorder, mut reports: mpsc::Receiver<Report>) {
    while let Some(Report { event, object }) = reports.recv().await {
        let error = match timeout(TIMEOUT, recorder.publish(&event, &object)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {TIMEOUT:?}"),
        };
        tracing::debug!(?object.namespace, ?object.name, event.reason, error, "an event cannot be sent");
    }
}

fn event(news: &News) -> Event {
    Event {
        type_: match news.news_type {
            NewsType::Normal => EventType::Normal,
            NewsType::Warning => EventType::Warning,
        },
        reason: news.reason.to_string(),
        note: Some(news.message.clone()),
        action: ACTION.to_owned(),
        secondary: None,
    }
}

fn reference(patch: &StatusPatch) -> ObjectReference {
    let resource = patch.kind.api_resource();
    ObjectReference {
        api_version: Some(resource.api_version),
        kind: Some(resource.kind),
        name: Some(patch.key.name.to_string()),
        namespace: Some(patch.key.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
        uid: patch.uid.clone(),
        ..ObjectReference::default()
    }
}

impl Allowance {
    fn full(now: Instant) -> Self {
        Self { empty: now.checked_sub(PERIOD * u32::from(BURST)).unwrap_or(now) }
    }

    /// Takes one event out, if there is one.
    fn take(&mut self, now: Instant) -> bool {
        let full = Self::full(now).empty;
        self.empty = self.empty.max(full);
        let is_there = now.duration_since(self.empty) >= PERIOD;
        if is_there {
            self.empty += PERIOD;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_bounded_and_come_back_with_time() {
        let start = Instant::now() + PERIOD * u32::from(BURST);
        let mut allowance = Allowance::full(start);
        let mut taken = |now| std::iter::repeat_with(|| allowance.take(now)).take_while(|taken| *taken).count();
        assert_eq!(taken(start), 100, "a burst");
        assert_eq!(taken(start + PERIOD / 2), 0, "none is left");
        assert_eq!(taken(start + PERIOD * 3), 3, "one in each period");
        assert_eq!(taken(start + PERIOD * 1000), 100, "no more than a burst");
    }
}
