//! The wanted objects, and whose they are.

use std::collections::{BTreeSet, HashMap};

use super::key::ReconcileKey;
use crate::emit::object::ObjectId;

/// The wanted objects, by what they belong to.
#[derive(Debug, Default)]
pub(super) struct Desired {
    objects: HashMap<ReconcileKey, Vec<ObjectId>>,
    owners: HashMap<ObjectId, ReconcileKey>,
    /// Who wanted an object that another had already.
    contested: HashMap<ObjectId, BTreeSet<ReconcileKey>>,
}

/// What has changed of the wanted objects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Replaced {
    /// Objects that nobody wants any more.
    pub(super) gone: Vec<ObjectId>,
    /// Who wanted objects that are free by now.
    pub(super) heirs: BTreeSet<ReconcileKey>,
}

impl Desired {
    /// Replaces what a key consists of. What another has already, it does not get: see [`Desired::owner_of`].
    pub(super) fn replace(&mut self, key: &ReconcileKey, objects: &[ObjectId]) -> Replaced {
        let mut before = self.objects.remove(key).unwrap_or_default();
        for id in &before {
            self.owners.remove(id);
        }
        let mut own = Vec::with_capacity(objects.len());
        for id in objects {
            if self.owners.get(id).is_none_or(|owner| owner == key) {
                self.owners.insert(id.clone(), key.clone());
                own.push(id.clone());
            } else {
                self.contested.entry(id.clone()).or_default().insert(key.clone());
            }
        }
        if !own.is_empty() {
            self.objects.insert(key.clone(), own);
        }
        before.retain(|id| !self.owners.contains_key(id));
        let heirs = before.iter().filter_map(|id| self.contested.remove(id)).flatten().collect();
        Replaced { gone: before, heirs }
    }

    /// What an object belongs to; none: nobody wants it.
    pub(super) fn owner_of(&self, id: &ObjectId) -> Option<&ReconcileKey> {
        self.owners.get(id)
    }

    /// What a key consists of.
    pub(super) fn objects_of(&self, key: &ReconcileKey) -> &[ObjectId] {
        self.objects.get(key).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Part;
    use super::*;
    use crate::emit::object::Kind;
    use crate::snapshot::Key;

    #[test]
    fn an_object_is_of_the_first_who_wants_it_and_then_of_the_next() {
        let [import, egress] = [Part::Import("payment".into()), Part::Egress]
            .map(|part| ReconcileKey { namespace: "secure".into(), part });
        let route = |name| ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", name) };
        let mut desired = Desired::default();
        desired.replace(&import, &[route("both"), route("gone")]);
        assert_eq!(desired.replace(&egress, &[route("both")]), Replaced::default());
        assert_eq!(desired.owner_of(&route("both")), Some(&import), "the first");
        let replaced = desired.replace(&import, &[]);
        assert_eq!(replaced.gone, [route("both"), route("gone")]);
        assert_eq!(replaced.heirs, [egress.clone()].into(), "the next can have it");
        assert_eq!(desired.replace(&egress, &[route("both")]), Replaced::default());
        assert_eq!(desired.owner_of(&route("both")), Some(&egress));
    }
}
