//! What the API server's refusals mean.

use std::time::Duration;

use kube::core::Status;
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;

use crate::errors::text_of;

/// Why a request failed, by what the API server answered.
fn answered(status: &Status) -> WriteError {
    let message = status.message.clone();
    let details = status.details.as_ref();
    let has_cause = |reason: &str, field: &str| {
        let mut causes = details.into_iter().flat_map(|details| &details.causes);
        causes.any(|cause| cause.reason == reason && cause.field.split('[').next() == Some(field))
    };
    let lasting = |reason| WriteError::Lasting { reason, message: message.clone() };
    match status.code {
        409 => WriteError::Conflict,
        // It may be on its way back from a Service that has just gone; or the range is another one since.
        422 if has_cause("FieldValueInvalid", "spec.clusterIPs") => WriteError::passing(Reason::AddressTaken, message),
        // The object has another uid than the one that was meant.
        422 if has_cause("FieldValueInvalid", "metadata.uid") => WriteError::Conflict,
        404 if details.is_some_and(|details| details.kind == "namespaces") => {
            WriteError::passing(Reason::NamespaceNotFound, message)
        }
        404 => WriteError::NotFound { message },
        403 if has_cause("NamespaceTerminating", "metadata.namespace") => {
            WriteError::passing(Reason::NamespaceTerminating, message)
        }
        403 => lasting(Reason::Forbidden),
        413 => lasting(Reason::TooLarge),
        _ if message.contains("request is too large") => lasting(Reason::TooLarge),
        422 => lasting(Reason::Invalid),
        400 | 405 | 406 | 415 => lasting(Reason::BadRequest),
        401 => WriteError::passing(Reason::Unauthorized, message),
        429 => {
            let seconds = details.map(|details| details.retry_after_seconds).unwrap_or_default();
            let after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
            WriteError::Passing { reason: Reason::TooManyRequests, message, after }
        }
        504 => WriteError::passing(Reason::Timeout, message),
        _ => WriteError::passing(Reason::ServerError, message),
    }
}

/// Why a request failed.
pub(super) fn failure(error: kube::Error) -> WriteError {
    match error {
        kube::Error::Api(status) => answered(&status),
        kube::Error::BuildRequest(error) => {
            WriteError::Lasting { reason: Reason::BadRequest, message: error.to_string() }
        }
        error => WriteError::passing(Reason::Unreachable, text_of(&error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn failure(code: u16, message: &str, details: &Value) -> WriteError {
        let status = json!({"code": code, "message": message, "details": details});
        answered(&serde_json::from_value(status).unwrap())
    }

    #[test]
    fn answers_are_told_apart_by_what_helps() {
        let cause = |reason, field| json!({"causes": [{"reason": reason, "message": "", "field": field}]});
        let terminating = cause("NamespaceTerminating", "metadata.namespace");
        let another_uid = cause("FieldValueInvalid", "metadata.uid");
        let table = [
            (409, "", json!({}), "Conflict", "somebody else's"),
            (422, "", another_uid, "Conflict", "another object of the name"),
            (422, "", cause("FieldValueInvalid", "spec.clusterIPs"), "Passing AddressTaken", "an address is not free"),
            (422, "", cause("FieldValueInvalid", "spec.clusterIPs[0]"), "Passing AddressTaken", "of another family"),
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
                WriteError::Conflict => "Conflict".to_owned(),
                WriteError::NotFound { .. } => "NotFound".to_owned(),
                WriteError::Passing { reason, after: Some(after), .. } => format!("Passing {reason} {after:?}"),
                WriteError::Passing { reason, .. } => format!("Passing {reason}"),
                WriteError::Lasting { reason, .. } => format!("Lasting {reason}"),
                WriteError::NotLeading => "NotLeading".to_owned(),
            };
            assert_eq!(found, expected, "{message}");
        }
    }
}
