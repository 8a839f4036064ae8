//! From a document to the objects in it.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::de::DeserializeOwned;

use super::change::{Input, InputKind};
use super::documents::Document;
use super::finding::{Finding, Place};
use super::item::{Item, Places};
use super::kind::{Recognized, recognize};
use super::typed;
use super::yaml::{self, Value};
use super::{Objects, Snapshot, Unreadable, slip, submariner};
use crate::api::{ClusterConnectionPolicy, OpenshiftRoute, Route, RouteDocument, RouteKind, RouteSelector, validate};
use crate::kind::{self, KindInfo};
use crate::problem::{ObjectRef, Problem, Reason, Severity};

/// The namespace of an object that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// What documents hold.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) snapshot: Snapshot,
    pub(super) findings: Vec<Finding>,
    pub(super) places: Places,
    /// How many documents were read.
    pub(super) documents: usize,
    /// The namespace of an object that names none; none: `default`.
    pub(super) namespace: Option<String>,
}

impl Collected {
    /// Reads one document; false if it is empty.
    pub(super) fn read(&mut self, file: &Arc<str>, document: Document<'_>) -> bool {
        self.documents += 1;
        let place = |line: usize| Place { file: Arc::clone(file), line: Some(document.line + line - 1) };
        let node = match yaml::parse(document.text) {
            Ok(node) => node,
            Err(error) => {
                self.findings.push(match slip::in_text(document.text, error.line) {
                    Some((line, key)) => dash_without_space(place(line), key),
                    None => Finding::error(place(error.line), Reason::Syntax, error.to_string()),
                });
                return true;
            }
        };
        if node.value == Value::Null {
            return false;
        }
        let slips = slip::in_tree(&node);
        if slips.is_empty() {
            self.item(Item { file: Arc::clone(file), first_line: document.line, node });
        } else {
            self.findings.extend(slips.into_iter().map(|(line, key)| dash_without_space(place(line), key)));
        }
        true
    }

    /// Reads an object, or the items of a list.
    fn item(&mut self, item: Item) {
        let (Some(api_version), Some(kind)) = (item.text(&["apiVersion"]), item.text(&["kind"])) else {
            let message = "this is no Kubernetes object: it needs `apiVersion`, `kind` and `metadata`";
            self.findings.push(Finding::error(item.place(), Reason::NotAnObject, message));
            return;
        };
        match recognize(api_version, kind) {
            Recognized::Read(kind, info) => self.named(kind, info, item),
            Recognized::List => self.list(item),
            // What it should forbid would be open.
            Recognized::Ignored(Some(hint)) if kind == kind::SERVICE_IMPORT.name && item.has(&["spec", "http"]) => {
                let message = format!("rules in a {kind} of {api_version}, which has none");
                self.findings.push(Finding::error(item.place(), Reason::UnknownKind, message).hint(hint));
            }
            Recognized::Ignored(hint) => {
                let message = format!("mcwan does not read {kind} ({api_version})");
                self.findings.push(Finding { hint, ..Finding::warning(item.place(), Reason::NotRead, message) });
            }
            Recognized::Misspelt(hint) => {
                let message = format!("there is no {kind} in {api_version}");
                self.findings.push(Finding::error(item.place(), Reason::UnknownKind, message).hint(hint));
                if item.has(&["metadata", "spec"]) {
                    let message = "`spec` stands below `metadata`";
                    let finding = Finding::error(item.place(), Reason::UnknownField, message);
                    self.findings.push(finding.hint("write it beside `metadata`"));
                }
            }
        }
    }

    fn list(&mut self, list: Item) {
        let place = list.place();
        let Item { file, first_line, node } = list;
        match node.into_entry("items").map(|entry| entry.value.value) {
            Some(Value::List(items)) => {
                for node in items {
                    self.item(Item { file: Arc::clone(&file), first_line, node });
                }
            }
            _ => self.findings.push(Finding::error(place, Reason::MissingField, "List without a list of items")),
        }
    }

    fn named(&mut self, kind: InputKind, info: &KindInfo, item: Item) {
        let Some(name) = item.text(&["metadata", "name"]).map(str::to_owned) else {
            let message = format!("{} without a name", info.name);
            let finding = Finding::error(item.place(), Reason::MissingField, message);
            self.findings.push(finding.hint("write `metadata: {name: …}`"));
            return;
        };
        let default = self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        let namespace = item.text(&["metadata", "namespace"]).unwrap_or(default);
        let namespace = (kind != InputKind::WanPolicy).then(|| namespace.to_owned());
        let object = ObjectRef { kind: info.name.to_owned(), namespace, name };
        if let Some(duplicate) = self.places.insert(object.clone(), item) {
            self.findings.push(duplicate);
            return;
        }
        match kind {
            InputKind::WanPolicy => self.add_ours(&object, validate::wan_policy, |all| &mut all.wan_policies),
            InputKind::ServiceImport => {
                self.add_ours(&object, validate::service_import, |all| &mut all.service_imports);
            }
            InputKind::ExportedService => {
                self.add_ours(&object, validate::exported_service, |all| &mut all.exported_services);
            }
            InputKind::ExportedEndpoints => {
                self.add_ours(&object, validate::exported_endpoints, |all| &mut all.exported_endpoints);
            }
            InputKind::WanCluster => self.add_ours(&object, validate::wan_cluster, |all| &mut all.wan_clusters),
            InputKind::ConnectionPolicy => self.add_connection_policy(&object),
            InputKind::Service => self.add(&object, |all| &mut all.services),
            InputKind::EndpointSlice => self.add(&object, |all| &mut all.endpoint_slices),
            InputKind::ReferenceGrant => self.add(&object, |all| &mut all.reference_grants),
            InputKind::ServiceExport => self.add(&object, |all| &mut all.service_exports),
            InputKind::Route(kind) => self.add_route(kind, &object),
            InputKind::OpenshiftRoute => self.add_openshift_route(&object),
            InputKind::GatewayPod => {
                if let Some(pod) = self.typed(&object, typed::read_in_part) {
                    self.snapshot.gateway_pods.insert(pod);
                }
            }
            InputKind::Namespace
            | InputKind::ClientService
            | InputKind::ClusterConnection
            | InputKind::McsServiceImport => {}
        }
    }

