//! The routes of users, found by the imports that they have as parents.

use std::collections::BTreeSet;

use kube_core::Resource;

use super::change::Change;
use super::{Age, Key, Keyed, Objects, Snapshot};
use crate::api::HttpRoute;

/// The `HTTPRoute`s of users that an import may have its rules from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routes {
    objects: Objects<HttpRoute>,
    /// By import.
    children: Keyed<BTreeSet<Key>>,
}

impl Routes {
    /// A route.
    pub fn get(&self, key: &Key) -> Option<&HttpRoute> {
        self.objects.get(&key.namespace, &key.name)
    }

    /// The same, to be changed but for its parents.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut HttpRoute> {
        self.objects.get_mut(&key.namespace, &key.name)
    }

    /// All of them, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &HttpRoute> {
        self.objects.iter()
    }

    /// Those of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &HttpRoute> {
        self.objects.in_namespace(namespace)
    }

    /// Those that have an import as a parent, the oldest first, of the same age by namespace and name (Gateway API,
    /// `HTTPRouteRule.matches`).
    pub fn below(&self, import: &Key) -> Vec<&HttpRoute> {
        let keys = self.children.get(&import.namespace, &import.name).into_iter().flatten();
        let mut routes: Vec<_> = keys.filter_map(|key| Some((self.age(key)?, key, self.get(key)?))).collect();
        routes.sort_by(|(age, key, _), (other_age, other_key, _)| (age, key).cmp(&(other_age, other_key)));
        routes.into_iter().map(|(_, _, route)| route).collect()
    }

    fn age(&self, key: &Key) -> Option<Age> {
        self.objects.age(&key.namespace, &key.name)
    }

    /// Puts a route in; one without an import among its parents is of no use but to be told that it is not.
    fn insert(&mut self, route: HttpRoute) -> Option<HttpRoute> {
        let key = Key::of(route.meta());
        let before = self.remove(&key);
        for import in parents(&route) {
            self.children.entry(&import).insert(key.clone());
        }
        if !parents(&route).is_empty() || before.is_some() || route.is_told_by_us() {
            self.objects.insert(route);
        }
        before
    }

    fn remove(&mut self, key: &Key) -> Option<HttpRoute> {
        let route = self.objects.remove(key)?;
        for import in parents(&route) {
            let children = self.children.entry(&import);
            children.remove(key);
            if children.is_empty() {
                self.children.remove(&import);
            }
        }
        Some(route)
    }
}

/// The imports that a route has as parents.
fn parents(route: &HttpRoute) -> BTreeSet<Key> {
    route.imports().map(|(namespace, name)| Key::new(namespace, name)).collect()
}

impl Snapshot {
    pub(super) fn put_route(&mut self, route: HttpRoute) -> Vec<Change> {
        let key = Key::of(route.meta());
        let is_same = |old: &HttpRoute| {
            super::change::is_same(old, &route) && old.parents == route.parents && old.rules == route.rules
        };
        let known = self.routes.get(&key);
        let is_same = known.is_some_and(is_same);
        let imports: BTreeSet<_> = known.into_iter().chain([&route]).flat_map(parents).collect();
        self.routes.insert(route);
        let changed = imports.into_iter().filter(|_| !is_same).map(Change::Import);
        changed.chain([Change::Route(key)]).collect()
    }

    pub(super) fn remove_route(&mut self, key: &Key) -> Vec<Change> {
        let route = self.routes.remove(key);
        route.iter().flat_map(parents).map(Change::Import).collect()
    }
}
