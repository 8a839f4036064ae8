//! How what did not work is counted and told of.

use mcwan_core::outcome::Outcome;
use mcwan_core::snapshot::Key;

use crate::admin::Metrics;

/// Takes note of what became of an object, where that is not what was to. `what`: what was not done.
pub(super) fn note(metrics: &Metrics, what: &'static str, kind: &str, key: &Key, outcome: &Outcome) {
    match outcome {
        Outcome::Retry { reason, message, after: _ } | Outcome::Refused { reason, message } => {
            metrics.api_error(reason);
            metrics.reconcile_failed(reason);
            tracing::debug!(kind, %key, reason, error = message, "{what}");
        }
        Outcome::Conflict => metrics.reconcile_failed("Conflict"),
        Outcome::Same | Outcome::Applied | Outcome::Deleted | Outcome::NotLeading => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_failed_is_counted_and_what_did_not_is_not() {
        let message = || "said so".to_owned();
        let retry = Outcome::Retry { after: Duration::from_secs(1), reason: "Timeout", message: message() };
        let refused = Outcome::Refused { reason: "Forbidden", message: message() };
        let errors = |reason| format!("mcwan_api_errors_total{{reason=\"{reason}\"}} 1");
        let rounds = |reason| format!("mcwan_reconcile_errors_total{{reason=\"{reason}\"}} 1");
        for (outcome, expected, what) in [
            (retry, vec![errors("Timeout"), rounds("Timeout")], "what may work later"),
            (refused, vec![errors("Forbidden"), rounds("Forbidden")], "what is refused"),
            (Outcome::Conflict, vec![rounds("Conflict")], "another's object is in the way"),
            (Outcome::Same, vec![], "nothing to do"),
            (Outcome::Applied, vec![], "a write"),
            (Outcome::Deleted, vec![], "a deletion"),
            (Outcome::NotLeading, vec![], "another leads"),
        ] {
            let metrics = Metrics::default();
            note(&metrics, "not done", "Service", &Key::new("secure", "payment"), &outcome);
            let text = metrics.encode().unwrap();
            let counted = text.lines().filter(|line| line.contains("_errors_total{"));
            let expected = expected.iter().map(String::as_str);
            assert_eq!(counted.collect::<BTreeSet<_>>(), expected.collect(), "{what}");
        }
    }
}
