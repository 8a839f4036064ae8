//! What is to be, and why.

use std::collections::HashMap;
use std::sync::Arc;

use mcwan_core::emit::object::ObjectId;

use super::unit::Unit;

/// The objects that are to be, by the unit that they belong to.
#[derive(Debug, Default)]
pub(super) struct Desired {
    objects: HashMap<Unit, Vec<ObjectId>>,
    unit_of: HashMap<ObjectId, Unit>,
    /// What is for one import, of what the imports of a namespace share.
    import_of: HashMap<ObjectId, Arc<str>>,
}

impl Desired {
    /// Replaces what a unit consists of; gives what is no longer to be.
    pub(super) fn replace(&mut self, unit: &Unit, objects: Vec<ObjectId>) -> Vec<ObjectId> {
        let mut before = self.objects.remove(unit).unwrap_or_default();
        for id in &before {
            self.import_of.remove(id);
            // Another unit may have it by now.
            if self.unit_of.get(id) == Some(unit) {
                self.unit_of.remove(id);
            }
        }
        self.unit_of.extend(objects.iter().map(|id| (id.clone(), unit.clone())));
        if !objects.is_empty() {
            self.objects.insert(unit.clone(), objects);
        }
        before.retain(|id| !self.unit_of.contains_key(id));
        before
    }

    /// An object is for one import only.
    pub(super) fn is_for(&mut self, id: ObjectId, import: &str) {
        self.import_of.insert(id, import.into());
    }

    /// Whether an object may be for an import.
    pub(super) fn may_be_for(&self, id: &ObjectId, import: &str) -> bool {
        self.import_of.get(id).is_none_or(|known| **known == *import)
    }

    /// The unit that an object belongs to; none: it is not to be.
    pub(super) fn unit_of(&self, id: &ObjectId) -> Option<&Unit> {
        self.unit_of.get(id)
    }

    /// What a unit consists of.
    pub(super) fn objects_of(&self, unit: &Unit) -> &[ObjectId] {
        self.objects.get(unit).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::unit::Part;
    use super::*;
    use mcwan_core::emit::object::Kind;
    use mcwan_core::snapshot::Key;

    #[test]
    fn an_object_may_move_from_one_unit_to_another() {
        let [import, egress] =
            [Part::Import("payment".into()), Part::Egress].map(|part| Unit { namespace: "secure".into(), part });
        let route = |name| ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", name) };
        for (first, second, message) in [(&import, &egress, "to the later unit"), (&egress, &import, "to the earlier")]
        {
            let mut desired = Desired::default();
            desired.replace(first, vec![route("moved"), route("gone")]);
            assert_eq!(desired.replace(second, vec![route("moved")]), [], "{message}: nothing goes");
            assert_eq!(desired.replace(first, Vec::new()), [route("gone")], "{message}: what nobody wants goes");
            assert_eq!(desired.unit_of(&route("moved")), Some(second), "{message}: it is the other unit's");
        }
    }
}
