//! Where rules were written.

use std::sync::Arc;

use crate::problem::{FieldPath, ObjectRef, Problem, Reason};

/// Where a rule was written: an import's rules may come from several objects, of any kind that has rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The object.
    pub object: Arc<ObjectRef>,
    /// The field of the object.
    pub field: FieldPath,
}

/// A rule as it was written, beside what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Where it was written.
    pub origin: Origin,
}

/// Where what an import says beside its rules was written, in the object of the import.
#[derive(Debug, PartialEq, Eq)]
pub struct ImportFields {
    /// All rules together.
    pub rules: FieldPath,
    /// The hostnames.
    pub hostnames: FieldPath,
    /// The answer where no rule matches.
    pub no_match: FieldPath,
    /// Who applies the rules.
    pub data_plane: FieldPath,
}

impl Origin {
    /// An error of the rule.
    pub fn error(&self, reason: Reason, message: impl Into<String>) -> Problem {
        self.error_at(FieldPath::root(), reason, message)
    }

    /// An error of a field of the rule.
    pub fn error_at(&self, field: FieldPath, reason: Reason, message: impl Into<String>) -> Problem {
        Problem::error((*self.object).clone(), reason, message).at(self.field.clone().join(field))
    }
}
