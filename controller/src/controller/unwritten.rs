//! Routes that cannot be written as they are to be, and how long the filter of their namespace waits for them.
//!
//! A filter must not steer to a target before gateways know its route. Where the API server does not take the route, or
//! does not let us read what it is to be changed from, that may last for ever, and the other imports of the namespace
//! would get nothing new: after a while they do, if the route fails once more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcwan_core::emit::object::{Object, ObjectId};
use mcwan_core::outcome::Outcome;

use super::unit::Unit;

/// The routes that cannot be written.
#[derive(Debug)]
pub(super) struct Unwritten {
    /// How long a filter waits for a route that the API server does not take.
    longest: Duration,
    namespaces: BTreeMap<Arc<str>, Waiting>,
}

/// What the filter of a namespace waits for.
#[derive(Debug, Default)]
struct Waiting {
    routes: BTreeMap<ObjectId, Route>,
    /// Whether all have been tried once more, after which it waits no longer.
    is_last_try: bool,
}

/// A route that the filter waits for.
#[derive(Debug)]
struct Route {
    /// What it is of.
    unit: Unit,
    /// Since when the API server has had something against it; none: it does not answer.
    since: Option<Instant>,
}

/// What the filter of a namespace may do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It waits for none.
    Go,
    /// It waits.
    Wait,
    /// It waits until these have been tried once more, whatever becomes of them.
    Try(Vec<(ObjectId, Unit)>),
}

impl Unwritten {
    /// There is none yet.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, namespaces: BTreeMap::new() }
    }

    /// A route of a unit could not be written or read.
    pub(super) fn failed(&mut self, id: &ObjectId, unit: &Unit, outcome: &Outcome, now: Instant) {
        let waiting = self.namespaces.entry(Arc::clone(&id.key.namespace)).or_default();
        let since = waiting.routes.get(id).and_then(|route| route.since).unwrap_or(now);
        let since = outcome.is_about_the_object().then_some(since);
        waiting.routes.insert(id.clone(), Route { unit: unit.clone(), since });
    }

    /// A route is written, or gateways know none that could get worse.
    pub(super) fn settled(&mut self, id: &ObjectId) {
        self.retain(&id.key.namespace, |known, _| known != id);
    }

    /// A unit consists of these objects by now. Gives its routes that are not to be any more.
    pub(super) fn consists_of(&mut self, unit: &Unit, objects: &[Object]) -> Vec<ObjectId> {
        let mut gone = Vec::new();
        self.retain(&unit.namespace, |id, route| {
            let is_to_be = route.unit != *unit || objects.iter().any(|object| object.id == *id);
            if !is_to_be {
                gone.push(id.clone());
            }
            is_to_be
        });
        gone
    }

    fn retain(&mut self, namespace: &str, mut is_kept: impl FnMut(&ObjectId, &Route) -> bool) {
        if let Some(waiting) = self.namespaces.get_mut(namespace) {
            waiting.routes.retain(|id, route| is_kept(id, route));
            if waiting.routes.is_empty() {
                self.namespaces.remove(namespace);
            }
        }
    }

    /// What the filter of a namespace may do now.
    pub(super) fn turn(&mut self, namespace: &str, now: Instant) -> Turn {
        let longest = self.longest;
        let Some(waiting) = self.namespaces.get_mut(namespace) else { return Turn::Go };
        let is_long = |route: &Route| route.since.is_some_and(|since| now.duration_since(since) >= longest);
        if !waiting.routes.values().all(is_long) {
            waiting.is_last_try = false;
            return Turn::Wait;
        }
        waiting.is_last_try = !waiting.is_last_try;
        if !waiting.is_last_try {
            return Turn::Go;
        }
        Turn::Try(waiting.routes.iter().map(|(id, route)| (id.clone(), route.unit.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcwan_core::emit::object::Kind;
    use mcwan_core::snapshot::Key;

    const LONGEST: Duration = Duration::from_secs(30);

    fn mk_route(name: &str) -> ObjectId {
        ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", name) }
    }

    fn mk_unit(name: &str) -> Unit {
        Unit::import(&Key::new("secure", name))
    }

    fn mk_failure(reason: &'static str) -> Outcome {
        Outcome::Retry { after: Duration::from_secs(1), reason, message: String::new() }
    }

    #[test]
    fn a_filter_waits_for_a_refused_route_but_not_for_ever() {
        let (start, route) = (Instant::now(), mk_route("payment.8080"));
        let mut unwritten = Unwritten::new(LONGEST);
        assert_eq!(unwritten.turn("secure", start), Turn::Go);
        let refused = Outcome::Refused { reason: "Forbidden", message: String::new() };
        for outcome in [mk_failure("ServerError"), refused] {
            for seconds in [0, 10, 20] {
                unwritten.failed(&route, &mk_unit("payment"), &outcome, start + Duration::from_secs(seconds));
            }
            assert_eq!(unwritten.turn("secure", start + Duration::from_secs(29)), Turn::Wait);
            assert_eq!(unwritten.turn("other", start), Turn::Go, "another namespace");
            let late = start + LONGEST;
            assert_eq!(unwritten.turn("secure", late), Turn::Try(vec![(route.clone(), mk_unit("payment"))]));
            unwritten.failed(&route, &mk_unit("payment"), &outcome, late);
            assert_eq!(unwritten.turn("secure", late), Turn::Go, "it has failed once more");
            assert_eq!(
                unwritten.turn("secure", late),
                Turn::Try(vec![(route.clone(), mk_unit("payment"))]),
                "before the next change"
            );
            unwritten.settled(&route);
            assert_eq!(unwritten.turn("secure", start), Turn::Go, "it is written");
        }
    }

    #[test]
    fn a_filter_waits_for_an_api_server_that_is_away() {
        let start = Instant::now();
        let mut unwritten = Unwritten::new(LONGEST);
        unwritten.failed(&mk_route("a.8080"), &mk_unit("a"), &mk_failure("ServerError"), start);
        unwritten.failed(&mk_route("b.8080"), &mk_unit("b"), &mk_failure("Unreachable"), start);
        assert_eq!(unwritten.turn("secure", start + LONGEST * 9), Turn::Wait);
        unwritten.failed(&mk_route("b.8080"), &mk_unit("b"), &mk_failure("ServerError"), start + LONGEST * 9);
        assert_eq!(unwritten.turn("secure", start + LONGEST * 9), Turn::Wait, "it has just come back");
        assert!(matches!(unwritten.turn("secure", start + LONGEST * 10), Turn::Try(routes) if routes.len() == 2));
    }

    #[test]
    fn a_filter_waits_for_no_route_that_is_not_to_be() {
        let (start, unit) = (Instant::now(), mk_unit("payment"));
        let mut unwritten = Unwritten::new(LONGEST);
        unwritten.failed(&mk_route("payment.8080"), &unit, &mk_failure("Unreachable"), start);
        let route = Object { id: mk_route("payment.8080"), body: serde_json::Value::Null };
        assert_eq!(unwritten.consists_of(&mk_unit("other"), &[]), [], "another unit");
        assert_eq!(unwritten.consists_of(&unit, std::slice::from_ref(&route)), [], "it is to be");
        assert_eq!(unwritten.turn("secure", start), Turn::Wait);
        assert_eq!(unwritten.consists_of(&unit, &[]), [route.id]);
        assert_eq!(unwritten.turn("secure", start), Turn::Go);
    }
}
