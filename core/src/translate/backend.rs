//! What a backendRef names.

use gateway_api::referencegrants::ReferenceGrant;
use mcwan_policy::wire::RefuseReason;

use crate::api::{GATEWAY_API_GROUP, GROUP, MCS_GROUP, TIER_NAMESPACE};
use crate::kind;
use crate::problem::NotPermitted;
use crate::problem::Reason;
use crate::snapshot::{Key, Snapshot, service_port};

use super::export::Tier;
use super::refusal::Refusal;
use super::{Destination, Exports, tier_service};

/// What rules become, whoever writes them.
const ROUTES: (&str, &str) = (GATEWAY_API_GROUP, kind::HTTP_ROUTE.name);

/// A reference as rules and mirrors write it.
#[derive(Clone, Copy)]
pub(super) struct Reference<'r> {
    pub(super) group: &'r str,
    pub(super) kind: &'r str,
    pub(super) namespace: Option<&'r str>,
    pub(super) name: &'r str,
    pub(super) port: Option<u16>,
    /// The group and kind of the object that has it.
    pub(super) from: (&'r str, &'r str),
}

impl Reference<'_> {
    /// The Service of this cluster that it names.
    pub(super) fn service(&self, own_namespace: &str) -> Option<Key> {
        let namespace = self.namespace.unwrap_or(own_namespace);
        let is_service = self.group.is_empty() && self.kind == "Service" && namespace != TIER_NAMESPACE;
        is_service.then(|| Key::new(namespace, self.name))
    }

    /// The import that it names.
    pub(super) fn import(&self, own_namespace: &str) -> Option<Key> {
        let is_import = self.group == MCS_GROUP && self.kind == "ServiceImport";
        is_import.then(|| Key::new(self.namespace.unwrap_or(own_namespace), self.name))
    }
}

/// The import that refers.
#[derive(Clone, Copy)]
pub(super) struct Referrer<'r> {
    /// What it is known by. Its namespace is where names of Services are looked up.
    pub(super) key: &'r Key,
    pub(super) namespace: &'r str,
    pub(super) name: &'r str,
    /// The ports that clients use.
    pub(super) ports: &'r [u16],
}

/// Finds what a reference names.
pub(super) fn resolve(
    reference: Reference<'_>,
    referrer: Referrer<'_>,
    snapshot: &Snapshot,
    exports: &Exports,
) -> Result<Destination, Refusal> {
    let Reference { group, kind, namespace, name, port, from } = reference;
    match (group, kind, namespace) {
        ("", "Service", Some(TIER_NAMESPACE)) => {
            let Referrer { namespace: own_namespace, name: own_name, key: _, ports: _ } = referrer;
            let is_named = |tier: &&str| tier_service::is_named(exports, own_namespace, own_name, tier, name);
            let Some(tier) = exports.tiers().find(is_named) else {
                let service = |tier: &str| tier_service::name(exports, own_namespace, own_name, tier);
                let message = format!("{TIER_NAMESPACE}/{name} is no tier service of this import");
                let known: Vec<_> = exports.tiers().map(service).collect();
                return Err(Refusal::not_found(message).hint(one_of("its tier services are", &known)));
            };
            over_tier(tier, port, referrer, snapshot, exports)
        }
        ("", "Service", namespace) => {
            let home = &*referrer.key.namespace;
            let namespace = namespace.unwrap_or(home);
            check_grants(&[from, ROUTES], home, (namespace, name), snapshot)?;
            local_service(namespace, name, port, referrer, snapshot, exports)
        }
        (MCS_GROUP, "ServiceImport", namespace) => {
            let home = &*referrer.key.namespace;
            let namespace = namespace.unwrap_or(home);
            if namespace != home && (namespace, name) != (referrer.namespace, referrer.name) {
                let message = "the gateways of this namespace are admitted to its own imports only";
                return Err(Refusal::new(RefuseReason::RefNotPermitted, message));
            }
            over_default_tier((namespace, name), port, referrer, snapshot, exports)
        }
        (GROUP, "WANPolicy", None) => over_tier(name, port, referrer, snapshot, exports),
        (GROUP, "WANPolicy", Some(_)) => {
            Err(Refusal::not_found("a WANPolicy is in no namespace").hint("leave `namespace` out"))
        }
        _ => {
            let message = format!("kind {kind} of group {group:?} cannot be a backend");
            let hint = format!(
                "a backend is a Service, a WANPolicy of group {GROUP}, or a ServiceImport of group {MCS_GROUP}"
            );
            Err(Refusal::not_found(message).because(Reason::InvalidKind).hint(hint))
        }
    }
}

