//! How what became of objects is counted.

use mcwan_core::emit::object::ObjectId;
use mcwan_core::outcome::{WriteError, WriteOutcome};
use mcwan_core::problem::Reason;
use mcwan_core::status::StatusPatch;

use crate::admin::Metrics;

/// Counts what became of writing, reading or deleting an object.
pub(super) fn count(metrics: &Metrics, id: &ObjectId, outcome: &WriteOutcome) {
    let (kind, key) = (id.kind.title(), &id.key);
    match outcome {
        WriteOutcome::Retry { reason, message, after: _ } | WriteOutcome::Refused { reason, message } => {
            metrics.api_error(*reason);
            metrics.reconcile_failed(*reason);
            tracing::debug!(kind, %key, %reason, error = message, "it did not work");
        }
        WriteOutcome::Conflict => metrics.reconcile_failed(Reason::Conflict),
        WriteOutcome::Applied => metrics.applied(kind),
        WriteOutcome::Deleted => metrics.pruned(kind),
        WriteOutcome::NotLeading => {}
    }
}

/// Counts that a status was not written. That it is another object by now, or none, is no failure.
pub(super) fn count_status(metrics: &Metrics, patch: &StatusPatch, error: &WriteError) {
    if let WriteError::Passing { reason, message, .. } | WriteError::Lasting { reason, message } = error {
        metrics.api_error(*reason);
        tracing::debug!(kind = patch.kind.api_resource().kind, key = %patch.key, %reason, error = message, "a status was not written");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use mcwan_core::emit::object::Kind;
    use mcwan_core::snapshot::Key;

    use super::*;

    #[test]
    fn what_failed_is_counted_and_what_did_not_is_not() {
        let message = || "said so".to_owned();
        let retry = WriteOutcome::Retry { after: Duration::from_secs(1), reason: Reason::Timeout, message: message() };
        let refused = WriteOutcome::Refused { reason: Reason::Forbidden, message: message() };
        let errors = |reason| format!("mcwan_api_errors_total{{reason=\"{reason}\"}} 1");
        let rounds = |reason| format!("mcwan_reconcile_errors_total{{reason=\"{reason}\"}} 1");
        let id = ObjectId { kind: Kind::Service, key: Key::new("secure", "payment") };
        for (outcome, expected, what) in [
            (retry, vec![errors("Timeout"), rounds("Timeout")], "what may work later"),
            (refused, vec![errors("Forbidden"), rounds("Forbidden")], "what is refused"),
            (WriteOutcome::Conflict, vec![rounds("Conflict")], "another's object is in the way"),
            (WriteOutcome::Applied, vec![], "a write"),
            (WriteOutcome::Deleted, vec![], "a deletion"),
            (WriteOutcome::NotLeading, vec![], "another leads"),
        ] {
            let metrics = Metrics::default();
            count(&metrics, &id, &outcome);
            let text = metrics.encode().unwrap();
            let counted = text.lines().filter(|line| line.contains("_errors_total{"));
            let expected = expected.iter().map(String::as_str);
            assert_eq!(counted.collect::<BTreeSet<_>>(), expected.collect(), "{what}");
        }
    }
}
