//! Why something that a rule asks for is refused.

use mcwan_policy::wire::RefuseReason;

use crate::api::Fault;
use crate::problem::NotPermitted;
use crate::problem::{FieldPath, Reason};

/// Why something is refused, and where.
pub(super) struct Refusal {
    /// Seen from what was looked at.
    pub(super) field: FieldPath,
    /// What requests are told.
    pub(super) reason: RefuseReason,
    /// What people are told, where it is another.
    pub(super) because: Option<Reason>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// Where no tier may be taken.
    pub(super) not_permitted: Vec<NotPermitted>,
}

impl Refusal {
    pub(super) fn new(reason: RefuseReason, message: impl Into<String>) -> Self {
        let (message, not_permitted) = (message.into(), Vec::new());
        Self { field: FieldPath::root(), reason, because: None, message, hint: None, not_permitted }
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

    /// It cannot be read.
    pub(super) fn unreadable(Fault { field, message, is_of_match }: &Fault) -> Self {
        let reason = if *is_of_match { RefuseReason::InvalidMatch } else { RefuseReason::UnsupportedFilter };
        Self::new(reason, message.as_str()).at(field.clone())
    }

    /// The same, seen from what has the field.
    pub(super) fn at(self, field: impl Into<FieldPath>) -> Self {
        Self { field: field.into().field(self.field), ..self }
    }

    /// The same, told to people for another reason.
    pub(super) fn because(self, reason: Reason) -> Self {
        Self { because: Some(reason), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
