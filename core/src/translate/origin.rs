//! Where rules were written.

use std::sync::Arc;

use crate::problem::{FieldPath, ObjectRef, Problem, Reason};

/// Where a rule was written: an import's rules may come from several objects, of any kind that has rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The rule's name, where it has one.
    pub name: Option<String>,
    /// The object.
    pub object: Arc<ObjectRef>,
    /// The object's API group.
    pub group: &'static str,
    /// The field of the object.
    pub field: FieldPath,
}

impl Origin {
    /// For people: `HTTPRoute secure/pay, spec.rules[0]`.
    pub fn place(&self) -> String {
        format!("{}, {}", self.object, self.field)
    }

    /// Several, for people, a line for each object: `HTTPRoute secure/pay, spec.rules[0], spec.rules[1]`.
    pub fn places(origins: &[Self]) -> Vec<String> {
        let runs = origins.chunk_by(|one, next| one.object == next.object);
        let fields = |run: &[Self]| run.iter().map(|origin| origin.field.to_string()).collect::<Vec<_>>().join(", ");
        runs.filter_map(|run| Some(format!("{}, {}", run.first()?.object, fields(run)))).collect()
    }

    /// The group and kind of the object, as `ReferenceGrant`s name them.
    pub fn referrer(&self) -> (&str, &str) {
        (self.group, &self.object.kind)
    }

    /// An error of a field of the rule.
    pub fn error(&self, field: impl Into<FieldPath>, reason: Reason, message: impl Into<String>) -> Problem {
        Problem::error((*self.object).clone(), reason, message).at(self.field.field(field))
    }

    /// Whether a problem is of the rule, or of a part of it.
    pub fn has(&self, problem: &Problem) -> bool {
        problem.object == *self.object && problem.field.is_within(&self.field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GATEWAY_API_GROUP;

    #[test]
    fn several_are_told_by_object() {
        let mk_origin = |route: &str, index| Origin {
            name: None,
            object: Arc::new(ObjectRef::namespaced("HTTPRoute", "secure", route)),
            group: GATEWAY_API_GROUP,
            field: FieldPath::from("spec.rules").index(index),
        };
        let places = Origin::places(&[mk_origin("pay", 0), mk_origin("pay", 1), mk_origin("new", 0)]);
        assert_eq!(
            places,
            ["HTTPRoute secure/pay, spec.rules[0], spec.rules[1]", "HTTPRoute secure/new, spec.rules[0]"]
        );
        assert_eq!(Origin::places(&[]), [""; 0], "nobody wrote any");
    }
}
