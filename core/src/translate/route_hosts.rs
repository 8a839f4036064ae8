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
    /// By `Route`, what it claims, and how.
    hosts: Keyed<(String, Claim)>,
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
        let mut namespaces: BTreeSet<_> = self.hosts.namespaces().cloned().collect();
        (self.claims, self.hosts) = (BTreeMap::new(), Keyed::default());
        for route in snapshot.openshift_routes.iter() {
            let key = Key::of(&route.metadata);
            self.claim(&key, self.claim_of(route, snapshot));
            namespaces.insert(key.namespace);
        }
        namespaces
    }

    /// Looks at one that may be gone. Returns the namespaces whose `Route`s may fare otherwise now.
    pub(super) fn look_at(&mut self, key: &Key, snapshot: &Snapshot) -> BTreeSet<Arc<str>> {
        let route = snapshot.openshift_routes.get(&key.namespace, &key.name);
        let now = route.and_then(|route| self.claim_of(route, snapshot));
        let before = self.hosts.get(&key.namespace, &key.name);
        let hosts: BTreeSet<_> = before.into_iter().chain(&now).map(|(host, _)| host.clone()).collect();
        let owners: Vec<_> = hosts.into_iter().map(|host| (self.owner(&host).cloned(), host)).collect();
        self.claim(key, now);
        let mut affected = BTreeSet::from([Arc::clone(&key.namespace)]);
        for (owner, host) in owners {
            // Those that wait are told who has it.
            if self.owner(&host) != owner.as_ref() {
                let claims = self.claims.get(&host).into_iter().flatten().map(|claim| &claim.route);
                affected.extend(claims.chain(&owner).map(|route| Arc::clone(&route.namespace)));
            }
        }
        affected
    }

    /// The host that one claims, if it is ours and claims any.
    fn claim_of(&self, route: &OpenshiftRoute, snapshot: &Snapshot) -> Option<(String, Claim)> {
        let host = host_of(route, self.options.domain.as_deref()).ok();
        host.filter(|_| self.options.selector.takes(route)).map(|host| (host, Claim::of(route, snapshot)))
    }

    /// Lets one claim this, and nothing else.
    fn claim(&mut self, key: &Key, claim: Option<(String, Claim)>) {
        if let Some((host, claim)) = self.hosts.remove(key)
            && let Some(claims) = self.claims.get_mut(&host)
        {
            claims.remove(&claim);
            if claims.is_empty() {
                self.claims.remove(&host);
            }
        }
        if let Some((host, claim)) = claim {
            self.claims.entry(host.clone()).or_default().insert(claim.clone());
            self.hosts.insert(key, (host, claim));
        }
    }

    /// Who has a host.
    pub(super) fn owner(&self, host: &str) -> Option<&Key> {
        self.claims.get(host)?.first().map(|claim| &claim.route)
    }
}
