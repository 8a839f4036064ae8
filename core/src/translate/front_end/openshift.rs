//! The front end for the `Route`s of `OpenShift`: those of a namespace together are one import, of hosts that they choose.

mod asks;
mod backends;
mod hosts;
mod served;

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_policy::wire::{NoMatch, Serves};

use super::FrontEnd;
use crate::api::{DataPlane, ImportFields, OpenshiftRoute, RouteSelector};
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::{Key, Keyed, Snapshot, named_secret};
use crate::translate::route_hosts::Claim;
use crate::translate::{Exports, Import, RouteHosts};
use backends::Known;
pub(in crate::translate) use hosts::host_of;
use hosts::{ImportHosts, claimed, given, path_of};
use served::{Served, Taken};

/// The ports on which clients are spoken to in the clear, and by TLS.
const PORTS: [u16; 2] = [80, 443];

/// Where problems of all of them together are.
const FIELDS: ImportFields =
    ImportFields { http: "spec", rules: "spec", no_match: "spec", hostnames: "spec.host", data_plane: "spec" };

/// What holds for all `Route`s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteOptions {
    /// Which are ours.
    pub selector: RouteSelector,
    /// The domain of those that name no host; none: they have no host.
    pub domain: Option<String>,
    /// What we are called in `status.ingress`.
    pub router_name: String,
    /// The Secret of the `Route`'s namespace with the certificate of those that name none.
    pub certificate: Option<String>,
}

/// What becomes of a `Route`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Its host, where it has one; or what it has in place of one.
    pub host: Option<String>,
    /// What to say of one that is admitted; else why it is not.
    pub admitted: Result<String, Refused>,
    /// Why something that it names cannot be had.
    pub unresolved: Option<Refused>,
}

/// Why a `Route` is not admitted, and what to say.
pub(super) type Refused = (Reason, String);

impl Default for RouteOptions {
    fn default() -> Self {
        Self { selector: RouteSelector::default(), domain: None, router_name: "mcwan".to_owned(), certificate: None }
    }
}

impl RouteOptions {
    /// The Secrets that those of some `Route`s name that are ours.
    pub fn named_secrets<'r>(&self, routes: impl Iterator<Item = &'r OpenshiftRoute>) -> BTreeSet<Key> {
        routes.filter(|route| self.selector.takes(route)).filter_map(named_secret).collect()
    }
}

impl<'s> FrontEnd<'s> {
    /// What the `Route`s of a namespace ask for, the oldest first; none where there are none.
    pub(super) fn of_routes(
        key: &'s Key,
        snapshot: &'s Snapshot,
        exports: &Exports,
        hosts: &'s RouteHosts,
        imports: &Keyed<Arc<Import>>,
    ) -> Option<Self> {
        let namespace = &*key.namespace;
        let options = hosts.options();
        let all = snapshot.openshift_routes.in_namespace(namespace).filter(|route| options.selector.takes(route));
        let mut routes: Vec<_> = all.map(|route| (Claim::of(route, snapshot), route)).collect();
        if routes.is_empty() || !snapshot.has_namespace(namespace) {
            return None;
        }
        routes.sort_by(|(claim, _), (other, _)| claim.cmp(other));
        let nothing = Self::without_rules(key, namespace, &key.name);
        let mut front_end = Self {
            object: ObjectRef { kind: "Namespace".to_owned(), namespace: None, name: namespace.to_owned() },
            fields: &FIELDS,
            serves: Serves::Hosts,
            rules: Some(Vec::new()),
            is_direct: false,
            ports: Some(vec![PORTS[0]]),
            no_match: NoMatch::ServiceUnavailable,
            data_plane: Some(DataPlane::Wasm),
            ..nothing
        };
        let known = Known { snapshot, exports, slices: &snapshot.endpoint_slices_in(namespace) };
        let imports = ImportHosts::of(namespace, imports);
        let (mut paths, mut secured, mut taken) = (BTreeSet::new(), BTreeSet::new(), Taken::default());
        for (Claim { route: own, .. }, route) in routes {
            let host = host_of(route, options.domain.as_deref());
            let served = host.clone().and_then(|host| {
                imports.leave(&host, &own, hosts)?;
                let path = path_of(route);
                if !paths.insert((host.clone(), path)) {
                    return Err(claimed(format!("an older route of the namespace has path {path:?} of its host")));
                }
                let served = Served::of(route, &host, path, known, options);
                taken.take(&served, namespace)?;
                Ok(served)
            });
            let host = host.ok().or_else(|| given(route.spec.host.as_ref()));
            let mut admission = Admission { host, admitted: Ok(String::new()), unresolved: None };
            match served {
                Ok(Served { rules, certificate, admitted, unresolved, services }) => {
                    front_end.rules.get_or_insert_default().extend(rules);
                    let certificate = admission.host.clone().zip(certificate);
                    front_end.certificates.extend(certificate.filter(|(host, _)| secured.insert(host.clone())));
                    front_end.services.extend(services);
                    (admission.admitted, admission.unresolved) = (admitted, unresolved);
                }
                Err(refused) => admission.admitted = Err(refused),
            }
            if let Err((reason, message)) = &admission.admitted {
                front_end.problems.push(Problem::error(route.object(), *reason, message.as_str()));
            }
            front_end.admissions.insert(own, admission);
        }
        if !front_end.certificates.is_empty() {
            front_end.ports = Some(PORTS.to_vec());
        }
        Some(front_end)
    }
}
