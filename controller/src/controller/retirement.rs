//! What is no longer wanted, but stays while gateways may still send requests there.
//!
//! Routes and the filter's configuration reach a gateway by two channels that know nothing of each other. So a target
//! that the rules no longer name stays in the live route until every gateway has had time to take the new
//! configuration, and so does what it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcwan_core::emit::kubernetes::steering_value_of;
use mcwan_core::emit::object::{Kind, ObjectId};
use serde_json::Value;

use super::unit::Unit;

/// Everything that stays for a while.
#[derive(Debug)]
pub(super) struct Retirements {
    /// How long it stays at most.
    grace: Duration,
    /// How long what routes led to stays at least.
    least: Duration,
    units: BTreeMap<Unit, Retirement>,
}

/// What of a unit stays for a while.
#[derive(Debug)]
pub(super) struct Retirement {
    until: Instant,
    /// Not before then, whatever gateways say of the filter.
    earliest: Instant,
    /// The steering values of the targets.
    pub(super) values: BTreeSet<String>,
    /// Objects that are no longer to be.
    pub(super) objects: BTreeSet<ObjectId>,
}

impl Retirements {
    /// Nothing stays yet.
    pub(super) fn new(grace: Duration, least: Duration) -> Self {
        Self { grace, least, units: BTreeMap::new() }
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
            let until = now + self.grace;
            let retirement = Retirement { until, earliest: now, values, objects: BTreeSet::new() };
            self.units.insert(unit.clone(), retirement);
        }
    }

    /// Lets no rules of a unit stay; the objects do for as long as they were to.
    pub(super) fn retain_none(&mut self, unit: &Unit) {
        if let Some(known) = self.units.get_mut(unit) {
            known.values.clear();
        }
    }

    /// Lets objects stay for as long as the rules of their unit. Where none stays, those stay for a while that its live
    /// routes lead to: istiod may hear of their end before it hears of the routes'. Gives the others back.
    pub(super) fn keep(&mut self, unit: &Unit, objects: Vec<ObjectId>, now: Instant) -> Vec<ObjectId> {
        let (kept, others) = match self.units.get(unit) {
            Some(_) => (objects, Vec::new()),
            None => objects.into_iter().partition(|id| is_led_to(id.kind)),
        };
        if !kept.is_empty() {
            let (values, until) = (BTreeSet::new(), now + self.grace);
            let retirement = Retirement { until, earliest: now, values, objects: BTreeSet::new() };
            let retirement = self.units.entry(unit.clone()).or_insert(retirement);
            retirement.earliest = now + self.least;
            retirement.until = retirement.until.max(retirement.earliest);
            retirement.objects.extend(kept);
        }
        others
    }

    /// Lets objects of a unit stay no longer, and gives them.
    pub(super) fn take(&mut self, unit: &Unit, is_one: impl Fn(&ObjectId) -> bool) -> Vec<ObjectId> {
        let objects = self.units.get_mut(unit).map(|retirement| &mut retirement.objects);
        objects.map(|objects| objects.extract_if(.., is_one).collect()).unwrap_or_default()
    }

    /// Whether an object stays for a while.
    pub(super) fn keeps(&self, id: &ObjectId) -> bool {
        self.units.values().any(|retirement| retirement.objects.contains(id))
    }

    /// Nothing of the imports of a namespace need stay any longer.
    pub(super) fn release(&mut self, namespace: &str, now: Instant) {
        let units = self.units.iter_mut().filter(|(unit, _)| &*unit.namespace == namespace);
        units.for_each(|(_, retirement)| retirement.until = now.max(retirement.earliest));
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

/// Whether routes lead to objects of a kind, or need them to.
fn is_led_to(kind: Kind) -> bool {
    matches!(kind, Kind::Service | Kind::EndpointSlice | Kind::DestinationRule | Kind::ReferenceGrant)
}

#[cfg(test)]
mod tests {
    use super::super::unit::Part;
    use super::*;
    use mcwan_core::snapshot::Key;

    const GRACE: Duration = Duration::from_secs(30);
    const LEAST: Duration = Duration::from_secs(1);

    fn mk_object(kind: Kind, name: &str) -> ObjectId {
        ObjectId { kind, key: Key::new("mc-wan", name) }
    }

    #[test]
    fn what_routes_led_to_outlasts_them() {
        let (start, unit) = (Instant::now(), Unit { namespace: "secure".into(), part: Part::Import("payment".into()) });
        let [service, route] = [mk_object(Kind::Service, "gone"), mk_object(Kind::HttpRoute, "gone")];
        let mut retirements = Retirements::new(GRACE, LEAST);
        let others = retirements.keep(&unit, vec![service.clone(), route.clone()], start);
        assert_eq!(others, [route], "a route goes at once");
        assert!(retirements.keeps(&service));
        retirements.release("secure", start);
        assert!(retirements.due(start, |_| true).is_empty(), "what gateways say of the filter says nothing of routes");
        retirements.retain_none(&unit);
        assert!(retirements.keeps(&service), "whatever becomes of rules");
        let due = retirements.due(start + LEAST, |_| true);
        assert_eq!(due.iter().flat_map(|(_, retirement)| &retirement.objects).collect::<Vec<_>>(), [&service]);
        assert!(!retirements.keeps(&service));
    }

    #[test]
    fn what_stays_can_be_taken() {
        let (start, unit) = (Instant::now(), Unit { namespace: "secure".into(), part: Part::Import("payment".into()) });
        let [slice, service] = [Kind::EndpointSlice, Kind::Service].map(|kind| mk_object(kind, "gone"));
        let mut retirements = Retirements::new(GRACE, LEAST);
        retirements.keep(&unit, vec![slice.clone(), service.clone()], start);
        assert_eq!(retirements.take(&unit, |id| id.kind == Kind::EndpointSlice), std::slice::from_ref(&slice));
        assert!(!retirements.keeps(&slice) && retirements.keeps(&service));
    }

    #[test]
    fn with_rules_that_stay_everything_does() {
        let (start, unit) = (Instant::now(), Unit { namespace: "secure".into(), part: Part::Import("payment".into()) });
        let route = mk_object(Kind::HttpRoute, "gone");
        let mut retirements = Retirements::new(GRACE, LEAST);
        retirements.retain(&unit, &[], start);
        assert_eq!(retirements.keep(&unit, vec![route.clone()], start), []);
        assert!(retirements.keeps(&route));
        assert_eq!(retirements.due(start + GRACE, |_| true).len(), 1);
    }
}
