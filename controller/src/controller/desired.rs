//! What is to be, and why.

use std::collections::HashMap;

use super::unit::Unit;
use crate::emit::object::ObjectId;

/// The objects that are to be, by the unit that they belong to.
#[derive(Debug, Default)]
pub(super) struct Desired {
    objects: HashMap<Unit, Vec<ObjectId>>,
    unit_of: HashMap<ObjectId, Unit>,
}

impl Desired {
    /// Replaces what a unit consists of; gives what is no longer to be.
    pub(super) fn replace(&mut self, unit: &Unit, objects: Vec<ObjectId>) -> Vec<ObjectId> {
        let mut before = self.objects.remove(unit).unwrap_or_default();
        before.iter().for_each(|id| drop(self.unit_of.remove(id)));
        self.unit_of.extend(objects.iter().map(|id| (id.clone(), unit.clone())));
        if !objects.is_empty() {
            self.objects.insert(unit.clone(), objects);
        }
        before.retain(|id| !self.unit_of.contains_key(id));
        before
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
