//! Filters that wait for routes, and how long already.
//!
//! A filter must not steer to a target before gateways know its route, so it waits a little after each new one. Where new
//! ones never end, it would wait for ever: then it is the others' turn to wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcwan_core::emit::object::ObjectId;
use serde_json::Value;

/// So many times as long as for one target a filter waits for ever new ones.
const MOST_LEADS: u32 = 5;

/// So many times as long nothing new is heard then, so that it gets its turn.
const TURN_LEADS: u32 = 2;

/// The filters that wait for routes.
#[derive(Debug)]
pub(super) struct Leads {
    /// How long one waits after a new target.
    lead: Duration,
    /// Their namespaces, and since when.
    since: BTreeMap<Arc<str>, Instant>,
    /// The last route of a namespace that got a new target.
    routes: BTreeMap<Arc<str>, Route>,
}

/// A route that a filter waits for.
#[derive(Debug)]
struct Route {
    id: ObjectId,
    /// Whether istiod was behind when it was last looked at.
    was_behind: bool,
}

impl Leads {
    /// None waits yet.
    pub(super) fn new(lead: Duration) -> Self {
        Self { lead, since: BTreeMap::new(), routes: BTreeMap::new() }
    }

    /// The routes of a namespace got new targets: its filter waits. Gives until when.
    pub(super) fn wait(&mut self, namespace: &Arc<str>, now: Instant) -> Instant {
        self.since.entry(Arc::clone(namespace)).or_insert(now);
        now + self.lead
    }

    /// A route of a namespace gets new targets.
    pub(super) fn lead(&mut self, namespace: &Arc<str>, id: ObjectId) {
        self.routes.insert(Arc::clone(namespace), Route { id, was_behind: false });
    }

    /// The last route that the filter of a namespace waits for; none: it waits for none, or has waited for so long that
    /// it must not any more.
    pub(super) fn route(&self, namespace: &str, longest: Duration, now: Instant) -> Option<ObjectId> {
        let since = self.since.get(namespace)?;
        let route = self.routes.get(namespace)?;
        (now.saturating_duration_since(*since) < longest).then(|| route.id.clone())
    }

    /// Takes note of whether istiod is behind with that route. Gives until when the filter waits on, if it does: once
    /// istiod has caught up it takes gateways as long as ever to hear of it.
    pub(super) fn looked(&mut self, namespace: &str, is_behind: bool, now: Instant) -> Option<Instant> {
        let route = self.routes.get_mut(namespace)?;
        let was_behind = std::mem::replace(&mut route.was_behind, is_behind);
        (is_behind || was_behind).then(|| now + self.lead)
    }

    /// The filter of a namespace waits no more.
    pub(super) fn end(&mut self, namespace: &str) {
        self.since.remove(namespace);
        self.routes.remove(namespace);
    }

    /// Whether one has waited for so long that nothing new must be heard until it has had its turn. Where it does not
    /// take it, as its API server refuses it, the others go on for as long again.
    pub(super) fn are_long(&self, now: Instant) -> bool {
        let most = (self.lead * MOST_LEADS).as_nanos();
        let cycle = most + (self.lead * TURN_LEADS).as_nanos();
        let waited = self.since.values().map(|since| now.saturating_duration_since(*since).as_nanos());
        waited.filter_map(|waited| waited.checked_rem(cycle)).any(|waited| waited > most)
    }
}

/// Whether istiod has not taken note yet of a route as it is now. Where nobody ever says anything of it, nobody is behind.
pub(super) fn is_behind(route: &Value) -> bool {
    let generation = route.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    let parents = route.pointer("/status/parents").and_then(Value::as_array).into_iter().flatten();
    let conditions = parents.filter_map(|parent| parent["conditions"].as_array()).flatten();
    let observed = conditions.filter_map(|condition| condition["observedGeneration"].as_i64()).max();
    observed.is_some_and(|observed| observed < generation)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mcwan_core::emit::object::Kind;
    use mcwan_core::snapshot::Key;

    const LEAD: Duration = Duration::from_secs(1);

    #[test]
    fn a_filter_waits_after_each_new_target_but_not_for_ever() {
        let (start, namespace) = (Instant::now(), Arc::from("secure"));
        let mut leads = Leads::new(LEAD);
        for tenths in (0..=50).step_by(5) {
            let now = start + LEAD * tenths / 10;
            assert_eq!(leads.wait(&namespace, now), now + LEAD);
            assert!(!leads.are_long(now), "after {tenths} tenths");
        }
        assert!(leads.are_long(start + LEAD * 51 / 10));
        leads.end("secure");
        assert!(!leads.are_long(start + LEAD * 51 / 10), "it has had its turn");
    }

    #[test]
    fn one_that_does_not_take_its_turn_stops_nobody() {
        let start = Instant::now();
        let mut leads = Leads::new(LEAD);
        leads.wait(&"secure".into(), start);
        assert!(leads.are_long(start + LEAD * 6));
        assert!(!leads.are_long(start + LEAD * 7));
    }

    #[test]
    fn a_filter_waits_for_an_istiod_that_is_behind_but_not_for_ever() {
        let (start, namespace) = (Instant::now(), Arc::from("secure"));
        let id = ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", "payment.8080") };
        let mut leads = Leads::new(LEAD);
        leads.lead(&namespace, id.clone());
        leads.wait(&namespace, start);
        assert_eq!(leads.looked("secure", false, start + LEAD), None, "it has kept up");
        assert_eq!(leads.looked("secure", true, start + LEAD), Some(start + LEAD * 2));
        assert_eq!(leads.looked("secure", false, start + LEAD * 2), Some(start + LEAD * 3), "it has just caught up");
        assert_eq!(leads.looked("secure", false, start + LEAD * 3), None);
        assert_eq!(leads.route("secure", LEAD * 30, start + LEAD * 29), Some(id));
        assert_eq!(leads.route("secure", LEAD * 30, start + LEAD * 30), None);
        leads.end("secure");
        assert_eq!(leads.route("secure", LEAD * 30, start), None);
    }

    #[test]
    fn istiod_is_behind_where_it_speaks_of_an_older_route() {
        let mk_route = |generation: u32, observed: &[u32]| {
            let condition = |observed: &u32| json!({"type": "Accepted", "observedGeneration": observed});
            let conditions: Vec<_> = observed.iter().map(condition).collect();
            json!({"metadata": {"generation": generation}, "status": {"parents": [{"conditions": conditions}]}})
        };
        for (route, expected, message) in [
            (mk_route(2, &[1, 1]), true, "older"),
            (mk_route(2, &[2, 1]), false, "as it is now"),
            (mk_route(2, &[]), false, "nothing is said"),
            (json!({"metadata": {"generation": 1}}), false, "nobody says anything"),
        ] {
            assert_eq!(is_behind(&route), expected, "{message}");
        }
    }

    #[test]
    fn without_a_lead_nobody_waits() {
        let start = Instant::now();
        let mut leads = Leads::new(Duration::ZERO);
        assert_eq!(leads.wait(&"secure".into(), start), start);
        assert!(!leads.are_long(start + LEAD));
    }
}
