//! Who has which object: no object is made of two things.

use std::collections::HashMap;
use std::hash::Hash;

use super::object::{Object, ObjectId};
use crate::problem::{ObjectRef, Problem, Reason};

/// The objects that are to be, and which owner claimed each first: the imports and exports that objects are made of,
/// or whatever else a caller keeps them by.
#[derive(Clone, Debug)]
pub struct Claims<Owner> {
    owners: HashMap<ObjectId, Owner>,
}

impl<Owner> Default for Claims<Owner> {
    fn default() -> Self {
        Self { owners: HashMap::new() }
    }
}

impl<Owner: Clone + Eq + Hash> Claims<Owner> {
    /// Takes out of `objects` what another owner has claimed before, and claims the rest. Each that is taken out is a
    /// problem of `subject`, what they are made of: else the two would overwrite each other for ever.
    pub fn claim(&mut self, owner: &Owner, subject: &ObjectRef, objects: &mut Vec<Object>) -> Vec<Problem> {
        let mut problems = Vec::new();
        objects.retain(|object| {
            let first = self.owners.entry(object.id.clone()).or_insert_with(|| owner.clone());
            let is_own = first == owner;
            if !is_own {
                problems.push(conflict(subject, &object.id));
            }
            is_own
        });
        problems
    }

    /// Gives up what an owner has claimed.
    pub fn release(&mut self, owner: &Owner) {
        self.owners.retain(|_, claimant| claimant != owner);
    }

    /// Who has claimed an object.
    pub fn owner(&self, id: &ObjectId) -> Option<&Owner> {
        self.owners.get(id)
    }
}

/// What the one says whose object is another's.
fn conflict(subject: &ObjectRef, id: &ObjectId) -> Problem {
    let ObjectId { kind, key } = id;
    let message = format!("{} {key} is already made of something else, and is not made of this", kind.name());
    Problem::error(subject.clone(), Reason::Conflict, message).hint("rename one of the two")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::object::Kind;
    use super::*;
    use crate::snapshot::Key;

    fn mk(names: &[&str]) -> Vec<Object> {
        let object = |name: &&str| {
            let key = Key::new("mc-wan", *name);
            Object { id: ObjectId { kind: Kind::Service, key }, body: Value::Null }
        };
        names.iter().map(object).collect()
    }

    fn names(objects: &[Object]) -> Vec<&str> {
        objects.iter().map(|object| &*object.id.key.name).collect()
    }

    #[test]
    fn of_two_that_claim_an_object_the_later_is_refused() {
        let [one, two] = ["one", "two"].map(|name| ObjectRef::namespaced("ServiceImport", "secure", name));
        let mut claims = Claims::default();
        let (mut first, mut second) = (mk(&["a", "b"]), mk(&["b", "c"]));
        assert_eq!(claims.claim(&1, &one, &mut first), []);
        let problems = claims.claim(&2, &two, &mut second);
        assert_eq!(names(&first), ["a", "b"], "the first has all");
        assert_eq!(names(&second), ["c"], "the second what is left");
        let [Problem { reason: Reason::Conflict, object, message, .. }] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(object, &two);
        assert!(message.starts_with("Service mc-wan/b "), "{message}");
        assert_eq!(claims.claim(&1, &one, &mut first), [], "one may claim his own again");
        claims.release(&1);
        assert_eq!(claims.claim(&2, &two, &mut mk(&["b", "c"])), [], "what is given up is to be had");
    }
}
