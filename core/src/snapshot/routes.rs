//! The routes of users, found by the imports that they have as parents.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::Change;
use super::{Age, Key, Keyed, Objects, Snapshot, view};
use crate::api::{Route, RouteKind};

/// A route by its kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteRef {
    /// Its kind.
    pub kind: RouteKind,
    /// Its namespace and name.
    pub key: Key,
}

impl RouteRef {
    /// Names a route that is at hand.
    pub fn of(route: &Route) -> Self {
        Self { kind: route.kind, key: Key::of(&route.metadata) }
    }
}

/// The routes of users that an import may have its rules from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routes {
    http: Objects<Route>,
    grpc: Objects<Route>,
    /// By import.
    children: Keyed<BTreeSet<RouteRef>>,
}

impl Routes {
    /// All of a kind.
    pub fn of(&self, kind: RouteKind) -> &Objects<Route> {
        match kind {
            RouteKind::Http => &self.http,
            RouteKind::Grpc => &self.grpc,
        }
    }

    fn of_mut(&mut self, kind: RouteKind) -> &mut Objects<Route> {
        match kind {
            RouteKind::Http => &mut self.http,
            RouteKind::Grpc => &mut self.grpc,
        }
    }

    /// A route.
    pub fn get(&self, RouteRef { kind, key }: &RouteRef) -> Option<&Route> {
        self.of(*kind).get(&key.namespace, &key.name)
    }

    /// The same, to be changed but for its parents.
    pub fn get_mut(&mut self, RouteRef { kind, key }: &RouteRef) -> Option<&mut Route> {
        self.of_mut(*kind).get_mut(&key.namespace, &key.name)
    }

    /// All of them, by kind, namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        RouteKind::ALL.into_iter().flat_map(|kind| self.of(kind).iter())
    }

    /// Those of a namespace, by kind and name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Route> {
        RouteKind::ALL.into_iter().flat_map(move |kind| self.of(kind).in_namespace(namespace))
    }

    /// Those of a namespace, or all, by kind, namespace and name.
    pub fn within(&self, namespace: Option<&str>) -> impl Iterator<Item = &Route> {
        RouteKind::ALL.into_iter().flat_map(move |kind| self.of(kind).within(namespace))
    }

    /// Those of a kind that have an import as a parent, the oldest first, of the same age by namespace and name (Gateway
    /// API, `HTTPRouteRule.matches`, `GRPCRouteRule.matches`).
    pub fn below(&self, import: &Key, kind: RouteKind) -> Vec<&Route> {
        let known = self.all_below(import).filter(|route| route.kind == kind);
        let mut routes: Vec<_> = known.filter_map(|route| Some((self.age(route)?, route, self.get(route)?))).collect();
        routes.sort_by(|(age, route, _), (other_age, other, _)| (age, route).cmp(&(other_age, other)));
        routes.into_iter().map(|(_, _, route)| route).collect()
    }

    /// The imports of a namespace that are parents of routes.
    pub fn parents_in(&self, namespace: &str) -> impl Iterator<Item = Key> {
        let namespace: Arc<str> = namespace.into();
        let names: Vec<_> = self.children.iter().map(|(key, _)| key).filter(|key| key.namespace == namespace).collect();
        names.into_iter()
    }

    /// Every import that is a parent, as seen from where the route is.
    pub fn views(&self) -> impl Iterator<Item = Key> {
        self.iter().flat_map(|route| {
            let from = route.metadata.namespace.as_deref().unwrap_or_default();
            parents(route).into_iter().map(|import| view(from, &import)).collect::<Vec<_>>()
        })
    }

    /// Those of any kind.
    pub fn all_below(&self, import: &Key) -> impl Iterator<Item = &RouteRef> {
        self.children.get(&import.namespace, &import.name).into_iter().flatten()
    }

    fn age(&self, RouteRef { kind, key }: &RouteRef) -> Option<Age> {
        self.of(*kind).age(&key.namespace, &key.name)
    }

    /// Puts a route in; one without an import among its parents is of no use but to be told that it is not.
    fn insert(&mut self, route: Route) -> Option<Route> {
        let own = RouteRef::of(&route);
        let before = self.remove(&own);
        for import in parents(&route) {
            self.children.entry(&import).insert(own.clone());
        }
        if !parents(&route).is_empty() || before.is_some() || route.is_told_by_us() {
            self.of_mut(own.kind).insert(route);
        }
        before
    }

    fn remove(&mut self, own: &RouteRef) -> Option<Route> {
        let route = self.of_mut(own.kind).remove(&own.key)?;
        for import in parents(&route) {
            let children = self.children.entry(&import);
            children.remove(own);
            if children.is_empty() {
                self.children.remove(&import);
            }
        }
        Some(route)
    }
}

/// The imports that a route has as parents.
fn parents(route: &Route) -> BTreeSet<Key> {
    route.imports().map(|(namespace, name)| Key::new(namespace, name)).collect()
}

/// An import, and what clients of a route's namespace see of it.
fn seen(route: &RouteRef, import: Key) -> BTreeSet<Key> {
    [view(&route.key.namespace, &import), import].into()
}

impl Snapshot {
    pub(super) fn put_route(&mut self, route: Route) -> Vec<Change> {
        let own = RouteRef::of(&route);
        let known = self.routes.get(&own);
        let is_same = known.is_some_and(|old| super::change::is_same(old, &route) && old.says(&route));
        let imports: BTreeSet<_> = known.into_iter().chain([&route]).flat_map(parents).collect();
        self.routes.insert(route);
        let changed =
            imports.into_iter().filter(|_| !is_same).flat_map(|import| seen(&own, import)).map(Change::Import);
        changed.chain([Change::Route(own.clone())]).collect()
    }

    pub(super) fn remove_route(&mut self, route: &RouteRef) -> Vec<Change> {
        let gone = self.routes.remove(route);
        let imports = gone.iter().flat_map(parents).flat_map(|import| seen(route, import));
        imports.map(Change::Import).collect()
    }
}
