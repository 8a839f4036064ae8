//! Where the requests of a `Route` go. A backend that has nobody to answer leaves the split, as it does in the router.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use mcwan_policy::wire::PathRewrite;

use super::Refused;
use crate::api::{ExportedPort, OpenshiftRoute, RouteTarget, WAN_POLICY_ANNOTATION};
use crate::problem::Reason;
use crate::snapshot::{Key, Snapshot};
use crate::translate::front_end::Share;
use crate::translate::{Destination, Exports, Forwarding, merge, tier_service};

/// The backends of a route.
pub(super) struct Backends {
    pub(super) shares: Vec<Share>,
    /// Those that answer nothing now.
    pub(super) notes: Vec<String>,
    /// Why one of them cannot be had.
    pub(super) unresolved: Option<Refused>,
    /// The Services and imports that they are.
    pub(super) services: BTreeSet<Key>,
}

/// What a backend is.
enum Found {
    At(Destination),
    /// It is there, but nobody of it answers.
    Idle(String),
}

impl Backends {
    /// Those of a route.
    pub(super) fn of(route: &OpenshiftRoute, rewrite: Option<&str>, forwarding: &Forwarding, known: Known<'_>) -> Self {
        let mut all = Self { shares: Vec::new(), notes: Vec::new(), unresolved: None, services: BTreeSet::new() };
        let finder = Finder { route, known };
        for (name, weight) in weighed(&route.spec.to, &route.spec.alternate_backends) {
            let (import, found) = finder.find(name);
            // Either may come, or go.
            all.services.extend(import.into_iter().chain([Key::new(finder.namespace(), name)]));
            match found {
                Ok(Found::At(destination)) => {
                    let hostname = match &destination {
                        Destination::Import { namespace, name, .. } => {
                            Some(mcwan_policy::canonical_host(namespace, name))
                        }
                        Destination::Tier { .. } | Destination::Service { .. } => None,
                    };
                    let forwarding = Forwarding { hostname, ..forwarding.clone() };
                    let path = rewrite.map(|path| PathRewrite::Prefix(path.to_owned()));
                    all.shares.push(Share { destination, forwarding, path, weight });
                }
                Ok(Found::Idle(note)) => all.notes.push(note),
                Err(refused) => all.unresolved = all.unresolved.or(Some(refused)),
            }
        }
        if all.shares.iter().all(|share| share.weight == 0) {
            all.notes.push("no backend takes any request: the answer is 503".to_owned());
        }
        all
    }
}

/// The backends with their weights: of one that is named again, the later weight holds.
fn weighed<'r>(to: &'r RouteTarget, alternates: &'r [RouteTarget]) -> Vec<(&'r str, u32)> {
    let mut all: Vec<(&str, u32)> = Vec::new();
    for backend in std::iter::once(to).chain(alternates) {
        match all.iter_mut().find(|(name, _)| *name == backend.name) {
            Some((_, weight)) => *weight = backend.share(),
            None => all.push((&backend.name, backend.share())),
        }
    }
    all
}

fn missing(message: String) -> Refused {
    (Reason::BackendNotFound, message)
}

/// What backends of a namespace are looked up in.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub(super) snapshot: &'k Snapshot,
    pub(super) exports: &'k Exports,
    /// By Service of the namespace.
    pub(super) slices: &'k BTreeMap<&'k str, Vec<&'k EndpointSlice>>,
}

/// Looks up what a route names.
struct Finder<'f> {
    route: &'f OpenshiftRoute,
    known: Known<'f>,
}