fn over_tier(
    name: &str,
    port: Option<u16>,
    referrer: Referrer<'_>,
    snapshot: &Snapshot,
    exports: &Exports,
) -> Result<Destination, Refusal> {
    if !exports.tiers().any(|known| known == name) {
        let known: Vec<_> = exports.tiers().map(str::to_owned).collect();
        let message = format!("there is no WANPolicy {name}");
        return Err(Refusal::not_found(message).hint(one_of("the tiers are", &known)));
    }
    let Some(tier) = exports.tier(referrer.namespace, referrer.name, name) else {
        not_forbidden(referrer.namespace, referrer.name, name, exports)?;
        let message = if exports.sources(referrer.namespace, referrer.name).next().is_none() {
            format!("no cluster exports {}/{}", referrer.namespace, referrer.name)
        } else {
            format!("no cluster that exports {}/{} has tier {name} on the same port", referrer.namespace, referrer.name)
        };
        return Err(Refusal::not_found(message));
    };
    if without_own_share(tier.clone(), &referrer.key.namespace, snapshot).is_none() {
        check_own_share(&tier, &referrer.key.namespace, snapshot)?;
    }
    // HTTPRoute's definition asks for a port of every Service.
    if port.is_some_and(|port| port != tier.port && !referrer.ports.contains(&port)) {
        let message =
            format!("neither tier {name}, which has port {}, nor the service has the backendRef's", tier.port);
        return Err(Refusal::not_found(message).hint("leave `port` out"));
    }
    Ok(Destination::Tier { name: name.to_owned(), cluster: None })
}

/// An import over its default tier, whatever its own rules are.
fn over_default_tier(
    (namespace, name): (&str, &str),
    port: Option<u16>,
    referrer: Referrer<'_>,
    snapshot: &Snapshot,
    exports: &Exports,
) -> Result<Destination, Refusal> {
    if exports.sources(namespace, name).next().is_none() {
        return Err(Refusal::not_found(format!("no cluster exports {namespace}/{name}")));
    }
    let Some(tier) = exports.default_tier(namespace, name) else {
        if exports.is_own_alone(namespace, name) {
            check_grants(&[ROUTES], &referrer.key.namespace, (namespace, name), snapshot)?;
            return local_service(namespace, name, port, referrer, snapshot, exports);
        }
        let message = format!("no export of {namespace}/{name} names a default tier");
        return Err(Refusal::not_found(message).hint("name a WANPolicy, or annotate the ServiceExport with one"));
    };
    if (namespace, name) == (referrer.namespace, referrer.name) {
        return over_tier(tier, port, referrer, snapshot, exports);
    }
    if exports.tier(namespace, name, tier).is_none() {
        not_forbidden(namespace, name, tier, exports)?;
        let message =
            format!("no cluster that exports {namespace}/{name} has its default tier {tier} on the same port");
        return Err(Refusal::not_found(message));
    }
    let used = port.as_ref().map_or(referrer.ports, std::slice::from_ref);
    let has = |port: &u16| exports.sources(namespace, name).any(|source| source.ports.contains(port));
    if let Some(missing) = used.iter().find(|port| !has(port)) {
        return Err(Refusal::not_found(format!("{namespace}/{name} has no HTTP port {missing}")));
    }
    let (namespace, name, tier) = (namespace.to_owned(), name.to_owned(), tier.to_owned());
    Ok(Destination::Import { namespace, name, tier, port })
}

/// Says where policies keep requests for a service from a tier.
fn not_forbidden(namespace: &str, name: &str, tier: &str, exports: &Exports) -> Result<(), Refusal> {
    let why = exports.why_not(namespace, name, tier);
    if why.is_empty() {
        return Ok(());
    }
    let told = why.iter().map(NotPermitted::to_string).collect::<Vec<_>>().join(", ");
    let message = format!("requests for {namespace}/{name} may not take tier {tier}: {told}");
    let hint = "`mcwan clusters` shows which clusters may use which tier";
    Err(Refusal { not_permitted: why, ..Refusal::new(RefuseReason::TierNotPermitted, message).hint(hint) })
}

