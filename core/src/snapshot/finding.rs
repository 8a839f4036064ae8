//! Something wrong, and where.

use std::fmt;
use std::sync::Arc;

use crate::problem::{FieldPath, ObjectRef, Problem, Reason, Severity};

/// One thing that is wrong with a file, a document or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it must be put right.
    pub severity: Severity,
    /// Where; none if no file has the object.
    pub place: Option<Place>,
    /// The object, as far as it could be read.
    pub object: Option<ObjectRef>,
    /// The field; the root: the object as a whole.
    pub field: FieldPath,
    /// Why it is wrong, for machines.
    pub reason: Reason,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as the user named it.
    pub file: Arc<str>,
    /// From 1; none for the file as a whole.
    pub line: Option<usize>,
}

impl Finding {
    /// A problem and its place.
    pub fn new(problem: Problem, place: Option<Place>) -> Self {
        let Problem { severity, object, field, reason, message, hint, not_permitted: _ } = problem;
        Self { severity, place, object: Some(object), field, reason, message, hint }
    }

    /// An error that is not known to belong to an object.
    pub fn error(place: Place, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            place: Some(place),
            object: None,
            field: FieldPath::root(),
            reason,
            message: message.into(),
            hint: None,
        }
    }

    /// The same, as a warning.
    pub(super) fn warning(place: Place, reason: Reason, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, reason, message) }
    }

    /// The same, of an object.
    pub(super) fn of(self, object: ObjectRef) -> Self {
        Self { object: Some(object), ..self }
    }

    /// The same, with a hint.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// `examples/x.yaml:12`.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        match self.line {
            Some(line) => write!(formatter, ":{line}"),
            None => Ok(()),
        }
    }
}