impl Finder<'_> {
    fn namespace(&self) -> &str {
        self.route.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// What a name stands for: a tier service, what clients call an import by, or a Service. And the import, there or not.
    fn find(&self, name: &str) -> (Option<Key>, Result<Found, Refused>) {
        let (namespace, exports) = (self.namespace(), self.known.exports);
        if let Some((import, tier)) = tier_service::find(exports, namespace, name) {
            let found = self.over_tier(&import.name, tier);
            return (Some(import), found);
        }
        let import = name.strip_suffix("-clusterset");
        let is_imported = |import: &&str| exports.sources(namespace, import).next().is_some();
        let found = match import.filter(is_imported) {
            None => self.local(name),
            Some(import) => {
                let named = self.route.annotation(WAN_POLICY_ANNOTATION);
                match named.or_else(|| exports.default_tier(namespace, import)) {
                    Some(tier) => self.over_tier(import, tier),
                    None if exports.is_own_alone(namespace, import) => self.local(import),
                    None => Err(missing(format!("no export of {namespace}/{import} names a default tier"))),
                }
            }
        };
        (import.map(|import| Key::new(namespace, import)), found)
    }

    fn over_tier(&self, import: &str, name: &str) -> Result<Found, Refused> {
        let namespace = self.namespace();
        let Some(tier) = self.known.exports.tier(namespace, import, name) else {
            return Err(missing(format!("no cluster that exports {namespace}/{import} has tier {name} here")));
        };
        if !tier.sources.iter().any(|one| one.ready_pods > 0 && (one.is_own || !one.gateways.is_empty())) {
            return Ok(Found::Idle(format!("{namespace}/{import} has no ready pod within reach")));
        }
        let declared = merge(self.known.exports.declared(namespace, import).collect());
        let ports = declared.map(|declared| declared.ports).unwrap_or_default();
        let http: Vec<&ExportedPort> = ports.iter().filter(|port| port.is_http()).collect();
        let port = match self.target_port() {
            None => http.first().copied(),
            Some(IntOrString::String(name)) => http.iter().find(|port| port.name.as_ref() == Some(name)).copied(),
            // What number a pod far away has is not known, and need not be where there is one port.
            Some(IntOrString::Int(number)) => {
                let named = http.iter().find(|port| i32::from(port.port.get()) == *number);
                named.or_else(|| http.first().filter(|_| http.len() == 1)).copied()
            }
        };
        let port = port.ok_or_else(|| missing(format!("{namespace}/{import} has no such HTTP port")))?;
        Ok(Found::At(Destination::Import {
            namespace: namespace.to_owned(),
            name: import.to_owned(),
            tier: name.to_owned(),
            port: Some(port.port.get()),
        }))
    }

    fn target_port(&self) -> Option<&IntOrString> {
        self.route.spec.port.as_ref().map(|port| &port.target_port)
    }

    fn local(&self, name: &str) -> Result<Found, Refused> {
        let namespace = self.namespace();
        let Some(service) = self.known.snapshot.services.get(namespace, name) else {
            return Err(missing(format!("there is no Service {namespace}/{name}")));
        };
        if service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
            return Err(missing(format!("Service {namespace}/{name} is of type ExternalName")));
        }
        let Some(port) = self.service_port(service, name) else {
            // What number a pod's port has is known once there are pods.
            let is_open = matches!(self.target_port(), Some(IntOrString::Int(_)))
                && self.slices(name).next().is_none()
                && tcp_ports(service).any(|port| matches!(port.target_port, Some(IntOrString::String(_))));
            let message = format!("Service {namespace}/{name} has no such port");
            return if is_open { Ok(Found::Idle(format!("{message} yet"))) } else { Err(missing(message)) };
        };
        if !self.is_ready(name, port) {
            return Ok(Found::Idle(format!("Service {namespace}/{name} has no ready endpoint")));
        }
        Ok(Found::At(Destination::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port: u16::try_from(port.port).ok(),
        }))
    }

    /// The port of a Service that leads where the route wants: to a port of the pods by its number, or by the Service's name
    /// for it. Where nothing is said, the first.
    fn service_port<'p>(&self, service: &'p Service, name: &str) -> Option<&'p ServicePort> {
        let mut all = tcp_ports(service);
        match self.target_port() {
            None => all.next(),
            Some(IntOrString::String(named)) => all.find(|port| port.name.as_ref() == Some(named)),
            Some(IntOrString::Int(number)) => all.find(|port| match &port.target_port {
                None => port.port == *number,
                Some(IntOrString::Int(target)) => target == number,
                // Only the endpoints tell what number it has.
                Some(IntOrString::String(_)) => {
                    let mut known = self.slices(name).flat_map(|slice| &slice.ports).flatten();
                    known.any(|known| {
                        known.port == Some(*number) && is_called(known.name.as_deref(), port.name.as_deref())
                    })
                }
            }),
        }
    }

    fn slices(&self, service: &str) -> impl Iterator<Item = &EndpointSlice> {
        self.known.slices.get(service).into_iter().flatten().copied()
    }

    fn is_ready(&self, service: &str, port: &ServicePort) -> bool {
        // Files do not say what runs.
        if self.known.snapshot.namespaces.is_none() {
            return true;
        }
        self.slices(service).any(|slice| {
            let has_port =
                slice.ports.iter().flatten().any(|known| is_called(known.name.as_deref(), port.name.as_deref()));
            let is_ready = |ready: Option<bool>| ready.unwrap_or(true);
            let mut endpoints = slice.endpoints.iter().flatten();
            has_port && endpoints.any(|one| is_ready(one.conditions.as_ref().and_then(|known| known.ready)))
        })
    }
}

fn tcp_ports(service: &Service) -> impl Iterator<Item = &ServicePort> {
    let all = service.spec.iter().flat_map(|spec| &spec.ports).flatten();
    all.filter(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"))
}

/// Whether two ports have one name, which may be none.
fn is_called(one: Option<&str>, other: Option<&str>) -> bool {
    one.unwrap_or_default() == other.unwrap_or_default()
}
