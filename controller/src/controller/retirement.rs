//! What is no longer wanted, but stays while gateways may still send requests there.
//!
//! Routes and the filter's configuration reach a gateway by two channels that know nothing of each other. So a target
//! that the rules no longer name stays in the live route until every gateway has had time to take the new
//! configuration, and so does what it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::unit::Unit;
use crate::emit::kubernetes::steering_value_of;
use crate::emit::object::ObjectId;

/// Everything that stays for a while.
#[derive(Debug)]
pub(super) struct Retirements {
    /// How long it stays.
    grace: Duration,
    units: BTreeMap<Unit, Retirement>,
}

/// What of a unit stays for a while.
#[derive(Debug)]
pub(super) struct Retirement {
    until: Instant,
    /// The steering values of the targets.
    pub(super) values: BTreeSet<String>,
    /// Objects that are no longer to be.
    pub(super) objects: BTreeSet<ObjectId>,
}

impl Retirements {
    /// Nothing stays yet.
    pub(super) fn new(grace: Duration) -> Self {
        Self { grace, units: BTreeMap::new() }
    }

    /// Lets these rules of a unit stay. New ones among them make all stay for as long as gateways may take.
    pub(super) fn retain(&mut self, unit: &Unit, rules: &[Value], now: Instant) {
        let values: BTreeSet<_> = rules.iter().filter_map(steering_value_of).map(str::to_owned).collect();
        if let Some(known) = self.units.get_mut(unit) {
            if !values.is_subset(&known.values) {
                known.until = now + self.grace;
            }
            known.values = values;
        } else {
            let retirement = Retirement { until: now + self.grace, values, objects: BTreeSet::new() };
            self.units.insert(unit.clone(), retirement);
        }
    }

    /// Lets objects stay for as long as the rules of their unit; gives them back where none stays.
    pub(super) fn keep(&mut self, unit: &Unit, objects: Vec<ObjectId>) -> Vec<ObjectId> {
        match self.units.get_mut(unit) {
            Some(retirement) => {
                retirement.objects.extend(objects);
                Vec::new()
            }
            None => objects,
        }
    }

    /// Whether an object stays for a while.
    pub(super) fn keeps(&self, id: &ObjectId) -> bool {
        self.units.values().any(|retirement| retirement.objects.contains(id))
    }

    /// Nothing of the imports of a namespace need stay any longer.
    pub(super) fn release(&mut self, namespace: &str, now: Instant) {
        let units = self.units.iter_mut().filter(|(unit, _)| &*unit.namespace == namespace);
        units.for_each(|(_, retirement)| retirement.until = now);
    }

    /// The filter of a namespace has just been told: everything of its imports stays for as long as gateways may take.
    pub(super) fn restart(&mut self, namespace: &str, now: Instant) {
        let until = now + self.grace;
        let units = self.units.iter_mut().filter(|(unit, _)| &*unit.namespace == namespace);
        units.for_each(|(_, retirement)| retirement.until = until);
    }

    /// The units of which nothing need stay any longer, and what stayed. Where the filter has not been told yet, all
    /// stays on.
    pub(super) fn due(&mut self, now: Instant, is_told: impl Fn(&Arc<str>) -> bool) -> Vec<(Unit, Retirement)> {
        let grace = self.grace;
        for (unit, retirement) in &mut self.units {
            if retirement.until <= now && !is_told(&unit.namespace) {
                retirement.until = now + grace;
            }
        }
        self.units.extract_if(.., |_, retirement| retirement.until <= now).collect()
    }

    /// Lets nothing of a unit stay; gives the objects that did.
    pub(super) fn end(&mut self, unit: &Unit) -> Option<BTreeSet<ObjectId>> {
        self.units.remove(unit).map(|retirement| retirement.objects)
    }

    /// When the next is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.units.values().map(|retirement| retirement.until).min()
    }
}