fn local_service(
    namespace: &str,
    name: &str,
    port: Option<u16>,
    referrer: Referrer<'_>,
    snapshot: &Snapshot,
    exports: &Exports,
) -> Result<Destination, Refusal> {
    let Some(service) = snapshot.services.get(namespace, name) else {
        let unresolved = Refusal::not_found(format!("there is no Service {namespace}/{name}"));
        let service = |tier: &str| tier_service::name(exports, referrer.namespace, referrer.name, tier);
        return Err(if exports.tiers().any(|tier| service(tier) == name) {
            unresolved
                .hint(format!("a tier service is in namespace {TIER_NAMESPACE}: add `namespace: {TIER_NAMESPACE}`"))
        } else if exports.tiers().any(|tier| tier == name) {
            unresolved.hint(format!("for the tier of that name, add `group: {GROUP}` and `kind: WANPolicy`"))
        } else {
            unresolved
        });
    };
    if service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
        return Err(Refusal::not_found(format!("Service {namespace}/{name} is of type ExternalName")));
    }
    let used = port.as_ref().map_or(referrer.ports, std::slice::from_ref);
    if let Some(missing) = used.iter().find(|port| service_port(service, **port).is_none()) {
        return Err(Refusal::not_found(format!("Service {namespace}/{name} has no port {missing}")));
    }
    Ok(Destination::Service { namespace: namespace.to_owned(), name: name.to_owned(), port })
}

/// Says where requests over a tier do not get to this cluster's own share, as it is in another namespace that does not
/// admit routes.
pub(super) fn check_own_share(tier: &Tier, home: &str, snapshot: &Snapshot) -> Result<(), Refusal> {
    if !tier.sources.iter().any(|source| source.is_own) {
        return Ok(());
    }
    check_grants(&[ROUTES], home, (&tier.import.namespace, &tier.import.name), snapshot)
}

/// A tier as the gateways of a namespace reach it: without this cluster's own share where that does not admit their
/// routes. None where nothing is left.
pub(super) fn without_own_share(mut tier: Tier, home: &str, snapshot: &Snapshot) -> Option<Tier> {
    if check_own_share(&tier, home, snapshot).is_err() {
        tier.sources.retain(|source| !source.is_own);
    }
    (!tier.sources.is_empty()).then_some(tier)
}

/// Whether a Service of another namespace admits what refers to it: the object that says so, and the `HTTPRoute` that is
/// made of it, which istiod asks about. mcwan grants nothing in namespaces of others.
fn check_grants(
    from: &[(&str, &str)],
    home: &str,
    (namespace, name): (&str, &str),
    snapshot: &Snapshot,
) -> Result<(), Refusal> {
    let is_missing = |from: &&(&str, &str)| !is_admitted(**from, home, &[("", "Service")], (namespace, name), snapshot);
    let Some((group, kind)) = from.iter().filter(|_| namespace != home).find(is_missing) else { return Ok(()) };
    let message = format!("no ReferenceGrant of namespace {namespace} admits {kind}s of this one to Service {name}");
    let entry = format!("{{group: {group}, kind: {kind}, namespace: {home}}}");
    Err(Refusal::new(RefuseReason::RefNotPermitted, message).hint(format!("add `{entry}` to `from` of one that does")))
}

/// Whether a grant admits objects of a group and kind in a namespace to one of another namespace, of any of these groups and
/// kinds (Gateway API, `ReferenceGrantSpec`).
pub(super) fn is_admitted(
    (group, kind): (&str, &str),
    from: &str,
    to: &[(&str, &str)],
    (namespace, service): (&str, &str),
    snapshot: &Snapshot,
) -> bool {
    let admits = |grant: &ReferenceGrant| {
        grant.spec.from.iter().any(|item| item.group == group && item.kind == kind && item.namespace == from)
            && grant.spec.to.iter().any(|item| {
                to.contains(&(&*item.group, &*item.kind)) && item.name.as_deref().is_none_or(|name| name == service)
            })
    };
    snapshot.reference_grants.in_namespace(namespace).any(admits)
}

fn one_of(what: &str, names: &[String]) -> String {
    if names.is_empty() { "there is no WANPolicy".to_owned() } else { format!("{what} {}", names.join(", ")) }
}
