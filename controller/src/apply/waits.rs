//! What is left alone for a while, because it did not work.

use std::collections::HashMap;
use std::time::Duration;

use mcwan_core::emit::object::ObjectId;
use mcwan_core::observed::Digest;
use mcwan_core::outcome::{Outcome, REFUSED_WAIT};
use tokio::time::Instant;

use crate::backoff::Backoff;

/// The waits after failures.
const WAITS: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));
/// How many objects are remembered. Where more fail, something is wrong with all, and the caller's own waits do.
const CAPACITY: usize = 10_000;

/// What is left alone for a while, because it did not work.
#[derive(Debug, Default)]
pub(super) struct Waits(HashMap<ObjectId, Wait>);

#[derive(Debug)]
struct Wait {
    /// What was to be written; none: it was to be deleted.
    wanted: Option<Digest>,
    backoff: Backoff,
    until: Instant,
    outcome: Outcome,
}

impl Waits {
    /// What became of the same the last time, if that is not long enough ago to ask again.
    pub(super) fn recent(&self, id: &ObjectId, wanted: Option<Digest>) -> Option<Outcome> {
        let wait = self.0.get(id).filter(|wait| wait.wanted == wanted)?;
        let after = wait.until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        Some(match wait.outcome.clone() {
            Outcome::Retry { reason, message, .. } => Outcome::Retry { after, reason, message },
            outcome => outcome,
        })
    }

    /// It is tried again the next time, and waits as long as ever if it fails.
    pub(super) fn insist(&mut self, id: &ObjectId) {
        if let Some(wait) = self.0.get_mut(id) {
            wait.until = Instant::now();
        }
    }

    /// It worked.
    pub(super) fn succeeded(&mut self, id: &ObjectId) {
        self.0.remove(id);
    }

    /// It may work later; `least` is what the API server asks for.
    pub(super) fn failed(
        &mut self,
        id: &ObjectId,
        wanted: Option<Digest>,
        reason: &'static str,
        message: String,
        least: Option<Duration>,
    ) -> Outcome {
        let mut backoff = self.0.get(id).map_or(WAITS, |wait| wait.backoff);
        let after = backoff.failed().max(least.unwrap_or_default());
        self.remember(id, wanted, backoff, after, Outcome::Retry { after, reason, message })
    }

    /// It will not work.
    pub(super) fn refused(&mut self, id: &ObjectId, wanted: Option<Digest>, outcome: Outcome) -> Outcome {
        self.remember(id, wanted, WAITS, REFUSED_WAIT, outcome)
    }

    fn remember(
        &mut self,
        id: &ObjectId,
        wanted: Option<Digest>,
        backoff: Backoff,
        after: Duration,
        outcome: Outcome,
    ) -> Outcome {
        let now = Instant::now();
        let until = now + after;
        if self.0.len() >= CAPACITY {
            self.0.retain(|_, wait| wait.until > now);
        }
        if self.0.len() < CAPACITY || self.0.contains_key(id) {
            self.0.insert(id.clone(), Wait { wanted, backoff, until, outcome: outcome.clone() });
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mcwan_core::emit::object::Kind;
    use mcwan_core::snapshot::Key;

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_left_alone_until_its_time_or_another_wish() {
        let id = ObjectId { kind: Kind::Gateway, key: Key::new("secure", "mcwan-egress") };
        let digest = |text| Some(Digest::of_desired(&json!({"spec": text})));
        let mut waits = Waits::default();
        let Outcome::Retry { after, .. } = waits.failed(&id, digest("a"), "Timeout", String::new(), None) else {
            panic!("a failure asks to try again");
        };
        assert!(waits.recent(&id, digest("a")).is_some(), "at once");
        assert_eq!(waits.recent(&id, digest("b")), None, "another wish");
        assert_eq!(waits.recent(&id, None), None, "the wish that it be gone");
        tokio::time::advance(after).await;
        assert_eq!(waits.recent(&id, digest("a")), None, "in due time");

        let Outcome::Retry { after: longer, .. } = waits.failed(&id, digest("a"), "Timeout", String::new(), None)
        else {
            panic!("a failure asks to try again");
        };
        waits.insist(&id);
        assert_eq!(waits.recent(&id, digest("a")), None, "somebody insists");
        let again = waits.failed(&id, digest("a"), "Timeout", String::new(), None);
        assert!(again.retry_after() >= Some(longer), "it waits no less than before: {again:?}, {longer:?}");

        let least = Duration::from_mins(1);
        let asked = waits.failed(&id, digest("a"), "TooManyRequests", String::new(), Some(least));
        assert_eq!(asked.retry_after(), Some(least), "what the API server asks for");
        waits.succeeded(&id);
        assert_eq!(waits.recent(&id, digest("a")), None, "after a success");
    }
}
