//! Whether `HTTPRoute`s may refer to what rules refer to.

use gateway_api::referencegrants::ReferenceGrant;
use mcwan_policy::wire::Action;

use crate::problem::{FieldPath, Problem, Reason};
use crate::snapshot::Objects;
use crate::translate::{Destination, Import};

/// Services of other namespaces that an import's rules may use, but that istiod keeps its `HTTPRoute`s from: a
/// `ReferenceGrant` that admits `ServiceImport`s is there, one that admits `HTTPRoute`s is not. mcwan grants nothing
/// in namespaces of others.
pub fn missing_grants(import: &Import, grants: &Objects<ReferenceGrant>) -> Vec<Problem> {
    let own = &*import.key.namespace;
    let mut problems = Vec::new();
    for (rule, actions) in import.wire.rules.iter().map(|rule| &rule.actions).enumerate() {
        let forwards = actions.iter().filter_map(|action| match action {
            Action::Forward(forward) => import.targets.get(usize::try_from(forward.target).ok()?),
            Action::Redirect(_) | Action::Refuse(_) => None,
        });
        let used = forwards.flat_map(|target| {
            let mirrors = target.forwarding.mirrors.iter().map(|mirror| &mirror.destination);
            std::iter::once(&target.destination).chain(mirrors)
        });
        for destination in used {
            let Destination::Service { namespace, name, port: _ } = destination else { continue };
            let admitted = |grant: &ReferenceGrant| admits(grant, own, name);
            if namespace == own || grants.in_namespace(namespace).any(admitted) {
                continue;
            }
            let message =
                format!("no ReferenceGrant admits HTTPRoutes of this namespace to Service {namespace}/{name}");
            let from = format!("{{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: {own}}}");
            let problem = import
                .rule_error(rule, FieldPath::root(), Reason::RefNotPermitted, message)
                .hint(format!("add `{from}` to `from` of the grant that admits the ServiceImport"));
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems
}

/// Whether a grant admits `HTTPRoute`s of a namespace to a Service of its own.
fn admits(grant: &ReferenceGrant, from: &str, service: &str) -> bool {
    let mut sources = grant.spec.from.iter();
    sources.any(|item| item.group == "gateway.networking.k8s.io" && item.kind == "HTTPRoute" && item.namespace == from)
        && grant.spec.to.iter().any(|item| {
            item.group.is_empty() && item.kind == "Service" && item.name.as_deref().is_none_or(|name| name == service)
        })
}