    /// Adds an object of ours to its list, if nothing is wrong with it.
    fn add_ours<T: DeserializeOwned + Resource>(
        &mut self,
        object: &ObjectRef,
        validate: fn(&T) -> Vec<Problem>,
        list: fn(&mut Snapshot) -> &mut Objects<T>,
    ) {
        if let Some(typed) = self.typed(object, typed::read_ours) {
            let problems = validate(&typed);
            if problems.is_empty() {
                list(&mut self.snapshot).insert(typed);
            }
            self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
        }
    }

    /// Adds a policy, whatever is wrong with it: it may take away more than others give.
    fn add_connection_policy(&mut self, object: &ObjectRef) {
        let Some(item) = self.places.get(object) else { return };
        let json = item.node.to_json();
        let problems = match typed::read_ours::<ClusterConnectionPolicy>(object, json.clone()) {
            Ok(mut policy) => {
                policy.metadata.namespace.clone_from(&object.namespace);
                let problems = validate::connection_policy(&policy);
                self.snapshot.put(Input::ConnectionPolicy(policy));
                problems
            }
            Err(faults) => {
                let ObjectRef { kind: _, namespace, name } = object.clone();
                let metadata = ObjectMeta { namespace, name: Some(name), ..ObjectMeta::default() };
                let error = faults.iter().map(|fault| fault.message.clone()).next().unwrap_or_default();
                let unreadable = Unreadable { metadata, conditions: Vec::new(), error };
                self.snapshot.put(Input::UnreadablePolicy(unreadable));
                faults.into_iter().map(|fault| submariner::hinted(fault, &json)).collect()
            }
        };
        self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
    }

    /// Adds a route, if all of its rules can be read.
    fn add_route(&mut self, kind: RouteKind, object: &ObjectRef) {
        let mut problems = Vec::new();
        let document = self.parsed::<RouteDocument>(object, |object, mut json| {
            problems.extend(slip::without_dash(object, "spec.rules", json.pointer_mut("/spec/rules")));
            typed::read(object, json)
        });
        if let Some(document) = document {
            let mut route = Route::new(kind, document);
            route.metadata.namespace.clone_from(&object.namespace);
            problems.extend(validate::route(&route));
            if problems.iter().all(|problem| problem.severity < Severity::Error) {
                self.snapshot.put(Input::Route(route));
            }
        }
        self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
    }

    /// Adds a route of hosts, and says if it is another router's.
    fn add_openshift_route(&mut self, object: &ObjectRef) {
        let Some(route) = self.typed::<OpenshiftRoute>(object, typed::read) else { return };
        if !RouteSelector::default().takes(&route) {
            let message = "it has not the labels of the routes that are mcwan's, unless the controller selects others";
            let warning = Problem::warning(object.clone(), Reason::NotRead, message).at("metadata.labels");
            let hint = format!("write `labels: {{{}}}`", RouteSelector::default().to_string().replace('=', ": "));
            self.findings.push(self.places.locate(warning.hint(hint)));
        }
        self.snapshot.openshift_routes.insert(route);
    }

    /// Adds an object of Kubernetes' to its list, if it can be read.
    fn add<T: DeserializeOwned + Resource>(&mut self, object: &ObjectRef, list: fn(&mut Snapshot) -> &mut Objects<T>) {
        if let Some(typed) = self.typed(object, typed::read) {
            list(&mut self.snapshot).insert(typed);
        }
    }

    fn typed<T: Resource>(
        &mut self,
        object: &ObjectRef,
        read: fn(&ObjectRef, serde_json::Value) -> Result<T, Vec<Problem>>,
    ) -> Option<T> {
        let mut typed = self.parsed(object, read)?;
        typed.meta_mut().namespace.clone_from(&object.namespace);
        Some(typed)
    }

    fn parsed<T>(
        &mut self,
        object: &ObjectRef,
        read: impl FnOnce(&ObjectRef, serde_json::Value) -> Result<T, Vec<Problem>>,
    ) -> Option<T> {
        let item = self.places.get(object)?;
        match read(object, item.node.to_json()) {
            Ok(read) => Some(read),
            Err(faults) => {
                self.findings.extend(faults.into_iter().map(|fault| self.places.locate(fault)));
                None
            }
        }
    }
}

fn dash_without_space(place: Place, key: &str) -> Finding {
    let message = format!("`-{key}:` has no space after the dash, so that it is no item of a list");
    Finding::error(place, Reason::Syntax, message).hint(format!("write `- {key}:`"))
}

#[cfg(test)]
mod tests {
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
            (
                mk_import("  http: {}\n"),
                vec![(6, "spec.http.rules", "MissingField")],
                "rules are not left out by accident",
            ),
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
            ("kind: ServiceImport\n".to_owned(), vec![(1, "", "NotAnObject")], "no apiVersion"),
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
                "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n  - prt: 1\n    port: x\n"
                    .to_owned(),
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
}
