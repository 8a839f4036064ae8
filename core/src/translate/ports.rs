//! The ports that an import is served on.

use std::collections::BTreeSet;

use crate::api::{REGISTRY_NAMESPACE, limits};
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::Snapshot;

use super::export::Exports;
use super::front_end::{Deed, FrontRule};
use super::merge::merge;

/// The ports of the service in any cluster, ascending. Of more than a Gateway has listeners, those of the oldest exports.
pub(super) fn exported(exports: &Exports, namespace: &str, name: &str, problems: &mut Vec<Problem>) -> Vec<u16> {
    let used: BTreeSet<_> = exports.sources(namespace, name).map(|source| source.cluster.as_str()).collect();
    let declared = exports.declared(namespace, name).filter(|one| used.contains(one.precedence.cluster.as_str()));
    let Some(merged) = merge(declared.collect()) else { return Vec::new() };
    let mut ports = merged.ports.iter().filter(|port| port.is_http()).map(|port| port.port.get());
    let served: BTreeSet<_> = ports.by_ref().take(limits::PORTS).collect();
    let mut left: BTreeSet<_> = ports.collect();
    for source in exports.sources(namespace, name) {
        let refused: Vec<_> = source.ports.iter().filter(|port| left.remove(port)).map(u16::to_string).collect();
        if !refused.is_empty() {
            let export = format!("{}.{namespace}.{name}", source.cluster);
            let object = ObjectRef::namespaced("ExportedService", REGISTRY_NAMESPACE, export);
            let message = format!(
                "not served: {}, as older exports have other ports, and a service has at most {}",
                refused.join(", "),
                limits::PORTS
            );
            problems.push(Problem::error(object, Reason::PortConflict, message).at("spec.ports"));
        }
    }
    served.into_iter().collect()
}

/// The ports that rules name of local Services, and all of Services of which they name none, ascending. Of more than a
/// Gateway has listeners, the lowest.
pub(super) fn local(
    rules: &[FrontRule<'_>],
    snapshot: &Snapshot,
    namespace: &str,
    object: &ObjectRef,
    problems: &mut Vec<Problem>,
) -> Vec<u16> {
    let mut named = BTreeSet::new();
    let asked = rules.iter().filter_map(|rule| match rule.deed {
        Deed::Asked(asked, _) => Some(asked),
        Deed::Shared(_) | Deed::Redirected(_) => None,
    });
    for backend in asked.flat_map(|rule| &rule.backend_refs) {
        let service = snapshot.services.get(backend.namespace.as_deref().unwrap_or(namespace), &backend.name);
        let all = service.and_then(|service| service.spec.as_ref()?.ports.as_ref()).into_iter().flatten();
        match backend.port {
            Some(port) => drop(named.insert(port.get())),
            None => named.extend(all.filter_map(|port| u16::try_from(port.port).ok())),
        }
    }
    let mut named = named.into_iter();
    let ports = named.by_ref().take(limits::PORTS).collect();
    let refused: Vec<_> = named.map(|port| port.to_string()).collect();
    if !refused.is_empty() {
        let message = format!("not served: {}, as a service has at most {} ports", refused.join(", "), limits::PORTS);
        problems.push(Problem::error(object.clone(), Reason::PortConflict, message));
    }
    ports
}
