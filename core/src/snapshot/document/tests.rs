//! Every finding in a document has its line, its field and its reason.

use crate::problem::Reason;
use crate::snapshot::Gathered;

/// Line, field and reason of every finding in a document.
fn found(document: &str) -> Vec<(usize, String, String)> {
    let findings = Gathered::from_text("test.yaml", document).findings.into_iter();
    let row = findings.map(|finding| {
        let line = finding.place.and_then(|place| place.line);
        (line.unwrap_or_default(), finding.field.to_string(), finding.reason.to_string())
    });
    row.collect()
}

fn mk_route(parent: &str, rest: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: pay\nspec:\n  parentRefs:\n  \
         - {{group: multicluster.x-k8s.io, kind: {parent}, name: payment}}\n{rest}"
    )
}

fn mk_import(spec: &str) -> String {
    let head = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ServiceImport\nmetadata:\n  name: payment\n";
    format!("{head}spec:\n{spec}")
}

#[test]
fn every_finding_has_its_line_and_field() {
    let table = [
        (mk_import("  http:\n    rules: []\n"), vec![], "sound"),
        (
            mk_import("  http:\n    ruls: []\n    rules:\n    - match: []\n    - backends: []\n"),
            vec![
                (7, "spec.http.ruls", "UnknownField"),
                (9, "spec.http.rules[0].match", "UnknownField"),
                (10, "spec.http.rules[1].backends", "UnknownField"),
            ],
            "several unknown fields",
        ),
        (
            mk_import("  http:\n    rules:\n    - timeouts: {request: 5 s}\n    - retries: 1\n"),
            vec![
                (8, "spec.http.rules[0].timeouts.request", "InvalidValue"),
                (9, "spec.http.rules[1].retries", "UnknownField"),
            ],
            "errors of different kinds",
        ),
        (mk_import("  http: {}\n"), vec![(6, "spec.http.rules", "MissingField")], "rules are not left out by accident"),
        (
            mk_import("  http:\n    rules:\n    - matches:\n      backendRefs: [{name: a}]\n"),
            vec![(8, "spec.http.rules[0].matches", "MissingValue")],
            "a key without a value does not match everything",
        ),
        (
            mk_import("  http:\n    noMatch: {status: 402}\n    rules: []\n"),
            vec![(7, "spec.http.noMatch.status", "InvalidValue")],
            "a status that is not offered",
        ),
        (
            mk_import("  http:\n    rules:\n    - matches:\n      - method: get\n"),
            vec![(9, "spec.http.rules[0].matches[0].method", "InvalidValue")],
            "methods are upper case",
        ),
        (mk_import(""), vec![(5, "spec", "MissingValue")], "a spec without a value"),
        (
            mk_import("  http: {rules: []}\n").replace("name: payment", "name: Payment"),
            vec![(4, "metadata.name", "InvalidName")],
            "a name that is no DNS label",
        ),
        (mk_import("  http: {rules: []}\nsecp: 1\n"), vec![(7, "secp", "UnknownField")], "an unknown root field"),
        (
            mk_import("  http: {rules: []}\n").replace("metadata:", "metadata:\n  lables: {}"),
            vec![(4, "metadata.lables", "UnknownField")],
            "an unknown field of the metadata",
        ),
        (
            mk_import("  http:\n    rules:\n    - backendRefs:\n       -name: a\n        namespace: b\n"),
            vec![(9, "", "Syntax")],
            "a dash without a space is found a line above the syntax error",
        ),
        (
            mk_import(
                "  http:\n    rules:\n    - backendRefs:\n       -name: a\n    - backendRefs:\n       -name: b\n",
            ),
            vec![(9, "", "Syntax"), (11, "", "Syntax")],
            "dashes without a space that are no syntax error",
        ),
        ("kind: Deployment\n".to_owned(), vec![(1, "", "NotAnObject")], "no apiVersion"),
        (
            "kind: WANPolicy\nspec: {port: 1}\n".to_owned(),
            vec![(1, "", "MissingField"), (1, "", "NotAnObject")],
            "no apiVersion of a kind of ours, which is read on",
        ),
        ("- a\n".to_owned(), vec![(1, "", "NotAnObject")], "no mapping"),
        ("a: 1\na: 2\n".to_owned(), vec![(2, "", "Syntax")], "a key twice"),
        (
            "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: WANPolicy\nspec: {port: 1}\n".to_owned(),
            vec![(1, "", "MissingField")],
            "no name",
        ),
        ("apiVersion: apps/v1\nkind: Deployment\n".to_owned(), vec![(1, "", "NotRead")], "a kind of others"),
        (
            "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ServiceImport\nspec: {http: {}}\n".to_owned(),
            vec![(1, "", "UnknownKind")],
            "our rules in a resource of others",
        ),
        ("# nothing\n---\n".to_owned(), vec![(0, "", "Empty")], "no object"),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n  - prt: 1\n    port: x\n".to_owned(),
            vec![(6, "spec.ports[0].prt", "UnknownField"), (7, "spec.ports[0].port", "InvalidValue")],
            "a Service",
        ),
    ];
    for (document, expected, message) in table {
        let mut found = found(&document);
        found.sort();
        let expected: Vec<_> =
            expected.into_iter().map(|(line, field, reason)| (line, field.to_owned(), reason.to_owned())).collect();
        assert_eq!(found, expected, "{message}:\n{document}");
    }
}

