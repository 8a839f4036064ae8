//! Routes that cannot be written as they are to be, and how long the filter of their namespace waits for them.
//!
//! A filter must not steer to a target before gateways know its route. Where the API server does not take the route, or
//! does not let us read what it is to be changed from, that may last for ever, and the other imports of the namespace
//! would get nothing new: after a while they do, if the route fails once more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::apply::Outcome;
use crate::emit::object::ObjectId;

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
    /// The routes, and since when the API server has had something against them; none: it does not answer.
    routes: BTreeMap<ObjectId, Option<Instant>>,
    /// Whether all have been tried once more, after which it waits no longer.
    is_last_try: bool,
}

/// What the filter of a namespace may do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is written.
    Go,
    /// It waits.
    Wait,
    /// It waits until these have been tried once more, whatever becomes of them.
    Try(Vec<ObjectId>),
}

impl Unwritten {
    /// There is none yet.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, namespaces: BTreeMap::new() }
    }

    /// A route that gateways know could not be written or read.
    pub(super) fn failed(&mut self, id: &ObjectId, outcome: &Outcome, now: Instant) {
        let waiting = self.namespaces.entry(Arc::clone(&id.key.namespace)).or_default();
        let since = waiting.routes.get(id).copied().flatten().unwrap_or(now);
        waiting.routes.insert(id.clone(), outcome.is_answer().then_some(since));
    }

    /// A route is written, or not to be any more.
    pub(super) fn settled(&mut self, id: &ObjectId) {
        if let Some(waiting) = self.namespaces.get_mut(&id.key.namespace) {
            waiting.routes.remove(id);
            if waiting.routes.is_empty() {
                self.namespaces.remove(&id.key.namespace);
            }
        }
    }

    /// What the filter of a namespace may do now.
    pub(super) fn turn(&mut self, namespace: &str, now: Instant) -> Turn {
        let longest = self.longest;
        let Some(waiting) = self.namespaces.get_mut(namespace) else { return Turn::Go };
        let is_long = |since: &Option<Instant>| since.is_some_and(|since| now.duration_since(since) >= longest);
        if !waiting.routes.values().all(is_long) {
            waiting.is_last_try = false;
            return Turn::Wait;
        }
        waiting.is_last_try = !waiting.is_last_try;
        if waiting.is_last_try { Turn::Try(waiting.routes.keys().cloned().collect()) } else { Turn::Go }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::object::Kind;
    use crate::gather::Key;

    const LONGEST: Duration = Duration::from_secs(30);

    fn mk_route(name: &str) -> ObjectId {
        ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", name) }
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
                unwritten.failed(&route, &outcome, start + Duration::from_secs(seconds));
            }
            assert_eq!(unwritten.turn("secure", start + Duration::from_secs(29)), Turn::Wait);
            assert_eq!(unwritten.turn("other", start), Turn::Go, "another namespace");
            let late = start + LONGEST;
            assert_eq!(unwritten.turn("secure", late), Turn::Try(vec![route.clone()]));
            unwritten.failed(&route, &outcome, late);
            assert_eq!(unwritten.turn("secure", late), Turn::Go, "it has failed once more");
            assert_eq!(unwritten.turn("secure", late), Turn::Try(vec![route.clone()]), "before the next change");
            unwritten.settled(&route);
            assert_eq!(unwritten.turn("secure", start), Turn::Go, "it is written");
        }
    }

    #[test]
    fn a_filter_waits_for_an_api_server_that_is_away() {
        let start = Instant::now();
        let mut unwritten = Unwritten::new(LONGEST);
        unwritten.failed(&mk_route("a.8080"), &mk_failure("ServerError"), start);
        unwritten.failed(&mk_route("b.8080"), &mk_failure("Unreachable"), start);
        assert_eq!(unwritten.turn("secure", start + LONGEST * 9), Turn::Wait);
        unwritten.failed(&mk_route("b.8080"), &mk_failure("ServerError"), start + LONGEST * 9);
        assert_eq!(unwritten.turn("secure", start + LONGEST * 9), Turn::Wait, "it has just come back");
        assert!(matches!(unwritten.turn("secure", start + LONGEST * 10), Turn::Try(routes) if routes.len() == 2));
    }
}
