//! Which `Route` has which host: the oldest of the cluster has it for its namespace, and the others wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::front_end::{RouteOptions, host_of};
use crate::api::OpenshiftRoute;
use crate::snapshot::{Age, Key, Keyed, Snapshot};

/// The hosts that the `Route`s of the cluster claim.
#[derive(Debug, Default)]
pub(super) struct RouteHosts {
    options: RouteOptions,
    claims: BTreeMap<String, BTreeSet<Claim>>,
    /// By `Route`, what it claims.
    hosts: Keyed<String>,
}

/// What a `Route` claims: the lesser is the older. Of two of one second, the `uid` tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    age: Option<Age>,
    uid: Option<String>,
    pub(super) route: Key,
}

impl Claim {
    /// What one of the snapshot's claims.
    pub(super) fn of(route: &OpenshiftRoute, snapshot: &Snapshot) -> Self {
        let key = Key::of(&route.metadata);
        let age = snapshot.openshift_routes.age(&key.namespace, &key.name);
        Self { age, uid: route.metadata.uid.clone(), route: key }
    }
}

impl RouteHosts {
    /// Knows of none yet.
    pub(super) fn new(options: RouteOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// What holds for all of them.
    pub(super) fn options(&self) -> &RouteOptions {
        &self.options
    }

    /// Looks at all of them again. Returns the namespaces that have some, or had.
    pub(super) fn look_at_all(&mut self, snapshot: &Snapshot) -> BTreeSet<Arc<str>> {
        let known: Vec<_> = self.hosts.iter().map(|(key, _)| key).collect();
        let all = snapshot.openshift_routes.iter().map(|route| Key::of(&route.metadata));
        let all: BTreeSet<_> = known.into_iter().chain(all).collect();
        all.iter().flat_map(|key| self.look_at(key, snapshot)).collect()
    }

    /// Looks at one that may be gone. Returns the namespaces whose `Route`s may fare otherwise now.
    pub(super) fn look_at(&mut self, key: &Key, snapshot: &Snapshot) -> BTreeSet<Arc<str>> {
        let mut affected = BTreeSet::from([Arc::clone(&key.namespace)]);
        if let Some(host) = self.hosts.remove(key)
            && let Some(claims) = self.claims.get_mut(&host)
        {
            affected.extend(claims.iter().map(|claim| Arc::clone(&claim.route.namespace)));
            claims.retain(|claim| claim.route != *key);
            if claims.is_empty() {
                self.claims.remove(&host);
            }
        }
        let route = snapshot.openshift_routes.get(&key.namespace, &key.name);
        let route = route.filter(|route| self.options.selector.takes(route));
        if let Some(route) = route
            && let Ok(host) = host_of(route, self.options.domain.as_deref())
        {
            let claims = self.claims.entry(host.clone()).or_default();
            claims.insert(Claim::of(route, snapshot));
            affected.extend(claims.iter().map(|claim| Arc::clone(&claim.route.namespace)));
            self.hosts.insert(key, host);
        }
        affected
    }

    /// Who has a host.
    pub(super) fn owner(&self, host: &str) -> Option<&Key> {
        self.claims.get(host)?.first().map(|claim| &claim.route)
    }
}
