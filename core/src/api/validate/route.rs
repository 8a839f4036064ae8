//! What is wrong with a route by itself: what the definitions of `HTTPRoute` and `GRPCRoute` refuse, as far as people write it.

use super::check::Check;
use crate::api::{BackendRef, Fault, GATEWAY_API_GROUP, MCS_GROUP, ParentRef, Route, RouteRule};
use crate::problem::{FieldPath, Problem, Reason};

/// The label of what one istiod is to look at, and no other (Istio, "Resource Labels").
const ISTIO_REVISION: &str = "istio.io/rev";

/// What is wrong with a route by itself.
pub fn route(route: &Route) -> Vec<Problem> {
    let mut check = Check::new(route.object());
    let is_ours = route.imports().next().is_some();
    for (index, RouteRule { rule, calls: _, fault }) in route.rules.iter().enumerate() {
        let field = Route::rule_field(index);
        if let Some(Fault { field: part, message, is_of_match: _ }) = fault {
            check.error(field.field(part.clone()), Reason::InvalidValue, message.as_str());
        }
        let needs_port = |backend: &BackendRef| is_ours && backend.group.is_empty() && backend.kind == "Service";
        for (position, backend) in rule.backend_refs.iter().enumerate() {
            if needs_port(backend) && backend.port.is_none() {
                let place = field.field("backendRefs").index(position);
                check.error(place, Reason::MissingField, "a Service needs a `port` in a route");
            }
        }
    }
    for (index, parent) in route.parents.iter().enumerate() {
        if let Some((part, message)) = &parent.fault {
            let field = FieldPath::from("spec.parentRefs").index(index);
            check.error(field.field(part.clone()), Reason::InvalidValue, message.as_str());
        }
        let meant = if parent.kind == "Service" { "\"\"" } else { MCS_GROUP };
        if parent.group == GATEWAY_API_GROUP && matches!(&*parent.kind, "Service" | "ServiceImport") {
            let message =
                format!("without another `group`, it is of {GATEWAY_API_GROUP}, which has no {}", parent.kind);
            let problem = Problem::error(route.object(), Reason::InvalidValue, message);
            let field = FieldPath::from("spec.parentRefs").index(index);
            check.problems.push(problem.at(field).hint(format!("write `group: {meant}`")));
        }
    }
    if check.problems.is_empty() && !is_ours {
        let message = "no parent is a ServiceImport or Service, so mcwan does not read it";
        let warning = Problem::warning(route.object(), Reason::NotRead, message).at("spec.parentRefs");
        let hint = "for the rules of an import, write `{group: multicluster.x-k8s.io, kind: ServiceImport, name: …}`";
        check.problems.push(warning.hint(hint));
    }
    check.problems.extend(claimed_by_istiod(route));
    check.problems
}

fn claimed_by_istiod(route: &Route) -> Option<Problem> {
    let labels = route.metadata.labels.as_ref();
    let is_left_alone = labels.is_some_and(|labels| labels.contains_key(ISTIO_REVISION));
    let index =
        route.parents.iter().position(ParentRef::is_service).filter(|_| route.names_tier() && !is_left_alone)?;
    let message = "istiod takes routes below Services for its mesh, and does not know a WANPolicy";
    let hint = format!(
        "write `{{group: {MCS_GROUP}, kind: ServiceImport, name: …}}`, or the label `{ISTIO_REVISION}: mcwan`, which keeps \
         istiod off"
    );
    let warning = Problem::warning(route.object(), Reason::UnsupportedValue, message);
    Some(warning.at(FieldPath::from("spec.parentRefs").index(index)).hint(hint))
}
