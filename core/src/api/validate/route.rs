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
    // Who leaves out the group means a parent of ours.
    let lacks_group =
        |parent: &ParentRef| parent.group == GATEWAY_API_GROUP && matches!(&*parent.kind, "Service" | "ServiceImport");
    let is_meant = is_ours || route.parents.iter().any(lacks_group);
    for (index, RouteRule { rule, calls: _, fault }) in route.rules.iter().enumerate() {
        let field = Route::rule_field(index);
        if let Some(Fault { field: part, message, is_of_match: _ }) = fault {
            check.error(field.field(part.clone()), Reason::InvalidValue, message.as_str());
        }
        let needs_port = |backend: &BackendRef| is_meant && backend.group.is_empty() && backend.kind == "Service";
        for (position, backend) in rule.backend_refs.iter().enumerate() {
            if needs_port(backend) && backend.port.is_none() {
                let place = field.field("backendRefs").index(position);
                let problem =
                    Problem::error(route.object(), Reason::MissingField, "a Service needs a `port` in a route");
                check.problems.push(problem.at(place).hint("write `port: …`, a port of the Service"));
            }
        }
    }
    for (index, parent) in route.parents.iter().enumerate() {
        if let Some((part, message)) = &parent.fault {
            let field = FieldPath::from("spec.parentRefs").index(index);
            check.error(field.field(part.clone()), Reason::InvalidValue, message.as_str());
        }
        let meant = if parent.kind == "Service" { "\"\"" } else { MCS_GROUP };
        if lacks_group(parent) {
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
    if is_ours && route.has_hostnames() && route.imports().count() == route.parents.len() {
        let message = "`hostnames` are not looked at: an import has its own hosts";
        check.problems.push(Problem::warning(route.object(), Reason::UnsupportedValue, message).at("spec.hostnames"));
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

#[cfg(test)]
mod tests {
    use crate::snapshot::Gathered;

    /// The place, the reason and the hint of everything that is found in a route.
    fn found(spec: &str) -> Vec<(String, String, String)> {
        let head =
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: foo-route, namespace: store}";
        let findings = Gathered::from_text("test.yaml", &format!("{head}\n{spec}")).findings.into_iter();
        let row = findings.map(|finding| {
            let place = finding.place.map(|place| place.to_string()).unwrap_or_default();
            (format!("{place} {}", finding.field), finding.reason.to_string(), finding.hint.unwrap_or_default())
        });
        row.collect()
    }

    /// GEP-1426 as it was written.
    #[test]
    fn all_slips_are_told_at_once() {
        let spec = "\
spec:
  parentRefs:
  - kind: Service
    name: foo
  rules:
    backendRefs:
    - kind: Service
      name: foo
      weight: 90
    - kind: Service
      name: foo-v2
      weight: 10
";
        let port = "write `port: …`, a port of the Service";
        let expected = [
            ("test.yaml:8 spec.rules", "InvalidValue", "begin each item with `- `"),
            ("test.yaml:10 spec.rules[0].backendRefs[0]", "MissingField", port),
            ("test.yaml:13 spec.rules[0].backendRefs[1]", "MissingField", port),
            ("test.yaml:6 spec.parentRefs[0]", "InvalidValue", "write `group: \"\"`"),
        ];
        let expected = expected.map(|(place, reason, hint)| (place.to_owned(), reason.to_owned(), hint.to_owned()));
        assert_eq!(found(spec), expected);
    }

    #[test]
    fn what_is_no_slip_may_still_not_be_meant() {
        let import = "{group: multicluster.x-k8s.io, kind: ServiceImport, name: payment}";
        let rules = "rules: [{backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]}]";
        let unread =
            "rules: [{matches: [{color: red}], backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]}]";
        let table = [
            (format!("parentRefs: [{import}], {rules}"), vec![], "sound"),
            (
                format!("parentRefs: [{import}], hostnames: [a.example], {rules}"),
                vec![("spec.hostnames", "UnsupportedValue")],
                "hosts of its own",
            ),
            (
                format!("parentRefs: [{import}, {{name: edge}}], hostnames: [a.example], {rules}"),
                vec![],
                "hosts for a Gateway",
            ),
            (
                format!("parentRefs: [{{group: '', kind: Service, name: payment}}], {unread}"),
                vec![("spec.rules[0].matches[0].color", "InvalidValue"), ("spec.parentRefs[0]", "UnsupportedValue")],
                "a tier in a rule that cannot be read",
            ),
        ];
        for (spec, expected, message) in table {
            let found = found(&format!("spec: {{{spec}}}\n"));
            let told: Vec<_> =
                found.iter().map(|(place, reason, _)| (place.trim_start_matches("test.yaml:4 "), &**reason)).collect();
            assert_eq!(told, expected, "{message}");
        }
    }
}