#[test]
fn a_route_is_read_rule_by_rule() {
    let table = [
        (
            mk_route("Gateway", "  rules:\n  - backendRefs: [{name: a}]\n"),
            vec![(6, "spec.parentRefs", "NotRead")],
            "a route that is below nothing of ours",
        ),
        (
            mk_route("Service", "  rules:\n  - backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: a}]\n")
                .replace("multicluster.x-k8s.io", "''"),
            vec![(7, "spec.parentRefs[0]", "UnsupportedValue")],
            "a route that istiod takes for one of its mesh",
        ),
        (
            mk_route("Service", "  rules:\n  - backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: a}]\n")
                .replace("multicluster.x-k8s.io", "''")
                .replace("name: pay\n", "name: pay\n  labels: {istio.io/rev: mcwan}\n"),
            vec![],
            "one that it leaves alone",
        ),
        (
            mk_route("Service", "  rules:\n  - backendRefs: [{name: a, port: 80}]\n")
                .replace("group: multicluster.x-k8s.io, ", ""),
            vec![(7, "spec.parentRefs[0]", "InvalidValue")],
            "a Service that is none of Gateway API's",
        ),
        (
            mk_route("ServiceImport", "  rules:\n  - backendRefs: [{name: a}]\n"),
            vec![(9, "spec.rules[0].backendRefs[0]", "MissingField")],
            "a Service without a port",
        ),
        (
            mk_route("ServiceImport", "  rules:\n    backendRefs: [{name: a}]\n"),
            vec![(8, "spec.rules", "InvalidValue"), (9, "spec.rules[0].backendRefs[0]", "MissingField")],
            "rules that are no list, and what is wrong with the one that is meant",
        ),
        (
            mk_route("ServiceImport", "  rules:\n  - matches: [{path: {type: Prefix}}]\n"),
            vec![(9, "spec.rules[0].matches[0].path.type", "InvalidValue")],
            "a match that cannot be read",
        ),
    ];
    for (document, expected, message) in table {
        let expected: Vec<_> =
            expected.into_iter().map(|(line, field, reason)| (line, field.to_owned(), reason.to_owned())).collect();
        assert_eq!(found(&document), expected, "{message}:\n{document}");
    }
}

#[test]
fn a_document_that_cannot_be_read_does_not_hide_the_next() {
    let policy = |name, port| {
        format!(
            "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: WANPolicy\nmetadata: {{name: {name}}}\nspec: {{port: {port}}}\n"
        )
    };
    let document = [policy("a", "1"), "a: b: c\n".to_owned(), policy("b", "x"), policy("c", "3"), policy("a", "4")];
    let gathered = Gathered::from_text("test.yaml", &document.join("---\n"));
    let found: Vec<_> = gathered.findings.iter().map(|finding| finding.reason).collect();
    assert_eq!(found, [Reason::Syntax, Reason::InvalidValue, Reason::Duplicate]);
    let policies = &gathered.snapshot.wan_policies;
    let names: Vec<_> = policies.iter().filter_map(|policy| policy.metadata.name.as_deref()).collect();
    assert_eq!(names, ["a", "c"], "what is sound is there, of two with one name the first");
    assert!(!gathered.is_complete());
}

#[test]
fn a_list_is_read_item_by_item() {
    let service = |name| format!("- apiVersion: v1\n  kind: Service\n  metadata: {{name: {name}}}\n");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{}{}- kind: x\n", service("a"), service("b"));
    let gathered = Gathered::from_text("test.yaml", &list);
    assert!(gathered.snapshot.services.get("default", "a").is_some(), "without a namespace it is in `default`");
    assert!(gathered.snapshot.services.get("default", "b").is_some());
    let lines: Vec<_> = gathered.findings.iter().map(|finding| finding.place.as_ref()?.line).collect();
    assert_eq!(lines, [Some(10)], "the third is none");
}

#[test]
fn what_was_created_earlier_comes_first() {
    let policy = |name, metadata| {
        format!(
            "{{apiVersion: mc-wan.l7mp.io/v1alpha1, kind: WANPolicy, metadata: {{name: {name}{metadata}}}, spec: {{port: 1}}}}\n"
        )
    };
    let documents = [
        policy("new", ""),
        policy("newer", ""),
        policy("young", ", creationTimestamp: 2026-02-01T00:00:00Z"),
        policy("old", ", creationTimestamp: 2026-01-01T00:00:00Z"),
    ];
    let snapshot = Gathered::from_text("test.yaml", &documents.join("---\n")).snapshot;
    let names: Vec<_> =
        snapshot.wan_policies.by_age().into_iter().filter_map(|policy| policy.metadata.name.as_deref()).collect();
    assert_eq!(names, ["old", "young", "new", "newer"]);
}
