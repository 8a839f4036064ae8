//! What the API server's refusals mean.

use std::time::Duration;

use kube::core::Status;
use mcwan_core::outcome::NAMESPACE_TERMINATING;

/// Why a request did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// What is there is not what the request was meant for.
    Conflict,
    /// There is no such object.
    NotFound { message: String },
    /// It may work later; `after` is what the API server asks for.
    Passing { reason: &'static str, message: String, after: Option<Duration> },
    /// It will not work.
    Lasting { reason: &'static str, message: String },
    /// We do not lead, so it was not sent, or nobody waited for the answer.
    NotLeading,
}

impl Failure {
    pub(super) fn passing(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Passing { reason, message: message.into(), after: None }
    }

    fn answered(status: &Status) -> Self {
        let message = status.message.clone();
        let details = status.details.as_ref();
        let has_cause = |reason: &str, field: &str| {
            let mut causes = details.into_iter().flat_map(|details| &details.causes);
            causes.any(|cause| cause.reason == reason && cause.field == field)
        };
        let lasting = |reason| Self::Lasting { reason, message: message.clone() };
        match status.code {
            409 => Self::Conflict,
            // The object has another uid than the one that was meant.
            422 if has_cause("FieldValueInvalid", "metadata.uid") => Self::Conflict,
            404 if details.is_some_and(|details| details.kind == "namespaces") => {
                Self::passing("NamespaceNotFound", message)
            }
            404 => Self::NotFound { message },
            403 if has_cause("NamespaceTerminating", "metadata.namespace") => {
                Self::passing(NAMESPACE_TERMINATING, message)
            }
            403 => lasting("Forbidden"),
            413 => lasting("TooLarge"),
            _ if message.contains("request is too large") => lasting("TooLarge"),
            422 => lasting("Invalid"),
            400 | 405 | 406 | 415 => lasting("BadRequest"),
            401 => Self::passing("Unauthorized", message),
            429 => {
                let seconds = details.map(|details| details.retry_after_seconds).unwrap_or_default();
                let after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
                Self::Passing { reason: "TooManyRequests", message, after }
            }
            504 => Self::passing("Timeout", message),
            _ => Self::passing("ServerError", message),
        }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::answered(&status),
            kube::Error::BuildRequest(error) => Self::Lasting { reason: "BadRequest", message: error.to_string() },
            error => Self::passing("Unreachable", error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn failure(code: u16, message: &str, details: &Value) -> Failure {
        let status = json!({"code": code, "message": message, "details": details});
        Failure::answered(&serde_json::from_value(status).unwrap())
    }

    #[test]
    fn answers_are_told_apart_by_what_helps() {
        let cause = |reason, field| json!({"causes": [{"reason": reason, "message": "", "field": field}]});
        let terminating = cause("NamespaceTerminating", "metadata.namespace");
        let another_uid = cause("FieldValueInvalid", "metadata.uid");
        let table = [
            (409, "", json!({}), "Conflict", "somebody else's"),
            (422, "", another_uid, "Conflict", "another object of the name"),
            (422, "", cause("FieldValueInvalid", "spec.ports"), "Lasting Invalid", "what cannot be"),
            (403, "", json!({}), "Lasting Forbidden", "our rights do not suffice"),
            (403, "", terminating, "Passing NamespaceTerminating", "the namespace goes"),
            (404, "", json!({"kind": "namespaces"}), "Passing NamespaceNotFound", "the namespace is gone"),
            (404, "404 page not found", json!({}), "NotFound", "the kind is not installed"),
            (429, "", json!({"retryAfterSeconds": 7}), "Passing TooManyRequests 7s", "too much at once"),
            (500, "etcdserver: request is too large", json!({}), "Lasting TooLarge", "too much in one object"),
            (500, "failed calling webhook", json!({}), "Passing ServerError", "a webhook is away"),
            (401, "", json!({}), "Passing Unauthorized", "a token that has run out"),
        ];
        for (code, text, details, expected, message) in table {
            let found = match failure(code, text, &details) {
                Failure::Conflict => "Conflict".to_owned(),
                Failure::NotFound { .. } => "NotFound".to_owned(),
                Failure::Passing { reason, after: Some(after), .. } => format!("Passing {reason} {after:?}"),
                Failure::Passing { reason, .. } => format!("Passing {reason}"),
                Failure::Lasting { reason, .. } => format!("Lasting {reason}"),
                Failure::NotLeading => "NotLeading".to_owned(),
            };
            assert_eq!(found, expected, "{message}");
        }
    }
}
