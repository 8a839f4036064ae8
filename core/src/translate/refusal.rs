//! Why something that a rule asks for is refused.

use mcwan_policy::wire::RefuseReason;

use crate::problem::FieldPath;

/// Why something is refused, and where.
pub(super) struct Refusal {
    /// Seen from what was looked at.
    pub(super) field: FieldPath,
    pub(super) reason: RefuseReason,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Refusal {
    pub(super) fn new(reason: RefuseReason, message: impl Into<String>) -> Self {
        Self { field: FieldPath::root(), reason, message: message.into(), hint: None }
    }

    /// Its values cannot be.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(RefuseReason::InvalidFilter, message)
    }

    /// Nobody does it.
    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(RefuseReason::UnsupportedFilter, message)
    }

    /// What it names is not there.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(RefuseReason::BackendNotFound, message)
    }

    /// The same, seen from what has the field.
    pub(super) fn at(self, field: impl Into<FieldPath>) -> Self {
        Self { field: field.into().field(self.field), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
