//! The front end for the `Route`s of `OpenShift`: those of a namespace together are one import, of hosts that they choose.

mod asks;
mod backends;

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_policy::wire::{self, NoMatch, PathMatch, RefuseStatus, Serves};
use mcwan_policy::{is_label, limits, standard_hosts};

use super::{Deed, FrontEnd, FrontRule};
use crate::api::{DataPlane, ImportFields, OpenshiftRoute, RouteSelector};
use crate::kind::OPENSHIFT_ROUTE;
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Key, Snapshot};
use crate::translate::route_hosts::Claim;
use crate::translate::{Exports, Origin, RouteHosts};
use asks::{Asks, Insecure};
use backends::Backends;

/// The ports on which clients are spoken to in the clear, and by TLS.
const PORTS: [u16; 2] = [80, 443];
/// The status of a redirect to TLS, as of the router.
const FOUND: u16 = 302;

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
    /// Its host, where it has one.
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

impl<'s> FrontEnd<'s> {
    /// What the `Route`s of a namespace ask for, the oldest first; none where there are none.
    pub(super) fn of_routes(
        key: &'s Key,
        snapshot: &'s Snapshot,
        exports: &Exports,
        hosts: &'s RouteHosts,
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
        let mut taken = BTreeSet::new();
        for (Claim { route: own, .. }, route) in routes {
            let host = host_of(route, options.domain.as_deref());
            let admitted = host.clone().and_then(|host| {
                claimable(&host, &own, snapshot, exports, hosts)?;
                if front_end.rules.iter().flatten().count() + PORTS.len() > limits::IMPORT_RULES {
                    return Err((Reason::TooLarge, "the routes of its namespace are too many".to_owned()));
                }
                let path = path_of(route).to_owned();
                if !taken.insert((host, path.clone())) {
                    return Err(claimed(format!("an older route of the namespace has path {path:?} of its host")));
                }
                Ok(path)
            });
            let mut admission = Admission { host: host.ok(), admitted: Ok(String::new()), unresolved: None };
            match admitted {
                Ok(path) => front_end.admit(route, &path, (snapshot, exports, options), &mut admission),
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

    /// Adds the rules of a route that has its host and path. One that is refused for what it asks keeps them.
    fn admit(
        &mut self,
        route: &'s OpenshiftRoute,
        path: &str,
        (snapshot, exports, options): (&Snapshot, &Exports, &RouteOptions),
        admission: &mut Admission,
    ) {
        let host = admission.host.clone().unwrap_or_default();
        let asks = match Asks::of(route, options) {
            Ok(asks) => asks,
            Err(refused) => {
                admission.admitted = Err(refused);
                self.add(route, &host, path, &[], Deed::Shared(Vec::new()));
                return;
            }
        };
        let Asks { tls, rewrite, forwarding, notes } = asks;
        let Backends { shares, notes: without, unresolved, services } =
            Backends::of(route, rewrite.as_deref(), &forwarding, snapshot, exports);
        self.services.extend(services);
        let [clear, secure] = PORTS.map(|port| vec![port]);
        match tls {
            None => self.add(route, &host, path, &clear, Deed::Shared(shares)),
            Some((insecure, secret)) => {
                self.certificates.entry(host.clone()).or_insert(secret);
                match insecure {
                    Insecure::Allow => self.add(route, &host, path, &[], Deed::Shared(shares)),
                    Insecure::Redirect => {
                        self.add(route, &host, path, &clear, Deed::Redirected(to_tls()));
                        self.add(route, &host, path, &secure, Deed::Shared(shares));
                    }
                    Insecure::None => self.add(route, &host, path, &secure, Deed::Shared(shares)),
                }
            }
        }
        admission.admitted = Ok([notes, without].concat().join("; "));
        admission.unresolved = unresolved;
    }

    fn add(&mut self, route: &'s OpenshiftRoute, host: &str, path: &str, ports: &[u16], deed: Deed<'s>) {
        let origin = Origin {
            name: None,
            object: Arc::new(route.object()),
            group: OPENSHIFT_ROUTE.group,
            field: FieldPath::from("spec"),
        };
        let matches = match path {
            "" => Vec::new(),
            // By segment, but one that ends in `/` does not match what has none there.
            path if path.ends_with('/') => vec![PathMatch::RawPrefix(path.to_owned())],
            path => vec![PathMatch::Prefix(path.to_owned())],
        };
        let matches = matches.into_iter().map(|path| wire::Match { path: Some(path), ..wire::Match::default() });
        self.rules.get_or_insert_default().push(FrontRule {
            origin,
            host: Some(host.to_owned()),
            matches: matches.collect(),
            ports: ports.to_vec(),
            deed,
            refused: RefuseStatus::ServiceUnavailable,
        });
    }
}

/// The host that a route claims, if nothing is wrong with what its claim is made of.
pub(in crate::translate) fn host_of(route: &OpenshiftRoute, domain: Option<&str>) -> Result<String, Refused> {
    let spec = &route.spec;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if spec.wildcard_policy.as_deref() == Some("Subdomain") {
        return Err((Reason::RouteNotAdmitted, "wildcardPolicy Subdomain is not taken".to_owned()));
    }
    let host = match (given(&spec.host), given(&spec.subdomain), domain) {
        (Some(host), _, _) => host,
        (None, Some(subdomain), Some(domain)) => format!("{subdomain}.{domain}"),
        (None, None, Some(domain)) => {
            let name = route.metadata.name.as_deref().unwrap_or_default().replace('.', "-");
            format!("{name}-{}.{domain}", route.metadata.namespace.as_deref().unwrap_or_default())
        }
        (None, _, None) => {
            let message = "it names no host, and the controller has no --route-domain".to_owned();
            return Err((Reason::NoHostValue, message));
        }
    };
    if host.len() > limits::HOST_BYTES || !host.split('.').all(is_label) {
        let message =
            format!("host {host:?} is none: want lower-case labels of at most 63 characters, with dots between");
        return Err((Reason::InvalidHost, message));
    }
    let path = path_of(route);
    if !path.is_empty() {
        let sound = asks::check_path(path);
        sound.map_err(|message| (Reason::ExtendedValidationFailed, message))?;
    }
    Ok(host)
}

/// The path that a route asks for: nothing where every path is meant.
fn path_of(route: &OpenshiftRoute) -> &str {
    route.spec.path.as_deref().filter(|path| *path != "/").unwrap_or_default()
}

fn claimed(message: String) -> Refused {
    (Reason::HostAlreadyClaimed, message)
}

/// Whether a host is a route's to have: an import of the namespace comes first, then the oldest route.
fn claimable(host: &str, own: &Key, snapshot: &Snapshot, exports: &Exports, hosts: &RouteHosts) -> Result<(), Refused> {
    let namespace = &*own.namespace;
    let label = host.split('.').next().unwrap_or_default();
    for name in [Some(label), label.strip_suffix("-clusterset")].into_iter().flatten() {
        let is_imported = snapshot.service_imports.get(namespace, name).is_some()
            || snapshot.unreadable_imports.get(namespace, name).is_some()
            || exports.sources(namespace, name).next().is_some();
        if is_imported && standard_hosts(namespace, name).iter().any(|standard| standard == host) {
            return Err(claimed(format!("host {host} is that of the import {namespace}/{name}")));
        }
    }
    let mut imports = snapshot.service_imports.in_namespace(namespace);
    if let Some(import) = imports.find(|import| import.spec.hostnames.iter().any(|hostname| hostname == host)) {
        let name = import.metadata.name.as_deref().unwrap_or_default();
        return Err(claimed(format!("host {host} is that of the import {namespace}/{name}")));
    }
    match hosts.owner(host) {
        Some(owner) if owner.namespace != own.namespace => {
            Err(claimed(format!("host {host} is that of route {owner}, which is older")))
        }
        _ => Ok(()),
    }
}

fn to_tls() -> wire::Redirect {
    wire::Redirect {
        weight: 1,
        status: FOUND,
        scheme: Some(wire::Scheme::Https),
        hostname: None,
        port: None,
        path: None,
        headers: wire::HeaderModifier::default(),
    }
}
